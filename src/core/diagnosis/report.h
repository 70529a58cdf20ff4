/* SPDX-License-Identifier: MIT */
#pragma once

/* The structured record of one failed epoch: facts in, JSON out (docs/report.schema.json), and the few
 * lines of it that `systemctl status` shows. Redaction happens here, and only here. */

#include <jansson.h>

#include "base/macro.h"
#include "base/timeutil.h"
#include "core/diagnosis/evidence.h"
#include "core/diagnosis/snapshot.h"
#include "core/supervision/policy.h"

#define REPORT_SCHEMA_VERSION 1

struct report_phase {
    enum phase phase;
    const char *name; /* a loading step of the profile, or NULL */
    usec_t duration_usec;
};

/* The last sign of work of a start that failed. */
struct report_progress {
    const char *sign;
    usec_t realtime;
    uint64_t cpu_percent;
};

/* The look at a server that hung, or that could not be killed. */
struct report_dump {
    const char *when; /* "before the stop signal"; NULL: nobody could look */
    const struct snapshot *snapshot;
    char *const *command; /* the operator's; NULL: none was run */
    bool ended;           /* the command has, and the rest tells of it */
    int exit_status;      /* 124: its time was up, 127: it could not be started */
    bool truncated;
    const char *output;
};

/* Everything borrowed. NULL strings are left out of the JSON. */
struct report_facts {
    const char *version; /* coalmine's */
    const char *instance;
    const char *unit;
    const char *invocation;
    uint64_t epoch;
    uint64_t attempt;
    struct instant started;
    struct instant ended;
    const struct report_phase *phases;
    size_t n_phases;
    char *const *command;
    char *const *environment;
    const struct circumstances *circumstances;
    const struct root_cause *cause;
    const struct decision *decision;
    const char *gpu_held; /* GPU memory that was not free when it began, and by whom; NULL */
    const struct report_progress *progress; /* NULL: it was READY, or never started */
    const struct report_dump *dump; /* NULL: there was none */
};

/* *ret is a new reference. -ENOMEM only. */
must_check int report_json(const struct report_facts *facts, json_t **ret);
/* What failed, why, what to do: at most four lines of at most 300 bytes, redacted, owned; NULL when
 * memory is out. */
must_check char *report_summary(const struct report_facts *facts);
/* The report's file name, sorting by time: "20260102T030405.000006Z-e3.json". Owned; NULL: memory. */
must_check char *report_name(const struct report_facts *facts);
