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
#include "core/diagnosis/matcher.h"
#include "core/diagnosis/normalise.h"
#include "core/supervision/canary.h"
#include "core/supervision/phase.h"

/* How the epoch ended, as observed beside the log. Zero-initialise. */
enum ending {
    ENDING_NONE,           /* not known: a log read offline */
    ENDING_EXIT,           /* status = exit code */
    ENDING_SIGNAL,         /* status = signal */
    ENDING_SPAWN_FAILED,   /* status = errno of the failed execve or clone */
    ENDING_STALLED,        /* no progress while starting, or LoadTimeoutSec */
    ENDING_CANARY,         /* the canary's verdict ended it */
    ENDING_PREFLIGHT,      /* a probe failed; status = its exit code */
    ENDING_UNKILLABLE,     /* processes survived SIGKILL */
    ENDING_SUPERVISOR_DIED /* found by the next supervisor */
};

struct circumstances {
    enum ending ending;
    int status;
    bool core_dumped;
    enum phase phase;        /* in which it failed */
    bool serving;            /* had been READY */
    uint64_t oom_kills;      /* memory.events of the server's cgroup */
    enum verdict verdict;    /* of the last canary */
    const char *verdict_detail; /* borrowed; NULL */
    const char *foreign_owner;  /* "pid 4242 (nginx)" when another process owns the port; NULL */
};

struct evidence;

must_check int evidence_new(const struct catalog *catalog, struct evidence **ret);
void evidence_free(struct evidence *e);
DEFINE_CLEANUP(struct evidence *, evidence_free);

/* Forgets everything: a new epoch. */
void evidence_reset(struct evidence *e);
/* A record has arrived; keep it for the neighbourhood of later candidates. -ENOMEM only. */
must_check int evidence_line(struct evidence *e, const struct record *r, enum log_source source);
/* The record handed over last has matched. -ENOMEM only. */
must_check int evidence_match(struct evidence *e, const struct match *m);
/* A canary has passed, or a later phase has begun: what was seen before was survived. */
void evidence_survived(struct evidence *e);
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
    char **before;      /* up to 3 neighbours each */
    char **after;
    char *summary;      /* one line for people: class text and captures, or the circumstances */
    char *hint;         /* captures filled in; NULL when there is nothing to advise */
    char *fingerprint;  /* equal for equal causes, see fingerprint rules in evidence.c */
    struct class_policy policy;
};

void root_cause_release(struct root_cause *r);

/* -ENOMEM only. May be asked at any time; does not change the evidence. */
must_check int evidence_root_cause(const struct evidence *e, const struct circumstances *c,
                                   struct root_cause *ret);
