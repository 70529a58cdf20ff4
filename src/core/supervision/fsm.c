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

/* During a pause nobody looks. */
static void look(struct fsm_run *r, enum fsm_action_kind action)
{
    if (!r->fsm->paused)
        run_ask(r, action);
}

static void on_spawned(struct fsm_run *r)
{
    if (!r->fsm->spawning)
        return;
    r->fsm->spawning = false;
    r->fsm->alive = r->fsm->populated = true;
    if (r->fsm->phase == PHASE_LOADING)
        look(r, FSM_ACTION_PROVE);
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
        look(r, FSM_ACTION_CANARY_NOW);
    if (!run_starting(r))
        return;
    r->fsm->suspected = true;
    if (!r->fsm->paused)
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
    run_arm(r);
}

static void on_suite_passed(struct fsm_run *r)
{
    if (!run_starting(r) || !r->fsm->alive)
        return;
    r->fsm->proved = r->fsm->ever_ready = true;
    r->fsm->suspected = false;
    run_disarm(r);
    enter_ready(r, "every canary of the suite has passed");
    run_ask(r, FSM_ACTION_LIVE);
}

static void on_suite_failed(struct fsm_run *r)
{
    if (run_starting(r) && r->fsm->alive)
        run_fail_hanging(r, "a canary of the suite failed for good");
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
        run_fail_hanging(r, "the live canary failed too often in a row");
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
    if (r->fsm->dumping)
        run_signal(r); /* there is nobody to look at any more */
    else
        lose_processes(r, "every process of the server is gone");
}

static void on_dumped(struct fsm_run *r)
{
    if (r->fsm->dumping)
        run_signal(r);
}

static void on_diagnosed(struct fsm_run *r)
{
    if (!r->fsm->collecting)
        return;
    r->fsm->collecting = false;
    run_conclude(r, &r->event->decision);
}

/* When an event is void: one of an epoch in any other, a canary's verdict also during a pause, where it is
 * the echo of a canary from before. */
enum scope { ALWAYS, OF_EPOCH, OF_CANARY };

static const struct {
    void (*handle)(struct fsm_run *r);
    enum scope scope;
} handlers[N_FSM_EVENTS] = {
    [FSM_START] = {on_start, ALWAYS},
    [FSM_PREFLIGHT_PASSED] = {on_preflight_passed, OF_EPOCH},
    [FSM_PREFLIGHT_FAILED] = {on_preflight_failed, OF_EPOCH},
    [FSM_SPAWNED] = {on_spawned, OF_EPOCH},
    [FSM_SPAWN_FAILED] = {on_spawn_failed, OF_EPOCH},
    [FSM_PROGRESS] = {on_progress, OF_EPOCH},
    [FSM_DECISIVE_LINE] = {on_decisive_line, OF_EPOCH},
    [FSM_PORT_OPEN] = {on_port_open, OF_EPOCH},
    [FSM_CANARY_SENT] = {on_canary_sent, OF_EPOCH},
    [FSM_SUITE_PASSED] = {on_suite_passed, OF_CANARY},
    [FSM_SUITE_FAILED] = {on_suite_failed, OF_CANARY},
    [FSM_LIVE_PASSED] = {on_live_passed, OF_CANARY},
    [FSM_LIVE_FAILED] = {on_live_failed, OF_CANARY},
    [FSM_EXITED] = {on_exited, OF_EPOCH},
    [FSM_EMPTY] = {on_empty, OF_EPOCH},
    [FSM_DUMPED] = {on_dumped, OF_EPOCH},
    [FSM_DIAGNOSED] = {on_diagnosed, OF_EPOCH},
    [FSM_STOP] = {fsm_on_stop, ALWAYS},
    [FSM_RESTART] = {fsm_on_restart, ALWAYS},
    [FSM_PAUSE] = {fsm_on_pause, ALWAYS},
    [FSM_RESUME] = {fsm_on_resume, ALWAYS},
    [FSM_LIMITS] = {run_arm, ALWAYS},
    [FSM_TIMER] = {fsm_on_timer, ALWAYS},
};

static bool is_void(const struct fsm *state, const struct fsm_event *event)
{
    enum scope scope = handlers[event->kind].scope;

    if (fsm_final(state) || (scope != ALWAYS && event->epoch != state->epoch))
        return true;
    return scope == OF_CANARY && state->paused;
}

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

    if (!is_void(state, event))
        handlers[event->kind].handle(&run);
    return step;
}
