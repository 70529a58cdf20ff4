/* SPDX-License-Identifier: MIT */
#include "core/supervision/eta.h"

#include <stdlib.h>

#include "base/str.h"

struct samples {
    usec_t values[HISTORY_STARTS];
    size_t n;
};

static int ascending(const void *a, const void *b)
{
    usec_t x = *(const usec_t *) a, y = *(const usec_t *) b;

    return x < y ? -1 : x > y;
}

/* One start that was held up, or one that found everything cached, moves it little. 0 for none. */
static usec_t median(struct samples *s)
{
    usec_t low, high;

    if (s->n == 0)
        return 0;
    qsort(s->values, s->n, sizeof(*s->values), ascending);
    low = s->values[(s->n - 1) / 2];
    high = s->values[s->n / 2];
    return low + (high - low) / 2;
}

/* From the i-th step to READY. */
static usec_t rest(const struct history_start *s, size_t i)
{
    usec_t sum = 0;

    for (; i < s->n; i++)
        sum = usec_add(sum, s->steps[i].duration_usec);
    return sum;
}

/* s->n where it has no such step. */
static size_t find(const struct history_start *s, enum phase phase, const char *name)
{
    size_t i = 0;

    while (i < s->n && (s->steps[i].phase != phase || !str_equal(s->steps[i].name, name)))
        i++;
    return i;
}

struct eta eta_estimate(const struct history *h, enum phase phase, const char *name, usec_t began_usec)
{
    struct samples wholes = {}, rests = {}, steps = {};

    for (size_t i = 0; i < h->n; i++) {
        const struct history_start *s = &h->starts[i];
        size_t at = find(s, phase, name);

        wholes.values[wholes.n++] = rest(s, 0);
        if (at == s->n)
            continue;
        rests.values[rests.n++] = rest(s, at);
        steps.values[steps.n++] = s->steps[at].duration_usec;
    }
    return (struct eta){
        .start_usec = rests.n > 0 ? usec_add(began_usec, median(&rests)) : median(&wholes),
        .step_usec = median(&steps),
    };
}
