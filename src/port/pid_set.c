/* SPDX-License-Identifier: MIT */
#include "port/pid_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ALLOCATED ((size_t) 64)

/* Where it is, or where it would have to go. They mostly come in ascending order. */
static size_t position(const struct pid_set *s, pid_t pid)
{
    size_t low = 0, high = s->n;

    if (high > 0 && s->pids[high - 1] < pid)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->pids[middle] < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int pid_set_add(struct pid_set *s, pid_t pid)
{
    size_t at = position(s, pid);

    if (at < s->n && s->pids[at] == pid)
        return 0;
    if (s->n == s->allocated) {
        size_t allocated = MAX(2 * s->allocated, FIRST_ALLOCATED);
        pid_t *grown = reallocarray(s->pids, allocated, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->pids = grown;
        s->allocated = allocated;
    }
    memmove(s->pids + at + 1, s->pids + at, (s->n - at) * sizeof(*s->pids));
    s->pids[at] = pid;
    s->n++;
    return 1;
}

void pid_set_release(struct pid_set *s)
{
    free(s->pids);
    *s = (struct pid_set){};
}
