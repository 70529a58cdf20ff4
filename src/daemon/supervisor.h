/* SPDX-License-Identifier: MIT */
#pragma once

/* One instance: the state machine's state, the epoch at hand, and the handles on the world. The struct is
 * open to the rooms of daemon/ that act for it (actions, failure, publish); everybody else uses the
 * functions. */

#include <stdbool.h>

#include "core/config/config.h"
#include "core/diagnosis/catalog.h"
#include "core/supervision/fsm.h"
#include "core/supervision/policy.h"
#include "daemon/caches.h"
#include "daemon/chronicle.h"
#include "daemon/counters.h"
#include "daemon/dump.h"
#include "daemon/generation.h"
#include "daemon/identity.h"
#include "daemon/log.h"
#include "daemon/output.h"
#include "daemon/preflight.h"
#include "daemon/processes.h"
#include "daemon/progress.h"
#include "daemon/prover.h"
#include "daemon/publish.h"
#include "daemon/signals.h"
#include "daemon/status.h"
#include "daemon/timeline.h"
#include "daemon/watcher.h"
#include "port/child.h"
#include "port/loop.h"
#include "port/paths.h"

/* Events between two turns of the loop. An event that is already waiting is not queued again, so that there
 * are never more than one of each kind for each of two epochs. */
#define QUEUE_MAX (2 * N_FSM_EVENTS)

struct queue {
    struct fsm_event events[QUEUE_MAX];
    size_t n;
};

/* One life of the server, as observed. */
struct epoch {
    uint64_t number;
    struct generation *generation; /* that the server was started with; NULL before the first epoch */
    char **pending;     /* keys that a reload could not bring into force under this server */
    char **words;       /* of the steps of loading: configurations come and go */
    struct processes *processes;
    struct child *child;
    char **environment; /* the server's */
    struct caches caches;
    uint64_t attempt;   /* as it was at the beginning */
    struct instant started;
    struct timeline timeline;
    const char *step;   /* of loading, in the profile's words; borrowed from `words` */
    bool served;        /* has been READY */
    bool recorded;      /* has its line in the history */
    bool alarmed;       /* a decisive line has been told; once is enough */
    bool alarm_open;    /* and the canary that follows it has not */
    /* how it ended; filled in as it becomes known */
    enum ending ending;
    int status;         /* as struct circumstances has it */
    bool core_dumped;
    enum phase failed_in;
    uint64_t oom_kills;
    char *foreign_owner;
    char *waits_for;    /* in preflight: GPU memory, and who holds it; NULL */
    char *gpu_held;     /* what the preflight waited for in vain */
    char *stuck;        /* which process survived SIGKILL */
    struct dump *dump;  /* NULL: nothing hung */
};

struct supervisor {
    const struct generation_source *source;
    struct generation *generation; /* the newest */
    const struct config *config;   /* its parts */
    const struct catalog *catalog;
    struct generation *watched;    /* what the watcher goes by: the newest, or that of the epoch */
    const struct identity *identity;
    const struct paths *paths;
    struct loop *loop;
    struct log *log;

    struct fsm fsm;
    struct fsm_limits limits;
    struct queue queue;
    bool shows;               /* something to be seen has changed that is no event */
    struct signals *signals;
    struct loop_timer *timer; /* for fsm_deadline() */
    const char *reason;       /* of the last change of phase */
    struct instant phase_since;
    usec_t ready_since;       /* realtime; 0 when not ready */
    usec_t paused_until;      /* realtime; 0 when not paused, or until resumed */

    struct reaper *reaper;       /* of all that becomes our child, whoever started it */
    struct cgroup_root *cgroups; /* NULL: a session and a subreaper instead */
    struct output *output;
    struct watcher *watcher;
    struct progress *progress;
    struct prover *prover;
    struct preflight *preflight;
    struct publisher *publisher;
    struct epoch epoch;

    struct policy_memory memory;
    struct last_failure last_failure;
    struct history history; /* of starts like the present one */
    struct counters counters;
    int state_fd;   /* /var/lib/coalmine/NAME; -1 when it cannot be had */
    int reports_fd; /* and reports/ in it */
};

/* Everything is borrowed for the supervisor's life. *ret_errors: lines for people, with -EINVAL, when
 * configuration or catalog are not usable. -EBUSY: another coalmined has this instance.
 * -ETIMEDOUT: processes of an earlier server cannot be killed. */
must_check int supervisor_new(struct loop *l, const struct generation_source *source,
                              const struct identity *identity, const struct paths *paths,
                              struct supervisor **ret, char ***ret_errors);
/* Begins; the loop then runs until the state machine asks to exit. */
void supervisor_start(struct supervisor *s);
/* The exit code once the loop has ended. */
int supervisor_exit_code(const struct supervisor *s);
void supervisor_free(struct supervisor *s);
DEFINE_CLEANUP(struct supervisor *, supervisor_free);

/* Queues an event of the epoch at hand (or a request) for the next turn. */
void supervisor_post(struct supervisor *s, enum fsm_event_kind kind);
/* Queues a request; the newest of its kind counts, and of PAUSE and RESUME the newest of both. pause_usec as
 * in struct fsm_event. */
void supervisor_request(struct supervisor *s, enum fsm_event_kind kind, usec_t pause_usec);
void supervisor_post_decision(struct supervisor *s, const struct fsm_decision *decision);
/* What the server at hand was started with, or the next one will be. */
const struct server_config *supervisor_server(const struct supervisor *s);
/* A snapshot; borrows from the supervisor until the next turn. */
struct status supervisor_status(const struct supervisor *s);
