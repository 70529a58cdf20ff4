/* SPDX-License-Identifier: MIT */
#include "core/supervision/backoff.h"

/* min(first * 2^(n-1), max), stopping at the first doubling that no longer fits. */
static usec_t ceiling(usec_t first_usec, usec_t max_usec, uint64_t n)
{
    usec_t pause = first_usec;

    for (uint64_t i = 1; i < n && pause > 0 && pause < max_usec; i++)
        pause = usec_mul(pause, 2);
    return MIN(pause, max_usec);
}

usec_t backoff_next(usec_t first_usec, usec_t max_usec, uint64_t n, uint64_t random)
{
    usec_t whole = ceiling(first_usec, max_usec, n);
    usec_t half = whole / 2;
    /* half + (whole - half + 1) * random / 2^64: all values from half to whole are equally likely. */
    unsigned __int128 scaled =
        (unsigned __int128) random * ((unsigned __int128) (whole - half) + 1);

    return half + (usec_t) (scaled >> 64);
}
