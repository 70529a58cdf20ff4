/* SPDX-License-Identifier: MIT */
#include "core/supervision/fsm_run.h"

/* What happens when a deadline has passed. */

static void time_out_preflight(struct fsm_run *r)
{
    if (!run_passed(r, r->fsm->deadline.stall))
        return;
    run_ask(r, FSM_ACTION_CANCEL_PREFLIGHT);
    run_fail_preflight(r, "the preflight probes do not come to an end");
}

static void time_out_start(struct fsm_run *r)
{
    if (run_passed(r, r->fsm->deadline.load))
        run_fail_hanging(r, "not ready within the load time-out");
    else if (run_passed(r, r->fsm->deadline.stall))
        run_fail_hanging(r, r->fsm->suspected ? "no progress since a decisive log line"
                                              : "no progress within the stall limit");
}

static void settle(struct fsm_run *r)
{
    if (!run_passed(r, r->fsm->deadline.stable))
        return;
    r->fsm->deadline.stable = USEC_INFINITY;
    r->fsm->attempt = 0;
    run_ask(r, FSM_ACTION_SETTLED);
}

/* The stop signal, SIGKILL, the admission that it did not help; at most one of the four is armed. */
static void time_out_stop(struct fsm_run *r)
{
    struct fsm_deadlines *deadline = &r->fsm->deadline;

    if (run_passed(r, deadline->dump)) {
        run_signal(r);
    } else if (run_passed(r, deadline->kill)) {
        deadline->kill = USEC_INFINITY;
        deadline->give_up = usec_add(r->now, FSM_GIVE_UP_USEC);
        run_ask(r, FSM_ACTION_KILL);
    } else if (run_passed(r, deadline->give_up)) {
        deadline->give_up = USEC_INFINITY;
        r->fsm->unkillable = r->fsm->failed = true;
        run_collect(r);
    } else if (run_passed(r, deadline->collect)) {
        r->fsm->collecting = false;
        run_conclude(r, &fsm_undiagnosed);
    }
}

void fsm_on_timer(struct fsm_run *r)
{
    if (run_passed(r, r->fsm->deadline.pause)) {
        run_resume(r, "the pause is over");
        return;
    }
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
        if (run_passed(r, r->fsm->deadline.cool))
            run_start_over(r, "the backoff is over");
        break;
    case PHASE_IDLE:
    case PHASE_DEGRADED:
    case PHASE_STOPPED:
    case PHASE_FAILED:
    case N_PHASES:
        break;
    }
}
