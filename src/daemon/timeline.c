/* SPDX-License-Identifier: MIT */
#include "daemon/timeline.h"

#include "base/str.h"

void timeline_reset(struct timeline *t)
{
    t->n = 0;
}

void timeline_close(struct timeline *t, usec_t now)
{
    if (t->n > 0)
        t->rows[t->n - 1].duration_usec = usec_sub(now, t->since);
}

void timeline_enter(struct timeline *t, enum phase phase, const char *step, usec_t now)
{
    const struct report_phase *last = t->n > 0 ? &t->rows[t->n - 1] : NULL;

    if (t->n == TIMELINE_MAX || (last && last->phase == phase && str_equal(last->name, step)))
        return;
    timeline_close(t, now);
    t->rows[t->n++] = (struct report_phase){ .phase = phase, .name = step };
    t->since = now;
}
