/* SPDX-License-Identifier: MIT */
#include "port/random.h"

#include <sys/random.h>

uint64_t random_u64(void)
{
    uint64_t n = 0;

    /* Before the pool is initialised nothing comes, and no jitter is the worst that follows. */
    (void) !getrandom(&n, sizeof n, GRND_NONBLOCK);
    return n;
}
