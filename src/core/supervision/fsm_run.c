/* SPDX-License-Identifier: MIT */
#include "core/supervision/fsm_run.h"

#include <assert.h>

const struct fsm_deadlines fsm_disarmed = {
    .stall = USEC_INFINITY,
    .load = USEC_INFINITY,
    .dump = USEC_INFINITY,
    .kill = USEC_INFINITY,
    .give_up = USEC_INFINITY,
    .collect = USEC_INFINITY,
    .cool = USEC_INFINITY,
    .stable = USEC_INFINITY,
    .pause = USEC_INFINITY,
};

const struct fsm_decision fsm_undiagnosed = {.exit_code = EXIT_INTERNAL};

struct fsm fsm_initial(void)
{
    return (struct fsm){.phase = PHASE_IDLE, .deadline = fsm_disarmed};
}

bool run_starting(const struct fsm_run *r)
{
    enum phase phase = r->fsm->phase;

    return phase == PHASE_LOADING || phase == PHASE_LISTENING || phase == PHASE_PROVING;
}

bool run_serving(const struct fsm_run *r)
{
    return r->fsm->phase == PHASE_READY || r->fsm->phase == PHASE_DEGRADED;
}

bool run_passed(const struct fsm_run *r, usec_t deadline)
{
    return deadline != USEC_INFINITY && r->now >= deadline;
}

/* A spawn without its answer counts: a process may be there at any moment. */
static bool processes_left(const struct fsm *f)
{
    return f->spawning || f->alive || f->populated;
}

void run_ask(struct fsm_run *r, enum fsm_action_kind action)
{
    assert(r->step->n_actions < FSM_MAX_ACTIONS);
    r->step->actions[r->step->n_actions++] = action;
}

void run_enter(struct fsm_run *r, enum phase phase, const char *reason)
{
    r->fsm->phase = phase;
    r->step->reason = reason;
}

void run_finish(struct fsm_run *r, enum phase phase, enum exit_code code, const char *reason)
{
    r->fsm->deadline = fsm_disarmed;
    r->fsm->paused = false;
    r->fsm->exit_code = code;
    run_enter(r, phase, reason);
    run_ask(r, FSM_ACTION_EXIT);
}

void run_disarm(struct fsm_run *r)
{
    usec_t pause = r->fsm->deadline.pause;

    r->fsm->deadline = fsm_disarmed;
    r->fsm->deadline.pause = pause;
}

void run_arm(struct fsm_run *r)
{
    struct fsm_deadlines *deadline = &r->fsm->deadline;

    if (r->fsm->paused)
        return;
    if (run_starting(r))
        deadline->load = usec_add(r->now, r->limits->load_timeout_usec);
    if (run_starting(r) || r->fsm->phase == PHASE_PREFLIGHT)
        run_await_progress(r);
    /* An attempt of 0 is stable already. */
    if (r->fsm->phase == PHASE_READY && r->fsm->attempt > 0)
        deadline->stable = usec_add(r->now, r->limits->stable_usec);
}

void run_await_progress(struct fsm_run *r)
{
    usec_t patience = r->limits->stall_usec;

    if (r->fsm->paused)
        return;
    if (r->fsm->suspected)
        patience = MIN(patience, FSM_SUSPICION_USEC);
    r->fsm->deadline.stall = usec_add(r->now, patience);
}

void run_spawn(struct fsm_run *r, const char *reason)
{
    run_enter(r, PHASE_LOADING, reason);
    r->fsm->spawning = true;
    run_arm(r);
    run_ask(r, FSM_ACTION_SPAWN);
}

void run_begin_epoch(struct fsm_run *r, const char *reason)
{
    const struct fsm last = *r->fsm;

    *r->fsm = fsm_initial();
    r->fsm->epoch = last.epoch + 1;
    r->fsm->attempt = last.request == FSM_REQUEST_RESTART ? 1 : last.attempt + 1;
    r->fsm->ever_ready = last.ever_ready;
    r->fsm->paused = last.paused;
    r->fsm->deadline.pause = last.deadline.pause;
    if (!r->limits->preflight) {
        run_spawn(r, reason);
        return;
    }
    run_enter(r, PHASE_PREFLIGHT, reason);
    run_arm(r);
    run_ask(r, FSM_ACTION_PREFLIGHT);
}

void run_collect(struct fsm_run *r)
{
    r->fsm->collecting = true;
    r->fsm->deadline.collect = usec_add(r->now, FSM_COLLECT_USEC);
    run_ask(r, FSM_ACTION_COLLECT);
}

static void cool(struct fsm_run *r, usec_t delay_usec)
{
    run_enter(r, PHASE_COOLING, "the failure may pass: next start after the backoff");
    /* Cooling waits for nothing but its deadline, so there must be one. */
    r->fsm->deadline.cool = MIN(usec_add(r->now, delay_usec), USEC_INFINITY - 1);
}

static void leave_to_systemd(struct fsm_run *r)
{
    run_finish(r, PHASE_FAILED, EXIT_RESTART, "the failure may pass: the restart is systemd's");
}

void run_start_over(struct fsm_run *r, const char *reason)
{
    if (r->limits->mode == RESTART_EXIT)
        leave_to_systemd(r);
    else
        run_begin_epoch(r, reason);
}

/* A pause holds the restart, whosever it is. */
static void obey(struct fsm_run *r, const struct fsm_decision *decision)
{
    if (decision->restart && r->fsm->paused)
        run_enter(r, PHASE_COOLING, "the failure may pass: next start after the pause");
    else if (decision->restart && r->limits->mode == RESTART_IN_PLACE)
        cool(r, decision->delay_usec);
    else if (decision->restart)
        leave_to_systemd(r);
    else if (decision->exit_code == EXIT_STOPPED || decision->exit_code == EXIT_INTERNAL)
        run_finish(r, PHASE_FAILED, EXIT_INTERNAL, "the failure could not be diagnosed");
    else
        run_finish(r, PHASE_FAILED, decision->exit_code, "failed for good, no restart is granted");
}

void run_conclude(struct fsm_run *r, const struct fsm_decision *decision)
{
    run_disarm(r);
    if (processes_left(r->fsm)) {
        run_finish(r, PHASE_FAILED, EXIT_UNKILLABLE, "the server's processes could not be removed");
        return;
    }
    switch (r->fsm->request) {
    case FSM_REQUEST_STOP:
        run_finish(r, PHASE_STOPPED, EXIT_STOPPED, "stopped as asked");
        break;
    case FSM_REQUEST_RESTART:
        run_begin_epoch(r, "restarted as asked");
        break;
    case FSM_REQUEST_NONE:
        obey(r, decision);
        break;
    }
}

void run_go_on_if_empty(struct fsm_run *r)
{
    if (processes_left(r->fsm))
        return;
    r->fsm->deadline.kill = r->fsm->deadline.give_up = USEC_INFINITY;
    if (r->fsm->collecting)
        return;
    if (r->fsm->failed)
        run_collect(r);
    else
        run_conclude(r, &fsm_undiagnosed);
}

static void begin_end(struct fsm_run *r, const char *reason)
{
    run_enter(r, PHASE_STOPPING, reason);
    run_disarm(r);
    run_ask(r, FSM_ACTION_QUIET);
}

void run_signal(struct fsm_run *r)
{
    r->fsm->dumping = false;
    r->fsm->deadline.dump = USEC_INFINITY;
    if (r->fsm->populated)
        run_ask(r, FSM_ACTION_SIGNAL);
    if (processes_left(r->fsm))
        r->fsm->deadline.kill = usec_add(r->now, r->limits->stop_usec);
    run_go_on_if_empty(r);
}

void run_end_server(struct fsm_run *r, const char *reason)
{
    begin_end(r, reason);
    run_signal(r);
}

void run_fail(struct fsm_run *r, const char *reason)
{
    r->fsm->failed = true;
    run_end_server(r, reason);
}

void run_fail_hanging(struct fsm_run *r, const char *reason)
{
    r->fsm->failed = true;
    begin_end(r, reason);
    if (!r->fsm->populated) {
        run_signal(r);
        return;
    }
    r->fsm->dumping = true;
    r->fsm->deadline.dump = MIN(usec_add(r->now, r->limits->dump_usec), USEC_INFINITY - 1);
    run_ask(r, FSM_ACTION_DUMP);
}

void run_fail_preflight(struct fsm_run *r, const char *reason)
{
    run_enter(r, PHASE_STOPPING, reason);
    r->fsm->failed = true;
    run_disarm(r);
    run_collect(r);
}
