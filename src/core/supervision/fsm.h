/* SPDX-License-Identifier: MIT */
#pragma once

/* The life of one instance as a pure function: state, event and time give the next state and what to
 * do. No I/O, no clock, no memory beyond the struct; the exploration test walks all of it.
 *
 * An epoch begins with FSM_ACTION_PREFLIGHT (FSM_ACTION_SPAWN where there is no preflight) and ends
 * when its last process is gone *and*, if it failed, its diagnosis is in: a failed preflight is a failed
 * epoch with a number and a report of its own. A failure and an operator's request are separate facts:
 * a server that dies while a restart was asked for is still reported. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timeutil.h"
#include "core/config/config.h"
#include "core/supervision/phase.h"

/* X(constant, name). What each means:
 * START             the supervisor is set up; only from PHASE_IDLE
 * PREFLIGHT_PASSED, PREFLIGHT_FAILED  the probes' outcome; with the fsm.epoch of FSM_ACTION_PREFLIGHT,
 *                   so that an answer that was under way when the probes were cancelled is void
 * SPAWNED, SPAWN_FAILED               answer to FSM_ACTION_SPAWN
 * PROGRESS          evidence of work (in preflight: the end of one probe); moves the stall deadline
 * DECISIVE_LINE     the log says that this cannot end well: look at once, wait less
 * PORT_OPEN         the server accepts connections
 * CANARY_SENT       the first real inference request of the suite is out
 * SUITE_PASSED      every canary of the suite has passed in this epoch
 * SUITE_FAILED      a canary came back with a verdict that waiting cannot better
 * LIVE_PASSED, LIVE_FAILED            verdict of a live canary
 * EXITED            the main process is gone (whatever its status: unrequested exits are failures)
 * EMPTY             no process of this epoch is left; before or after EXITED, but after SPAWNED
 * DUMPED            answer to FSM_ACTION_DUMP
 * DIAGNOSED         answer to FSM_ACTION_COLLECT, with the decision
 * STOP, RESTART     the operator's requests
 * PAUSE, RESUME     likewise: for a while, or until RESUME, no canary is sent, no deadline of a start or of
 *                   the stable time runs, and no restart is begun; failures are still diagnosed and reported.
 *                   A new PAUSE replaces the one before; STOP and RESTART end it, too
 * LIMITS            the limits are other ones than before: what they measure begins anew
 * TIMER             fsm_deadline() has passed */
#define FSM_EVENTS(X)                         \
    X(FSM_START, "start")                     \
    X(FSM_PREFLIGHT_PASSED, "preflight-passed") \
    X(FSM_PREFLIGHT_FAILED, "preflight-failed") \
    X(FSM_SPAWNED, "spawned")                 \
    X(FSM_SPAWN_FAILED, "spawn-failed")       \
    X(FSM_PROGRESS, "progress")               \
    X(FSM_DECISIVE_LINE, "decisive-line")     \
    X(FSM_PORT_OPEN, "port-open")             \
    X(FSM_CANARY_SENT, "canary-sent")         \
    X(FSM_SUITE_PASSED, "suite-passed")       \
    X(FSM_SUITE_FAILED, "suite-failed")       \
    X(FSM_LIVE_PASSED, "live-passed")         \
    X(FSM_LIVE_FAILED, "live-failed")         \
    X(FSM_EXITED, "exited")                   \
    X(FSM_EMPTY, "empty")                     \
    X(FSM_DUMPED, "dumped")                   \
    X(FSM_DIAGNOSED, "diagnosed")             \
    X(FSM_STOP, "stop")                       \
    X(FSM_RESTART, "restart")                 \
    X(FSM_PAUSE, "pause")                     \
    X(FSM_RESUME, "resume")                   \
    X(FSM_LIMITS, "limits")                   \
    X(FSM_TIMER, "timer")

/* X(constant, name). What each asks of the supervisor:
 * PREFLIGHT         run the probes; answer PREFLIGHT_PASSED or _FAILED
 * CANCEL_PREFLIGHT  end the probes, no answer wanted
 * SPAWN             start the server of fsm.epoch; answer SPAWNED or SPAWN_FAILED
 * PROVE             watch the port, then run the suite
 * LIVE              begin live canaries
 * CANARY_NOW        a live canary at once
 * QUIET             no canary any more; close the one under way
 * DUMP              the server hangs: look at its processes while they live; answer DUMPED. What is not
 *                   there by SIGNAL or COLLECT is not waited for
 * SIGNAL            the stop signal to every process of the epoch
 * KILL              SIGKILL to every process of the epoch
 * COLLECT           gather last words, diagnose, decide, report; answer DIAGNOSED
 * SETTLED           stable: forget backoff and past failures
 * EXIT              leave the loop with fsm.exit_code */
#define FSM_ACTIONS(X)                                \
    X(FSM_ACTION_PREFLIGHT, "preflight")              \
    X(FSM_ACTION_CANCEL_PREFLIGHT, "cancel-preflight") \
    X(FSM_ACTION_SPAWN, "spawn")                      \
    X(FSM_ACTION_PROVE, "prove")                      \
    X(FSM_ACTION_LIVE, "live")                        \
    X(FSM_ACTION_CANARY_NOW, "canary-now")            \
    X(FSM_ACTION_QUIET, "quiet")                      \
    X(FSM_ACTION_DUMP, "dump")                        \
    X(FSM_ACTION_SIGNAL, "signal")                    \
    X(FSM_ACTION_KILL, "kill")                        \
    X(FSM_ACTION_COLLECT, "collect")                  \
    X(FSM_ACTION_SETTLED, "settled")                  \
    X(FSM_ACTION_EXIT, "exit")

#define X(constant, ...) constant,
enum fsm_event_kind { FSM_EVENTS(X) N_FSM_EVENTS };
enum fsm_action_kind { FSM_ACTIONS(X) N_FSM_ACTIONS };
#undef X

/* What the policy said of a failed epoch. */
struct fsm_decision {
    bool restart;
    usec_t delay_usec;
    enum exit_code exit_code; /* where not restarted */
};

struct fsm_event {
    enum fsm_event_kind kind;
    uint64_t epoch; /* of what was observed; ignored for START, TIMER, LIMITS and requests */
    struct fsm_decision decision; /* DIAGNOSED only */
    usec_t pause_usec;            /* PAUSE only; USEC_INFINITY: until RESUME */
};

/* A stop beats a restart. */
enum fsm_request { FSM_REQUEST_NONE, FSM_REQUEST_RESTART, FSM_REQUEST_STOP };

/* Absolute monotonic times; USEC_INFINITY when not armed. */
struct fsm_deadlines {
    usec_t stall;   /* no progress for StallSec while starting, preflight included */
    usec_t load;    /* LoadTimeoutSec */
    usec_t dump;    /* the look at a hanging server is not waited for any longer */
    usec_t kill;    /* StopSec after the stop signal */
    usec_t give_up; /* after SIGKILL: unkillable */
    usec_t collect; /* the diagnosis itself is stuck: an internal error */
    usec_t cool;    /* end of the backoff */
    usec_t stable;  /* READY for StableSec */
    usec_t pause;   /* end of the pause */
};

struct fsm {
    enum phase phase;
    uint64_t epoch;   /* 0 before the first start */
    uint64_t attempt; /* starts since the last stable time or requested restart, 1 for the first; 0 once
                       * the present one is stable */
    bool spawning;    /* SPAWN is out, its answer not in */
    bool alive;       /* the main process runs */
    bool populated;   /* any process of this epoch may run */
    bool proved;      /* the suite has passed in this epoch */
    bool ever_ready;  /* READY=1 was sent once: from now on `reloading`, not `activating` */
    bool failed;      /* this epoch ended, or is being ended, as a failure */
    bool dumping;     /* DUMP is out, the stop signal is not */
    bool collecting;  /* COLLECT is out, DIAGNOSED not in */
    bool unkillable;  /* SIGKILL did not help */
    bool suspected;   /* a decisive line came in this start, and the suite has not passed since */
    bool paused;      /* the operator's pause; no unit state follows from it */
    enum fsm_request request;
    uint64_t live_failures; /* in a row */
    uint64_t live_passes;   /* in a row while degraded */
    enum exit_code exit_code; /* final phases only */
    struct fsm_deadlines deadline;
};

#define FSM_MAX_ACTIONS 4

struct fsm_step {
    struct fsm next;
    enum fsm_action_kind actions[FSM_MAX_ACTIONS];
    size_t n_actions;
    const char *reason; /* why, for people; static text, never NULL when the phase changed */
};

/* Borrowed parts of the configuration that the state machine obeys. */
struct fsm_limits {
    bool preflight;
    enum restart_mode mode;
    usec_t stall_usec;
    usec_t load_timeout_usec;
    usec_t dump_usec; /* how long the look at a hanging server may take */
    usec_t stop_usec;
    usec_t stable_usec;
    uint64_t fall;
    uint64_t rise;
};

/* How long after SIGKILL a process counts as unkillable, how long a diagnosis may take, and how long a
 * start may be without progress once a decisive line was seen: progress keeps a suspect alive, since a
 * line condemns nobody, but does not give it back its StallSec. */
#define FSM_GIVE_UP_USEC (30 * USEC_PER_SEC)
#define FSM_COLLECT_USEC (30 * USEC_PER_SEC)
#define FSM_SUSPICION_USEC (30 * USEC_PER_SEC)

struct fsm fsm_initial(void);
/* Total: every event in every state gives a valid next state; what does not apply, or carries an old
 * epoch, changes nothing and asks for nothing. `now` is monotonic and never smaller than before. */
struct fsm_step fsm_step(const struct fsm *state, const struct fsm_limits *limits,
                         const struct fsm_event *event, usec_t now);
/* The earliest armed deadline, USEC_INFINITY if none. */
usec_t fsm_deadline(const struct fsm *state);
/* What systemd must be told. */
enum unit_state fsm_unit_state(const struct fsm *state);
bool fsm_final(const struct fsm *state);
const char *fsm_event_name(enum fsm_event_kind k);
const char *fsm_action_name(enum fsm_action_kind k);
