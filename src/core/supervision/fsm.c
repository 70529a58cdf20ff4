/* SPDX-License-Identifier: MIT */
#include "core/supervision/fsm.h"

#include <assert.h>

/* One step under way. */
struct run {
    struct fsm_step *step;
    struct fsm *fsm; /* the next state, being made */
    const struct fsm_limits *limits;
    const struct fsm_event *event;
    usec_t now;
};

static const struct fsm_deadlines disarmed = {
    .stall = USEC_INFINITY,
    .load = USEC_INFINITY,
    .kill = USEC_INFINITY,
    .give_up = USEC_INFINITY,
    .collect = USEC_INFINITY,
    .cool = USEC_INFINITY,
    .stable = USEC_INFINITY,
};

/* Where nobody diagnosed: what remains when no request says how to go on. */
static const struct fsm_decision undiagnosed = {.exit_code = EXIT_INTERNAL};

/* Questions about a state */

static bool starting(const struct fsm *f)
{
    return f->phase == PHASE_LOADING || f->phase == PHASE_LISTENING || f->phase == PHASE_PROVING;
}

static bool serving(const struct fsm *f)
{
    return f->phase == PHASE_READY || f->phase == PHASE_DEGRADED;
}

/* A spawn without its answer counts: a process may be there at any moment. */
static bool processes_left(const struct fsm *f)
{
    return f->spawning || f->alive || f->populated;
}

static bool passed(usec_t deadline, usec_t now)
{
    return deadline != USEC_INFINITY && now >= deadline;
}

/* The pieces that transitions are made of */

static void ask(struct run *r, enum fsm_action_kind action)
{
    assert(r->step->n_actions < FSM_MAX_ACTIONS);
    r->step->actions[r->step->n_actions++] = action;
}

static void enter(struct run *r, enum phase phase, const char *reason)
{
    r->fsm->phase = phase;
    r->step->reason = reason;
}

static void finish(struct run *r, enum phase phase, enum exit_code code, const char *reason)
{
    r->fsm->deadline = disarmed;
    r->fsm->exit_code = code;
    enter(r, phase, reason);
    ask(r, FSM_ACTION_EXIT);
}

/* A suspect gets as much patience as any other as long as it works, but less while it is silent. */
static void await_progress(struct run *r)
{
    usec_t patience = r->limits->stall_usec;

    if (r->fsm->suspected)
        patience = MIN(patience, FSM_SUSPICION_USEC);
    r->fsm->deadline.stall = usec_add(r->now, patience);
}

static void spawn(struct run *r, const char *reason)
{
    enter(r, PHASE_LOADING, reason);
    r->fsm->spawning = true;
    r->fsm->deadline.load = usec_add(r->now, r->limits->load_timeout_usec);
    await_progress(r);
    ask(r, FSM_ACTION_SPAWN);
}

/* A fresh epoch; of the last one only the numbers and what systemd was told remain. */
static void begin_epoch(struct run *r, const char *reason)
{
    const struct fsm last = *r->fsm;

    *r->fsm = fsm_initial();
    r->fsm->epoch = last.epoch + 1;
    r->fsm->attempt = last.request == FSM_REQUEST_RESTART ? 1 : last.attempt + 1;
    r->fsm->ever_ready = last.ever_ready;
    if (!r->limits->preflight) {
        spawn(r, reason);
        return;
    }
    enter(r, PHASE_PREFLIGHT, reason);
    await_progress(r);
    ask(r, FSM_ACTION_PREFLIGHT);
}

static void collect(struct run *r)
{
    r->fsm->collecting = true;
    r->fsm->deadline.collect = usec_add(r->now, FSM_COLLECT_USEC);
    ask(r, FSM_ACTION_COLLECT);
}

static void cool(struct run *r, usec_t delay_usec)
{
    enter(r, PHASE_COOLING, "the failure may pass: next start after the backoff");
    /* Cooling waits for nothing but its deadline, so there must be one. */
    r->fsm->deadline.cool = MIN(usec_add(r->now, delay_usec), USEC_INFINITY - 1);
}

static void obey(struct run *r, const struct fsm_decision *decision)
{
    if (decision->restart && r->limits->mode == RESTART_IN_PLACE)
        cool(r, decision->delay_usec);
    else if (decision->restart)
        finish(r, PHASE_FAILED, EXIT_RESTART, "the failure may pass: the restart is systemd's");
    else if (decision->exit_code == EXIT_STOPPED || decision->exit_code == EXIT_INTERNAL)
        finish(r, PHASE_FAILED, EXIT_INTERNAL, "the failure could not be diagnosed");
    else
        finish(r, PHASE_FAILED, decision->exit_code, "failed for good, no restart is granted");
}

/* The epoch is over and, where it failed, diagnosed. A request goes before a decision. */
static void conclude(struct run *r, const struct fsm_decision *decision)
{
    r->fsm->deadline = disarmed;
    if (processes_left(r->fsm)) {
        finish(r, PHASE_FAILED, EXIT_UNKILLABLE, "the server's processes could not be removed");
        return;
    }
    switch (r->fsm->request) {
    case FSM_REQUEST_STOP:
        finish(r, PHASE_STOPPED, EXIT_STOPPED, "stopped as asked");
        break;
    case FSM_REQUEST_RESTART:
        begin_epoch(r, "restarted as asked");
        break;
    case FSM_REQUEST_NONE:
        obey(r, decision);
        break;
    }
}

/* While stopping: goes on as soon as no process is left. */
static void go_on_if_empty(struct run *r)
{
    if (processes_left(r->fsm))
        return;
    r->fsm->deadline.kill = r->fsm->deadline.give_up = USEC_INFINITY;
    if (r->fsm->collecting)
        return;
    if (r->fsm->failed)
        collect(r);
    else
        conclude(r, &undiagnosed);
}

static void end_server(struct run *r, const char *reason)
{
    enter(r, PHASE_STOPPING, reason);
    r->fsm->deadline = disarmed;
    ask(r, FSM_ACTION_QUIET);
    if (r->fsm->populated)
        ask(r, FSM_ACTION_SIGNAL);
    if (processes_left(r->fsm))
        r->fsm->deadline.kill = usec_add(r->now, r->limits->stop_usec);
    go_on_if_empty(r);
}

static void fail(struct run *r, const char *reason)
{
    r->fsm->failed = true;
    end_server(r, reason);
}

/* One handler per event */

static void on_start(struct run *r)
{
    if (r->fsm->phase == PHASE_IDLE)
        begin_epoch(r, "first start");
}

static void on_preflight_passed(struct run *r)
{
    if (r->fsm->phase == PHASE_PREFLIGHT)
        spawn(r, "the ground was found good");
}

static void fail_preflight(struct run *r, const char *reason)
{
    enter(r, PHASE_STOPPING, reason);
    r->fsm->failed = true;
    r->fsm->deadline = disarmed;
    collect(r);
}

static void on_preflight_failed(struct run *r)
{
    if (r->fsm->phase == PHASE_PREFLIGHT)
        fail_preflight(r, "a preflight probe failed");
}

static void on_spawned(struct run *r)
{
    if (!r->fsm->spawning)
        return;
    r->fsm->spawning = false;
    r->fsm->alive = r->fsm->populated = true;
    if (r->fsm->phase == PHASE_LOADING)
        ask(r, FSM_ACTION_PROVE);
    else if (r->fsm->deadline.kill != USEC_INFINITY)
        ask(r, FSM_ACTION_SIGNAL);
    else
        ask(r, FSM_ACTION_KILL);
}

/* No request excuses it: a stop signal cannot make a spawn fail. */
static void on_spawn_failed(struct run *r)
{
    if (!r->fsm->spawning)
        return;
    r->fsm->spawning = false;
    r->fsm->failed = true;
    if (r->fsm->phase == PHASE_LOADING)
        end_server(r, "the server could not be started");
    else
        go_on_if_empty(r);
}

static void on_progress(struct run *r)
{
    if (starting(r->fsm) || r->fsm->phase == PHASE_PREFLIGHT)
        await_progress(r);
}

static void on_decisive_line(struct run *r)
{
    if (serving(r->fsm))
        ask(r, FSM_ACTION_CANARY_NOW);
    if (!starting(r->fsm))
        return;
    r->fsm->suspected = true;
    r->fsm->deadline.stall = MIN(r->fsm->deadline.stall, usec_add(r->now, FSM_SUSPICION_USEC));
}

static void on_port_open(struct run *r)
{
    if (r->fsm->phase != PHASE_LOADING || !r->fsm->alive)
        return;
    enter(r, PHASE_LISTENING, "the port is open");
    await_progress(r);
}

static void on_canary_sent(struct run *r)
{
    if ((r->fsm->phase != PHASE_LOADING && r->fsm->phase != PHASE_LISTENING) || !r->fsm->alive)
        return;
    enter(r, PHASE_PROVING, "the first canary is out");
    await_progress(r);
}

static void enter_ready(struct run *r, const char *reason)
{
    enter(r, PHASE_READY, reason);
    r->fsm->live_passes = 0;
    r->fsm->deadline.stable = usec_add(r->now, r->limits->stable_usec);
}

static void on_suite_passed(struct run *r)
{
    if (!starting(r->fsm) || !r->fsm->alive)
        return;
    r->fsm->proved = r->fsm->ever_ready = true;
    r->fsm->suspected = false;
    r->fsm->deadline = disarmed;
    enter_ready(r, "every canary of the suite has passed");
    ask(r, FSM_ACTION_LIVE);
}

static void on_suite_failed(struct run *r)
{
    if (starting(r->fsm) && r->fsm->alive)
        fail(r, "a canary of the suite failed for good");
}

static void on_live_passed(struct run *r)
{
    if (r->fsm->phase != PHASE_DEGRADED)
        return;
    r->fsm->live_failures = 0;
    if (++r->fsm->live_passes >= r->limits->rise)
        enter_ready(r, "the live canary passes again");
}

static void on_live_failed(struct run *r)
{
    if (!serving(r->fsm))
        return;
    r->fsm->live_passes = 0;
    if (++r->fsm->live_failures >= r->limits->fall) {
        fail(r, "the live canary failed too often in a row");
    } else if (r->fsm->phase == PHASE_READY) {
        enter(r, PHASE_DEGRADED, "the live canary failed");
        r->fsm->deadline.stable = USEC_INFINITY;
    }
}

/* A failure unless the server was being ended already. */
static void lose_processes(struct run *r, const char *reason)
{
    if (r->fsm->phase == PHASE_STOPPING)
        go_on_if_empty(r);
    else
        fail(r, reason);
}

/* EXITED and EMPTY come in either order. */
static void on_exited(struct run *r)
{
    if (!r->fsm->alive)
        return;
    r->fsm->alive = false;
    lose_processes(r, "the server exited unasked");
}

static void on_empty(struct run *r)
{
    if (!r->fsm->populated)
        return;
    r->fsm->populated = false;
    lose_processes(r, "every process of the server is gone");
}

static void on_diagnosed(struct run *r)
{
    if (!r->fsm->collecting)
        return;
    r->fsm->collecting = false;
    conclude(r, &r->event->decision);
}

static void on_stop(struct run *r)
{
    r->fsm->request = FSM_REQUEST_STOP;
    if (r->fsm->phase == PHASE_PREFLIGHT)
        ask(r, FSM_ACTION_CANCEL_PREFLIGHT);
    if (starting(r->fsm) || serving(r->fsm))
        end_server(r, "asked to stop");
    else if (r->fsm->phase != PHASE_STOPPING)
        finish(r, PHASE_STOPPED, EXIT_STOPPED, "stopped as asked");
}

/* Asked before a spawn it is fulfilled already: the start is under way. It never weakens a stop. */
static void on_restart(struct run *r)
{
    if (r->fsm->phase == PHASE_IDLE || r->fsm->phase == PHASE_PREFLIGHT)
        return;
    if (r->fsm->request == FSM_REQUEST_NONE)
        r->fsm->request = FSM_REQUEST_RESTART;
    if (r->fsm->phase == PHASE_COOLING)
        begin_epoch(r, "restarted as asked");
    else if (r->fsm->phase != PHASE_STOPPING)
        end_server(r, "asked to restart");
}

/* Deadlines */

static void time_out_preflight(struct run *r)
{
    if (!passed(r->fsm->deadline.stall, r->now))
        return;
    ask(r, FSM_ACTION_CANCEL_PREFLIGHT);
    fail_preflight(r, "the preflight probes do not come to an end");
}

static void time_out_start(struct run *r)
{
    if (passed(r->fsm->deadline.load, r->now))
        fail(r, "not ready within the load time-out");
    else if (passed(r->fsm->deadline.stall, r->now))
        fail(r, r->fsm->suspected ? "no progress since a decisive log line"
                                  : "no progress within the stall limit");
}

static void settle(struct run *r)
{
    if (!passed(r->fsm->deadline.stable, r->now))
        return;
    r->fsm->deadline.stable = USEC_INFINITY;
    r->fsm->attempt = 0;
    ask(r, FSM_ACTION_SETTLED);
}

/* SIGKILL, then the admission that it did not help; at most one of the three is armed. */
static void time_out_stop(struct run *r)
{
    struct fsm_deadlines *deadline = &r->fsm->deadline;

    if (passed(deadline->kill, r->now)) {
        deadline->kill = USEC_INFINITY;
        deadline->give_up = usec_add(r->now, FSM_GIVE_UP_USEC);
        ask(r, FSM_ACTION_KILL);
    } else if (passed(deadline->give_up, r->now)) {
        deadline->give_up = USEC_INFINITY;
        r->fsm->unkillable = r->fsm->failed = true;
        collect(r);
    } else if (passed(deadline->collect, r->now)) {
        r->fsm->collecting = false;
        conclude(r, &undiagnosed);
    }
}

static void on_timer(struct run *r)
{
    switch (r->fsm->phase) {
    case PHASE_PREFLIGHT:
        time_out_preflight(r);
        break;
    case PHASE_LOADING:
    case PHASE_LISTENING:
    case PHASE_PROVING:
        time_out_start(r);
        break;
    case PHASE_READY:
        settle(r);
        break;
    case PHASE_STOPPING:
        time_out_stop(r);
        break;
    case PHASE_COOLING:
        if (passed(r->fsm->deadline.cool, r->now))
            begin_epoch(r, "the backoff is over");
        break;
    case PHASE_IDLE:
    case PHASE_DEGRADED:
    case PHASE_STOPPED:
    case PHASE_FAILED:
    case N_PHASES:
        break;
    }
}

/* What each event means; one `of_epoch` tells of an epoch and is void in any other. */
static const struct {
    void (*handle)(struct run *r);
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
    [FSM_STOP] = {on_stop, false},
    [FSM_RESTART] = {on_restart, false},
    [FSM_TIMER] = {on_timer, false},
};

struct fsm fsm_initial(void)
{
    return (struct fsm){.phase = PHASE_IDLE, .deadline = disarmed};
}

struct fsm_step fsm_step(const struct fsm *state, const struct fsm_limits *limits,
                         const struct fsm_event *event, usec_t now)
{
    struct fsm_step step = {.next = *state};
    struct run run = {
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
