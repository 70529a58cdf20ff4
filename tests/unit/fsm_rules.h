/* SPDX-License-Identifier: MIT */
#pragma once

/* What must hold of every step of the state machine, whatever the events: shared by the exploration
 * and by the fuzz target. */

#include <stdio.h>
#include <stdlib.h>

#include "core/supervision/fsm.h"

static inline bool rules_armed(usec_t deadline)
{
    return deadline != USEC_INFINITY;
}

static inline bool rules_processes(const struct fsm *f)
{
    return f->spawning || f->alive || f->populated;
}

static inline bool rules_starting(const struct fsm *f)
{
    return f->phase == PHASE_LOADING || f->phase == PHASE_LISTENING || f->phase == PHASE_PROVING;
}

static inline bool rules_serving(const struct fsm *f)
{
    return f->phase == PHASE_READY || f->phase == PHASE_DEGRADED;
}

static inline bool rules_asked(const struct fsm_step *step, enum fsm_action_kind action)
{
    for (size_t i = 0; i < step->n_actions; i++) {
        if (step->actions[i] == action)
            return true;
    }
    return false;
}

static inline bool rules_same_deadlines(const struct fsm_deadlines *a,
                                        const struct fsm_deadlines *b)
{
    return a->stall == b->stall && a->load == b->load && a->dump == b->dump && a->kill == b->kill &&
           a->give_up == b->give_up && a->collect == b->collect && a->cool == b->cool &&
           a->stable == b->stable && a->pause == b->pause;
}

static inline bool rules_same(const struct fsm *a, const struct fsm *b)
{
    return a->phase == b->phase && a->epoch == b->epoch && a->attempt == b->attempt &&
           a->spawning == b->spawning && a->alive == b->alive && a->populated == b->populated &&
           a->proved == b->proved && a->ever_ready == b->ever_ready && a->failed == b->failed &&
           a->dumping == b->dumping && a->collecting == b->collecting &&
           a->unkillable == b->unkillable && a->suspected == b->suspected &&
           a->paused == b->paused && a->request == b->request &&
           a->live_failures == b->live_failures && a->live_passes == b->live_passes &&
           a->exit_code == b->exit_code && rules_same_deadlines(&a->deadline, &b->deadline);
}

/* Whether the event tells of another epoch than the present one. */
static inline bool rules_stale(const struct fsm *f, const struct fsm_event *e)
{
    bool of_epoch = e->kind > FSM_START && e->kind < FSM_STOP;

    return of_epoch && e->epoch != f->epoch;
}

/* Every rule returns what is broken, NULL if nothing. */

static inline const char *rules_of_processes(const struct fsm *f)
{
    if (rules_starting(f) && !f->spawning && !(f->alive && f->populated))
        return "a start without a server";
    if (rules_serving(f) && !(f->alive && f->populated))
        return "serving without a server";
    if (f->spawning && (f->alive || f->populated))
        return "two servers";
    if (f->phase < PHASE_LOADING || f->phase == PHASE_COOLING || f->phase == PHASE_STOPPED)
        return rules_processes(f) ? "a process in a phase that has none" : NULL;
    return NULL;
}

static inline const char *rules_of_proof(const struct fsm *f)
{
    if (rules_serving(f) && !f->proved)
        return "serving without a proof";
    if (rules_starting(f) && f->proved)
        return "proved and still starting";
    if (f->proved && !f->ever_ready)
        return "proved but never ready";
    if (f->phase == PHASE_READY && (f->live_failures != 0 || f->live_passes != 0))
        return "ready, and counting as if degraded";
    if (f->live_failures != 0 && f->live_passes != 0)
        return "failures and passes both in a row";
    return NULL;
}

static inline const char *rules_of_ending(const struct fsm *f)
{
    if (f->dumping && (f->phase != PHASE_STOPPING || !f->failed || !f->populated || f->collecting))
        return "dumping where nothing hangs";
    if (f->collecting && (f->phase != PHASE_STOPPING || !f->failed))
        return "collecting where nothing failed";
    if (f->phase == PHASE_STOPPING && !rules_processes(f) && !f->collecting)
        return "stopping, and nothing to wait for";
    if (f->phase == PHASE_STOPPED && f->exit_code != EXIT_STOPPED)
        return "stopped with a failure's exit code";
    if (f->phase == PHASE_FAILED && f->exit_code == EXIT_STOPPED)
        return "failed with exit code 0";
    if (f->phase == PHASE_FAILED && rules_processes(f) != (f->exit_code == EXIT_UNKILLABLE))
        return "exit code and left processes do not agree";
    if (!fsm_final(f) && f->exit_code != EXIT_STOPPED)
        return "an exit code before the end";
    if (f->phase == PHASE_COOLING && !f->failed)
        return "cooling after no failure";
    return NULL;
}

static inline const char *rules_of_pause(const struct fsm *f)
{
    const struct fsm_deadlines *d = &f->deadline;

    if (rules_armed(d->pause) && !f->paused)
        return "the end of a pause that there is not";
    if (f->paused && (fsm_final(f) || f->request == FSM_REQUEST_STOP))
        return "paused, and at the end";
    if (f->paused && (rules_armed(d->stall) || rules_armed(d->load) || rules_armed(d->stable) ||
                      rules_armed(d->cool)))
        return "a deadline that a pause holds";
    return NULL;
}

/* Each deadline is armed exactly in the states that it belongs to; infinite limits arm nothing. */
static inline const char *rules_of_deadlines(const struct fsm *f, const struct fsm_limits *l)
{
    const struct fsm_deadlines *d = &f->deadline;
    bool starting = rules_starting(f), stopping = f->phase == PHASE_STOPPING, runs = !f->paused;
    bool ending = stopping && rules_processes(f) && !f->unkillable && !f->dumping;

    if (rules_armed(d->dump) != f->dumping)
        return "dump deadline and dumping do not agree";
    if (rules_armed(d->kill) && rules_armed(d->give_up))
        return "both kill and give-up armed";
    if (!ending && (rules_armed(d->kill) || rules_armed(d->give_up)))
        return "a kill deadline where nothing is being ended";
    if (ending && l->stop_usec != USEC_INFINITY && !rules_armed(d->kill) &&
        !rules_armed(d->give_up))
        return "ending processes without a kill deadline";
    if (rules_armed(d->collect) != f->collecting)
        return "collect deadline and collecting do not agree";
    if (rules_armed(d->cool) != (f->phase == PHASE_COOLING && runs))
        return "cool deadline and cooling do not agree";
    if (rules_armed(d->stable) && f->phase != PHASE_READY)
        return "stable deadline while not ready";
    if (rules_armed(d->load) && !starting)
        return "load deadline while not loading";
    if (rules_armed(d->load) != (starting && runs && l->load_timeout_usec != USEC_INFINITY))
        return "loading without its deadline";
    if (rules_armed(d->stall) && !starting && f->phase != PHASE_PREFLIGHT)
        return "stall deadline while not starting";
    if (l->stall_usec != USEC_INFINITY && runs && !rules_armed(d->stall) &&
        (starting || f->phase == PHASE_PREFLIGHT))
        return "starting without a stall deadline";
    return NULL;
}

/* Something must still come: a deadline, news of a live server, an answer, the end of a pause. */
static inline const char *rules_of_waiting(const struct fsm *f)
{
    if (fsm_final(f) || f->phase == PHASE_IDLE || f->phase == PHASE_PREFLIGHT)
        return NULL;
    return rules_processes(f) || rules_armed(fsm_deadline(f)) || f->paused ? NULL
                                                                           : "nothing left to wait for";
}

static inline const char *rules_of_unit_state(const struct fsm *f)
{
    enum unit_state told = fsm_unit_state(f);

    if ((told == UNIT_ACTIVE) != (f->phase == PHASE_READY))
        return "active and ready do not agree";
    if ((told == UNIT_INACTIVE) != (f->phase == PHASE_STOPPED))
        return "inactive and stopped do not agree";
    if ((told == UNIT_FAILED) != (f->phase == PHASE_FAILED))
        return "the unit's failed and the phase do not agree";
    if (told == UNIT_ACTIVATING && f->ever_ready)
        return "activating although it was ready once";
    if (told == UNIT_RELOADING && !f->ever_ready)
        return "reloading although it was never ready";
    if (told == UNIT_DEACTIVATING && f->request != FSM_REQUEST_STOP)
        return "deactivating unasked";
    if (f->phase == PHASE_STOPPING && f->request == FSM_REQUEST_STOP && told != UNIT_DEACTIVATING)
        return "stopping as asked, but not deactivating";
    return NULL;
}

static inline const char *rules_of_state(const struct fsm *f, const struct fsm_limits *l)
{
    const char *broken = rules_of_processes(f);

    if (!broken)
        broken = rules_of_proof(f);
    if (!broken)
        broken = rules_of_ending(f);
    if (!broken)
        broken = rules_of_pause(f);
    if (!broken)
        broken = rules_of_deadlines(f, l);
    if (!broken)
        broken = rules_of_waiting(f);
    if (!broken)
        broken = rules_of_unit_state(f);
    return broken;
}

static inline bool rules_resumed(const struct fsm *before, const struct fsm_step *s)
{
    return before->paused && !s->next.paused;
}

static inline const char *rules_of_actions(const struct fsm *before, const struct fsm_step *s)
{
    bool begins = rules_asked(s, FSM_ACTION_PREFLIGHT) ||
                  (rules_asked(s, FSM_ACTION_SPAWN) && before->phase != PHASE_PREFLIGHT);

    if (s->n_actions > FSM_MAX_ACTIONS)
        return "too many actions";
    for (size_t i = 0; i < s->n_actions; i++) {
        for (size_t j = 0; j < i; j++) {
            if (s->actions[i] == s->actions[j])
                return "an action asked for twice";
        }
    }
    if (rules_asked(s, FSM_ACTION_SPAWN) != (s->next.spawning && !before->spawning))
        return "spawn and spawning do not agree";
    if (s->next.epoch != before->epoch + (begins ? 1 : 0))
        return "epochs do not count starts";
    if (rules_asked(s, FSM_ACTION_EXIT) != fsm_final(&s->next))
        return "exit and final phases do not agree";
    if (rules_asked(s, FSM_ACTION_DUMP) != (s->next.dumping && !before->dumping))
        return "dump and dumping do not agree";
    if (rules_asked(s, FSM_ACTION_COLLECT) != (s->next.collecting && !before->collecting))
        return "collect and collecting do not agree";
    if (!rules_resumed(before, s) &&
        rules_asked(s, FSM_ACTION_LIVE) != (s->next.proved && !before->proved))
        return "live canaries and proof do not agree";
    return NULL;
}

static inline bool rules_looks(const struct fsm_step *s)
{
    return rules_asked(s, FSM_ACTION_PROVE) || rules_asked(s, FSM_ACTION_LIVE) ||
           rules_asked(s, FSM_ACTION_CANARY_NOW);
}

/* What a pause holds, and what its end lets go. */
static inline const char *rules_of_holding(const struct fsm *before, const struct fsm_event *e,
                                           const struct fsm_step *s)
{
    const struct fsm *after = &s->next;
    bool looked_at = rules_starting(after) || rules_serving(after);
    bool granted = before->phase == PHASE_IDLE || before->request == FSM_REQUEST_RESTART;

    if (after->paused && rules_looks(s))
        return "a canary during a pause";
    if (after->paused && !before->paused && looked_at && !rules_asked(s, FSM_ACTION_QUIET))
        return "paused, and canaries go on";
    if (after->paused && after->epoch != before->epoch && !granted)
        return "a restart during a pause";
    if (e->kind == FSM_PAUSE && fsm_unit_state(after) != fsm_unit_state(before))
        return "a pause that shows as another unit state";
    if (rules_resumed(before, s) && after->phase == PHASE_COOLING)
        return "resumed, and nothing goes on";
    if (rules_resumed(before, s) && looked_at && !after->spawning && !rules_looks(s))
        return "resumed, and nobody looks";
    return NULL;
}

/* Whether anything of the epoch is left after what the event tells. */
static inline bool rules_outlives(const struct fsm *before, const struct fsm_event *e)
{
    return (before->spawning && e->kind != FSM_SPAWN_FAILED) ||
           (before->alive && e->kind != FSM_EXITED) ||
           (before->populated && e->kind != FSM_EMPTY) ||
           (before->collecting && e->kind != FSM_DIAGNOSED && e->kind != FSM_TIMER);
}

/* Whether the event can be a failure. */
static inline bool rules_may_fail(enum fsm_event_kind kind)
{
    return kind == FSM_PREFLIGHT_FAILED || kind == FSM_SPAWN_FAILED || kind == FSM_SUITE_FAILED ||
           kind == FSM_LIVE_FAILED || kind == FSM_EXITED || kind == FSM_EMPTY || kind == FSM_TIMER;
}

static inline const char *rules_of_change(const struct fsm *before, const struct fsm_event *e,
                                          const struct fsm_step *s)
{
    const struct fsm *after = &s->next;

    if ((fsm_final(before) || rules_stale(before, e)) &&
        (!rules_same(before, after) || s->n_actions != 0))
        return "a void event had an effect";
    if (after->phase != before->phase && !s->reason)
        return "a new phase without a reason";
    if (after->proved && !before->proved && e->kind != FSM_SUITE_PASSED)
        return "proved without a passed suite";
    if (before->ever_ready && !after->ever_ready)
        return "forgot that it was ready";
    if (before->paused && !after->paused && e->kind != FSM_RESUME && e->kind != FSM_RESTART &&
        e->kind != FSM_TIMER && !fsm_final(after) && after->request != FSM_REQUEST_STOP)
        return "a pause was forgotten";
    if (before->request == FSM_REQUEST_STOP && after->request != FSM_REQUEST_STOP)
        return "a stop was forgotten";
    if (rules_asked(s, FSM_ACTION_SPAWN) && rules_outlives(before, e))
        return "a spawn beside the old epoch";
    if (before->phase != PHASE_STOPPING && after->phase == PHASE_STOPPING && after->populated &&
        rules_asked(s, FSM_ACTION_SIGNAL) == rules_asked(s, FSM_ACTION_DUMP))
        return "stopping without a signal, or without a look before it";
    if (before->dumping && !after->dumping && after->populated && !rules_asked(s, FSM_ACTION_SIGNAL))
        return "no signal after the look";
    if (after->dumping && e->kind == FSM_STOP)
        return "a stop that waits for a look";
    if (after->failed && !before->failed && !rules_may_fail(e->kind))
        return "failed without a failure";
    if (before->failed && !after->failed && after->epoch == before->epoch)
        return "a failure was forgotten";
    return NULL;
}

/* Of one step that was taken under these limits. */
static inline const char *rules_broken(const struct fsm *before, const struct fsm_limits *l,
                                       const struct fsm_event *e, const struct fsm_step *s)
{
    const char *broken = NULL;

    /* A final state has been looked at when it was entered. */
    if (!fsm_final(before))
        broken = rules_of_actions(before, s);
    if (!broken)
        broken = rules_of_holding(before, e, s);
    if (!broken)
        broken = rules_of_change(before, e, s);
    if (!broken)
        broken = rules_of_state(&s->next, l);
    return broken;
}

/* A stop must come to an end even if neither the server nor the supervisor ever answers. */
static inline const char *rules_of_stopping(const struct fsm *f, const struct fsm_limits *l,
                                            usec_t now)
{
    struct fsm_event e = {.kind = FSM_STOP};
    struct fsm state = *f;

    for (int i = 0; i < 5 && !fsm_final(&state); i++) {
        state = fsm_step(&state, l, &e, now).next;
        e.kind = FSM_TIMER;
        now = fsm_deadline(&state);
    }
    return fsm_final(&state) ? NULL : "a stop that does not end";
}
