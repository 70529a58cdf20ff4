/* SPDX-License-Identifier: MIT */
#pragma once

/* What was seen in one epoch that may explain its failure, in bounded memory whatever the log's size,
 * and the judgement over it: the earliest of the best rank in the last failing phase, with the
 * circumstances (exit status, cgroup events, the canary's verdict) where no line says more. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/timeutil.h"
#include "core/canary/verdict.h"
#include "core/diagnosis/matcher.h"
#include "core/diagnosis/normalise.h"
#include "core/supervision/phase.h"

/* How the epoch ended, as observed beside the log. X(constant, name, what `status` is)
 * none             not known: a log read offline
 * stalled          no progress while starting, or LoadTimeoutSec
 * canary           the canary's verdict ended it
 * unkillable       processes survived SIGKILL
 * supervisor-died  found by the next supervisor */
#define ENDINGS(X)                                       \
    X(ENDING_NONE, "none", "")                           \
    X(ENDING_EXIT, "exit", "exit code")                  \
    X(ENDING_SIGNAL, "signal", "signal")                 \
    X(ENDING_SPAWN_FAILED, "spawn-failed", "errno of the failed execve or clone") \
    X(ENDING_STALLED, "stalled", "")                     \
    X(ENDING_CANARY, "canary", "")                       \
    X(ENDING_PREFLIGHT, "preflight", "exit code of the probe") \
    X(ENDING_UNKILLABLE, "unkillable", "")               \
    X(ENDING_SUPERVISOR_DIED, "supervisor-died", "")

#define X(constant, ...) constant,
enum ending { ENDINGS(X) N_ENDINGS };
#undef X

const char *ending_name(enum ending e);

/* Zero-initialise. */
struct circumstances {
    enum ending ending;
    int status;
    bool core_dumped;
    enum phase phase;        /* in which it failed */
    bool serving;            /* had been READY */
    uint64_t oom_kills;      /* memory.events of the server's cgroup */
    const char *canary;      /* the last one's name; NULL: none was sent, or the list of models was asked for */
    const char *canary_proves; /* what its pass would have proved; NULL */
    enum verdict verdict;    /* of the last canary */
    const char *verdict_detail; /* borrowed; NULL */
    const char *subject;        /* what could not be started: the program, or its directory; NULL */
    const char *stuck;          /* which process survived SIGKILL, and where it waits; NULL */
    const char *foreign_owner;  /* "pid 4242 (nginx)" when another process owns the port; NULL */
};

struct evidence;

/* The catalog must outlive it. */
must_check int evidence_new(const struct catalog *catalog, struct evidence **ret);
void evidence_free(struct evidence *e);
DEFINE_CLEANUP(struct evidence *, evidence_free);

/* Forgets everything: a new epoch. */
void evidence_reset(struct evidence *e);
/* The same catalog, read anew: what was seen goes by the signatures of the same ids from now on; what has none
 * any more explains nothing. The catalog before is let go of. -ENOMEM leaves everything as it was. */
must_check int evidence_rebase(struct evidence *e, const struct catalog *catalog);
/* A record has arrived; keep it for the neighbourhood of later candidates. -ENOMEM only. */
must_check int evidence_line(struct evidence *e, const struct record *r, enum log_source source);
/* The record handed over last has matched. -ENOMEM only. */
must_check int evidence_match(struct evidence *e, const struct match *m);
/* A process of the server, alive or dead: lines that name a PID count only for these, once there are any. */
void evidence_own(struct evidence *e, pid_t pid);
/* The next phase has begun: what was seen before was probably survived. */
void evidence_next_phase(struct evidence *e);
/* A canary has passed: what was seen before was survived. */
void evidence_survived(struct evidence *e);
/* The log says that the server is well, which is less than a canary says: what was seen before counts only
 * if echoes of it follow soon. */
void evidence_healthy(struct evidence *e);
/* We are ending the server ourselves: what is said from now on explains nothing. */
void evidence_close(struct evidence *e);

/* The judgement. All strings owned. */
struct root_cause {
    char *class_name;   /* never NULL: "unknown" when nothing fits */
    char *signature;    /* NULL when the circumstances alone decided */
    struct capture *captures; /* names are owned here */
    size_t n_captures;
    char *line;         /* the root line as it was printed, NULL when there is none */
    uint64_t line_number; /* in the epoch, from 1; 0 when there is none */
    char **before;      /* up to 3 neighbours each; without a root line the last lines of all */
    char **after;
    char *summary;      /* one line for people: class, text and captures, or the circumstances */
    char *hint;         /* captures filled in; NULL when there is nothing to advise */
    char *fingerprint;  /* equal for equal causes, see fingerprint.h; redacted */
    struct class_policy policy;
    enum cleanup cleanup; /* what an after-cleanup restart needs first */
    bool fatal;         /* a cause, or an echo of one, was found; not merely something benign or nothing */
};

void root_cause_release(struct root_cause *r);

/* -ENOMEM only. May be asked at any time; does not change the evidence. */
must_check int evidence_root_cause(const struct evidence *e, const struct circumstances *c,
                                   struct root_cause *ret);

/* Why a candidate is not the root cause. X(constant, text) */
#define OUTCOMES(X)                                                          \
    X(OUTCOME_ROOT_CAUSE, "the root cause")                                  \
    X(OUTCOME_LATER, "came later than the root cause")                       \
    X(OUTCOME_LESSER, "explains less than the root cause")                   \
    X(OUTCOME_SURVIVED, "the server went on to a later phase")               \
    X(OUTCOME_MISSING, "nothing that it needs beside it was seen")           \
    X(OUTCOME_EXCLUDED, "something beside it says that it is harmless")      \
    X(OUTCOME_FOREIGN, "concerns a process that is not the server's")        \
    X(OUTCOME_BENIGN, "looks bad and is not")

#define X(constant, text) constant,
enum outcome { OUTCOMES(X) N_OUTCOMES };
#undef X

const char *outcome_text(enum outcome o);

/* One candidate, borrowed from the evidence. */
struct finding {
    const struct signature *signature;
    enum outcome outcome;
    uint64_t line_number;
    const char *line;
    uint64_t seen; /* how often, all ranks together */
};

typedef int (*finding_fn)(const struct finding *f, void *userdata);

/* Calls fn for every candidate in the order of their lines until it returns non-zero, and returns that. */
must_check int evidence_findings(const struct evidence *e, const struct circumstances *c, finding_fn fn,
                                 void *userdata);
