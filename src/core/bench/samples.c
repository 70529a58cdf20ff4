/* SPDX-License-Identifier: MIT */
#include "core/bench/samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void thin_out(struct samples *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i += 2)
        s->values[kept++] = s->values[i];
    s->n = kept;
    s->stride = (s->stride ? s->stride : 1) * 2;
}

static int make_room(struct samples *s)
{
    size_t more = s->allocated ? s->allocated * 2 : 64;
    uint64_t *values;

    if (s->n < s->allocated)
        return 0;
    values = reallocarray(s->values, more, sizeof *values);
    if (!values)
        return -ENOMEM;
    s->values = values;
    s->allocated = more;
    return 0;
}

int samples_add(struct samples *s, uint64_t value)
{
    int r;

    if (s->stride > 1 && s->seen % s->stride != 0) {
        s->seen++;
        return 0;
    }
    if (s->n == SAMPLES_MAX)
        thin_out(s);
    r = make_room(s);
    if (r < 0)
        return r;
    s->values[s->n++] = value;
    s->seen++;
    s->sorted = false;
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return (x > y) - (x < y);
}

uint64_t samples_percentile(struct samples *s, double percent)
{
    double rank = ceil(percent / 100 * (double) s->n);
    size_t index = rank < 1 ? 0 : (size_t) rank - 1;

    if (s->n == 0)
        return 0;
    if (!s->sorted)
        qsort(s->values, s->n, sizeof *s->values, compare);
    s->sorted = true;
    return s->values[index < s->n ? index : s->n - 1];
}

void samples_release(struct samples *s)
{
    free(s->values);
    *s = (struct samples){};
}
