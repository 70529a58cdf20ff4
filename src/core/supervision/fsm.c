/* SPDX-License-Identifier: MIT */
#include "core/supervision/fsm.h"

#include "core/supervision/fsm_run.h"

/* What each event of an epoch means. */

static void on_start(struct fsm_run *r)
{
    if (r->fsm->phase == PHASE_IDLE)
        run_begin_epoch(r, "first start");
}

static void on_preflight_passed(struct fsm_run *r)
{
    if (r->fsm->phase == PHASE_PREFLIGHT)
        run_spawn(r, "the ground was found good");
}

static void on_preflight_failed(struct fsm_run *r)
{
    if (r->fsm->phase == PHASE_PREFLIGHT)
        run_fail_preflight(r, "a preflight probe failed");
}

static void on_spawned(struct fsm_run *r)
{
    if (!r->fsm->spawning)
        return;
    r->fsm->spawning = false;
    r->fsm->alive = r->fsm->populated = true;
    if (r->fsm->phase == PHASE_LOADING)
        run_ask(r, FSM_ACTION_PROVE);
    else if (r->fsm->deadline.kill != USEC_INFINITY)
        run_ask(r, FSM_ACTION_SIGNAL);
    else
        run_ask(r, FSM_ACTION_KILL);
}

/* No request excuses it: a stop signal cannot make a spawn fail. */
static void on_spawn_failed(struct fsm_run *r)
{
    if (!r->fsm->spawning)
        return;
    r->fsm->spawning = false;
    r->fsm->failed = true;
    if (r->fsm->phase == PHASE_LOADING)
        run_end_server(r, "the server could not be started");
    else
        run_go_on_if_empty(r);
}

static void on_progress(struct fsm_run *r)
{
    if (run_starting(r) || r->fsm->phase == PHASE_PREFLIGHT)
        run_await_progress(r);
}

static void on_decisive_line(struct fsm_run *r)
{
    if (run_serving(r))
        run_ask(r, FSM_ACTION_CANARY_NOW);
    if (!run_starting(r))
        return;
    r->fsm->suspected = true;
    r->fsm->deadline.stall = MIN(r->fsm->deadline.stall, usec_add(r->now, FSM_SUSPICION_USEC));
}

static void on_port_open(struct fsm_run *r)
{
    if (r->fsm->phase != PHASE_LOADING || !r->fsm->alive)
        return;
    run_enter(r, PHASE_LISTENING, "the port is open");
    run_await_progress(r);
}

static void on_canary_sent(struct fsm_run *r)
{
    if ((r->fsm->phase != PHASE_LOADING && r->fsm->phase != PHASE_LISTENING) || !r->fsm->alive)
        return;
    run_enter(r, PHASE_PROVING, "the first canary is out");
    run_await_progress(r);
}

static void enter_ready(struct fsm_run *r, const char *reason)
{
    run_enter(r, PHASE_READY, reason);
    r->fsm->live_passes = 0;
    r->fsm->deadline.stable = usec_add(r->now, r->limits->stable_usec);
}

static void on_suite_passed(struct fsm_run *r)
{
    if (!run_starting(r) || !r->fsm->alive)
        return;
    r->fsm->proved = r->fsm->ever_ready = true;
    r->fsm->suspected = false;
    r->fsm->deadline = fsm_disarmed;
    enter_ready(r, "every canary of the suite has passed");
    run_ask(r, FSM_ACTION_LIVE);
}

static void on_suite_failed(struct fsm_run *r)
{
    if (run_starting(r) && r->fsm->alive)
        run_fail(r, "a canary of the suite failed for good");
}

static void on_live_passed(struct fsm_run *r)
{
    if (r->fsm->phase != PHASE_DEGRADED)
        return;
    r->fsm->live_failures = 0;
    if (++r->fsm->live_passes >= r->limits->rise)
        enter_ready(r, "the live canary passes again");
}

static void on_live_failed(struct fsm_run *r)
{
    if (!run_serving(r))
        return;
    r->fsm->live_passes = 0;
    if (++r->fsm->live_failures >= r->limits->fall) {
        run_fail(r, "the live canary failed too often in a row");
    } else if (r->fsm->phase == PHASE_READY) {
        run_enter(r, PHASE_DEGRADED, "the live canary failed");
        r->fsm->deadline.stable = USEC_INFINITY;
    }
}

/* A failure unless the server was being ended already. */
static void lose_processes(struct fsm_run *r, const char *reason)
{
    if (r->fsm->phase == PHASE_STOPPING)
        run_go_on_if_empty(r);
    else
        run_fail(r, reason);
}

/* EXITED and EMPTY come in either order. */
static void on_exited(struct fsm_run *r)
{
    if (!r->fsm->alive)
        return;
    r->fsm->alive = false;
    lose_processes(r, "the server exited unasked");
}

static void on_empty(struct fsm_run *r)
{
    if (!r->fsm->populated)
        return;
    r->fsm->populated = false;
    lose_processes(r, "every process of the server is gone");
}

static void on_diagnosed(struct fsm_run *r)
{
    if (!r->fsm->collecting)
        return;
    r->fsm->collecting = false;
    run_conclude(r, &r->event->decision);
}

/* One `of_epoch` tells of an epoch and is void in any other. */
static const struct {
    void (*handle)(struct fsm_run *r);
    bool of_epoch;
} handlers[N_FSM_EVENTS] = {
    [FSM_START] = {on_start, false},
    [FSM_PREFLIGHT_PASSED] = {on_preflight_passed, true},
    [FSM_PREFLIGHT_FAILED] = {on_preflight_failed, true},
    [FSM_SPAWNED] = {on_spawned, true},
    [FSM_SPAWN_FAILED] = {on_spawn_failed, true},
    [FSM_PROGRESS] = {on_progress, true},
    [FSM_DECISIVE_LINE] = {on_decisive_line, true},
    [FSM_PORT_OPEN] = {on_port_open, true},
    [FSM_CANARY_SENT] = {on_canary_sent, true},
    [FSM_SUITE_PASSED] = {on_suite_passed, true},
    [FSM_SUITE_FAILED] = {on_suite_failed, true},
    [FSM_LIVE_PASSED] = {on_live_passed, true},
    [FSM_LIVE_FAILED] = {on_live_failed, true},
    [FSM_EXITED] = {on_exited, true},
    [FSM_EMPTY] = {on_empty, true},
    [FSM_DIAGNOSED] = {on_diagnosed, true},
    [FSM_STOP] = {fsm_on_stop, false},
    [FSM_RESTART] = {fsm_on_restart, false},
    [FSM_TIMER] = {fsm_on_timer, false},
};

struct fsm_step fsm_step(const struct fsm *state, const struct fsm_limits *limits,
                         const struct fsm_event *event, usec_t now)
{
    struct fsm_step step = {.next = *state};
    struct fsm_run run = {
        .step = &step,
        .fsm = &step.next,
        .limits = limits,
        .event = event,
        .now = now,
    };
    bool stale = handlers[event->kind].of_epoch && event->epoch != state->epoch;

    if (!stale && !fsm_final(state))
        handlers[event->kind].handle(&run);
    return step;
}
