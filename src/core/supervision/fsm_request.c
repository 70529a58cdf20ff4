/* SPDX-License-Identifier: MIT */
#include "core/supervision/fsm_run.h"

/* What the operator asks for. */

void fsm_on_stop(struct fsm_run *r)
{
    r->fsm->request = FSM_REQUEST_STOP;
    if (r->fsm->phase == PHASE_PREFLIGHT)
        run_ask(r, FSM_ACTION_CANCEL_PREFLIGHT);
    if (run_starting(r) || run_serving(r))
        run_end_server(r, "asked to stop");
    else if (r->fsm->phase != PHASE_STOPPING)
        run_finish(r, PHASE_STOPPED, EXIT_STOPPED, "stopped as asked");
}

/* Asked before a spawn it is fulfilled already: the start is under way. It never weakens a stop. */
void fsm_on_restart(struct fsm_run *r)
{
    if (r->fsm->phase == PHASE_IDLE || r->fsm->phase == PHASE_PREFLIGHT)
        return;
    if (r->fsm->request == FSM_REQUEST_NONE)
        r->fsm->request = FSM_REQUEST_RESTART;
    if (r->fsm->phase == PHASE_COOLING)
        run_begin_epoch(r, "restarted as asked");
    else if (r->fsm->phase != PHASE_STOPPING)
        run_end_server(r, "asked to restart");
}
