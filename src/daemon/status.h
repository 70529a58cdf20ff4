/* SPDX-License-Identifier: MIT */
#pragma once

/* What the outside sees of an instance: one snapshot, from which STATUS=, status.json, the bus and
 * /status all speak. */

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/timeutil.h"
#include "core/supervision/eta.h"
#include "core/supervision/fsm.h"
#include "daemon/counters.h"
#include "daemon/progress.h"
#include "daemon/prover.h"

/* The last failure of this supervisor's life. Strings owned by the supervisor; class_name NULL: none yet. */
struct last_failure {
    char *class_name;
    char *signature;
    char *summary;  /* one line, redacted */
    char *hint;
    char *decision; /* the decision's reason */
    char *report;   /* path of the report; NULL when it could not be written */
    usec_t realtime;
    uint64_t epoch;
};

/* All borrowed. Realtimes are 0 when there is none. */
struct status {
    const char *instance;
    const char *unit;
    const char *invocation;
    const char *profile;
    const char *url;
    enum unit_state state;
    enum phase phase;
    const char *reason; /* why the phase is what it is */
    const char *step;   /* of loading, as its profile words it; NULL */
    uint64_t epoch;
    uint64_t attempt;
    pid_t server_pid; /* 0 when none runs */
    int exit_code;    /* in final phases */
    struct instant now;
    usec_t phase_since;    /* realtime */
    usec_t phase_elapsed;
    usec_t started;        /* realtime, of the epoch */
    usec_t start_elapsed;  /* since then */
    struct progress_view progress; /* of a starting server */
    struct eta eta;                /* likewise */
    usec_t ready_since;    /* realtime; 0 unless ready or degraded */
    usec_t next_start;     /* realtime; 0 unless cooling, and while paused */
    usec_t next_start_in;
    char *const *pending;  /* keys that wait for another start of the server */
    bool paused;
    usec_t paused_until;   /* realtime; 0: until resumed */
    usec_t pause_left;     /* USEC_INFINITY: until resumed */
    const char *canary;    /* under way; NULL */
    struct proof proof;
    uint64_t restarts;     /* within the budget's window */
    uint64_t budget;
    const struct last_failure *failure;
    const struct counters *counters;
};

/* Whether the last proof stands. */
bool status_ready(const struct status *s);
/* Holds no elapsed times, only moments: it changes when something happens, not as time goes by.
 * *ret is a new reference. -ENOMEM only. */
must_check int status_json(const struct status *s, json_t **ret);
/* One line for people, for STATUS=. Owned; NULL: memory. */
must_check char *status_line(const struct status *s);
void last_failure_release(struct last_failure *f);
