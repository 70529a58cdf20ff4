/* SPDX-License-Identifier: MIT */
#include "spin.h"

#include "unit.h"

struct spin {
    struct loop *loop;
    bool (*done)(const void *data);
    const void *data;
    bool reached;
};

static void on_turn(void *userdata)
{
    struct spin *s = userdata;

    s->reached = s->done && s->done(s->data);
    if (s->reached)
        loop_stop(s->loop);
}

static void on_deadline(void *userdata)
{
    struct spin *s = userdata;

    loop_stop(s->loop);
}

bool spin_until(struct loop *l, bool (*done)(const void *data), const void *data, unsigned timeout_ms)
{
    struct spin s = {.loop = l, .done = done, .data = data};
    struct loop_timer *deadline;

    assert_int_equal(loop_timer_new(l, on_deadline, &s, &deadline), 0);
    loop_timer_set(deadline, usec_add(loop_now().monotonic, timeout_ms * USEC_PER_MSEC));
    loop_set_turn(l, on_turn, &s);
    loop_run(l);
    loop_set_turn(l, NULL, NULL);
    loop_timer_free(deadline);
    return s.reached || (done && done(data));
}

void spin_for(struct loop *l, unsigned ms)
{
    (void) spin_until(l, NULL, NULL, ms);
}
