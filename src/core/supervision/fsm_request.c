/* SPDX-License-Identifier: MIT */
#include "core/supervision/fsm_run.h"

/* What the operator asks for. */

static void end_pause(struct fsm_run *r)
{
    r->fsm->paused = false;
    r->fsm->deadline.pause = USEC_INFINITY;
}

void fsm_on_stop(struct fsm_run *r)
{
    end_pause(r);
    r->fsm->request = FSM_REQUEST_STOP;
    if (r->fsm->phase == PHASE_PREFLIGHT)
        run_ask(r, FSM_ACTION_CANCEL_PREFLIGHT);
    if (run_starting(r) || run_serving(r))
        run_end_server(r, "asked to stop");
    else if (r->fsm->dumping)
        run_signal(r);
    else if (r->fsm->phase != PHASE_STOPPING)
        run_finish(r, PHASE_STOPPED, EXIT_STOPPED, "stopped as asked");
}

/* Asked before a spawn it is fulfilled already: the start is under way. It never weakens a stop. */
void fsm_on_restart(struct fsm_run *r)
{
    if (r->fsm->phase == PHASE_IDLE || r->fsm->phase == PHASE_PREFLIGHT) {
        fsm_on_resume(r);
        return;
    }
    end_pause(r);
    if (r->fsm->request == FSM_REQUEST_NONE)
        r->fsm->request = FSM_REQUEST_RESTART;
    if (r->fsm->phase == PHASE_COOLING)
        run_begin_epoch(r, "restarted as asked");
    else if (r->fsm->phase != PHASE_STOPPING)
        run_end_server(r, "asked to restart");
}

/* A start that is under way goes on, but nobody looks at it. */
void fsm_on_pause(struct fsm_run *r)
{
    struct fsm_deadlines *deadline = &r->fsm->deadline;
    bool held = r->fsm->paused;

    if (r->fsm->request == FSM_REQUEST_STOP)
        return;
    r->fsm->paused = true;
    deadline->pause = usec_add(r->now, r->event->pause_usec);
    deadline->stall = deadline->load = deadline->stable = deadline->cool = USEC_INFINITY;
    if (!held && (run_starting(r) || run_serving(r)))
        run_ask(r, FSM_ACTION_QUIET);
}

/* What was proved before the pause is old: a serving server is asked at once. */
void run_resume(struct fsm_run *r, const char *reason)
{
    end_pause(r);
    if (r->fsm->phase == PHASE_COOLING) {
        run_start_over(r, reason);
        return;
    }
    run_arm(r);
    if (run_starting(r) && r->fsm->alive)
        run_ask(r, FSM_ACTION_PROVE);
    if (!run_serving(r))
        return;
    run_ask(r, FSM_ACTION_LIVE);
    run_ask(r, FSM_ACTION_CANARY_NOW);
}

void fsm_on_resume(struct fsm_run *r)
{
    if (r->fsm->paused)
        run_resume(r, "resumed as asked");
}
