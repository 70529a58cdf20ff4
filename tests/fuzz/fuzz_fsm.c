/* SPDX-License-Identifier: MIT */
/* Bytes as a story: the first ones choose the limits, then two at a time are an event. */

#include "../unit/fsm_rules.h"

/* Later than any sane clock, and still far enough from the end of time that deadlines fit. */
#define LATEST ((usec_t) 1 << 62)

struct reader {
    const uint8_t *bytes;
    size_t left;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static uint8_t take(struct reader *r)
{
    if (r->left == 0)
        return 0;
    r->left--;
    return *r->bytes++;
}

static usec_t take_span(struct reader *r)
{
    static const usec_t spans[] = {
        0, 1, USEC_PER_SEC, 30 * USEC_PER_SEC, USEC_PER_HOUR, USEC_PER_DAY, LATEST / 4,
        USEC_INFINITY,
    };

    return spans[take(r) % ARRAY_SIZE(spans)];
}

static struct fsm_limits take_limits(struct reader *r)
{
    uint8_t flags = take(r);

    return (struct fsm_limits){
        .preflight = flags & 1,
        .mode = flags & 2 ? RESTART_EXIT : RESTART_IN_PLACE,
        .stall_usec = take_span(r),
        .load_timeout_usec = take_span(r),
        .stop_usec = take_span(r),
        .stable_usec = take_span(r),
        .fall = take(r) % 4,
        .rise = take(r) % 4,
        .dump_usec = take_span(r),
    };
}

static struct fsm_event take_event(struct reader *r, const struct fsm *f, uint8_t how)
{
    static const enum exit_code codes[] = {EXIT_UNMENDABLE, EXIT_BUDGET, EXIT_STOPPED,
                                           EXIT_INTERNAL};
    struct fsm_event e = {.kind = take(r) % N_FSM_EVENTS, .epoch = f->epoch};

    /* One in eight is of another epoch. */
    if ((how & 7) == 7)
        e.epoch += how & 8 ? 1 : UINT64_MAX;
    if (e.kind == FSM_PAUSE)
        e.pause_usec = take_span(r);
    if (e.kind == FSM_DIAGNOSED)
        e.decision = (struct fsm_decision){
            .restart = how & 16, .delay_usec = take_span(r), .exit_code = codes[how >> 6]};
    return e;
}

/* Some events come at once, some a little later, some just when a deadline is due. */
static usec_t advance(usec_t now, const struct fsm *f, uint8_t how)
{
    usec_t due = fsm_deadline(f);

    if (how & 32)
        return due < LATEST ? MAX(now, due) : now;
    return how & 16 && now < LATEST ? now + USEC_PER_SEC : now;
}

static void must_hold(const char *broken, const struct fsm *f, const struct fsm_event *e)
{
    if (!broken)
        return;
    fprintf(stderr, "%s, then %s: %s\n", phase_name(f->phase), fsm_event_name(e->kind), broken);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct reader r = {bytes, n};
    struct fsm_limits limits = take_limits(&r);
    struct fsm f = fsm_initial();
    usec_t now = USEC_PER_HOUR;

    while (r.left > 0) {
        uint8_t how = take(&r);
        struct fsm_event e = take_event(&r, &f, how);
        struct fsm_step step;

        now = advance(now, &f, how);
        step = fsm_step(&f, &limits, &e, now);
        must_hold(rules_broken(&f, &limits, &e, &step), &f, &e);
        if (limits.stop_usec != USEC_INFINITY)
            must_hold(rules_of_stopping(&step.next, &limits, now), &f, &e);
        f = step.next;
    }
    return 0;
}
