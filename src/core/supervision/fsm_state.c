/* SPDX-License-Identifier: MIT */
#include "core/supervision/fsm.h"

/* What can be read off a state without changing it. */

bool fsm_final(const struct fsm *state)
{
    return state->phase == PHASE_STOPPED || state->phase == PHASE_FAILED;
}

usec_t fsm_deadline(const struct fsm *state)
{
    const struct fsm_deadlines *d = &state->deadline;
    const usec_t all[] = {d->stall,   d->load, d->dump,   d->kill, d->give_up,
                          d->collect, d->cool, d->stable, d->pause};
    usec_t earliest = USEC_INFINITY;

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        earliest = MIN(earliest, all[i]);
    return earliest;
}

enum unit_state fsm_unit_state(const struct fsm *state)
{
    switch (state->phase) {
    case PHASE_READY:
        return UNIT_ACTIVE;
    case PHASE_STOPPED:
        return UNIT_INACTIVE;
    case PHASE_FAILED:
        return UNIT_FAILED;
    case PHASE_IDLE:
    case PHASE_PREFLIGHT:
    case PHASE_LOADING:
    case PHASE_LISTENING:
    case PHASE_PROVING:
    case PHASE_DEGRADED:
    case PHASE_STOPPING:
    case PHASE_COOLING:
    case N_PHASES:
        break;
    }
    if (state->request == FSM_REQUEST_STOP)
        return UNIT_DEACTIVATING;
    return state->ever_ready ? UNIT_RELOADING : UNIT_ACTIVATING;
}

#define X(constant, name) [constant] = name,
static const char *const event_names[] = {FSM_EVENTS(X)};
static const char *const action_names[] = {FSM_ACTIONS(X)};
#undef X

const char *fsm_event_name(enum fsm_event_kind k)
{
    return event_names[k];
}

const char *fsm_action_name(enum fsm_action_kind k)
{
    return action_names[k];
}
