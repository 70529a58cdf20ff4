/* SPDX-License-Identifier: MIT */
#pragma once

/* What to do about a failure, and why: from its class, from what was tried before and from the budget.
 * Pure; the memory of past failures is a plain struct. */

#include "base/cleanup.h"
#include "core/config/config.h"
#include "core/supervision/fsm.h"

/* X(constant, name): how a class may be retried.
 * never          an unchanged restart cannot mend it
 * backoff        restart after the exponential pause
 * slow           likewise, from a minute upwards: something outside has to come up first
 * after-cleanup  restart once, after the class's own cleanup */
#define RETRIES(X)                       \
    X(RETRY_NEVER, "never")              \
    X(RETRY_BACKOFF, "backoff")          \
    X(RETRY_SLOW, "slow")                \
    X(RETRY_AFTER_CLEANUP, "after-cleanup")

#define X(constant, name) constant,
enum retry { RETRIES(X) N_RETRIES };
#undef X

const char *retry_name(enum retry r);
/* -EINVAL for a word that is none. */
must_check int retry_parse(const char *s, enum retry *ret);

/* A class as the policy sees it. */
struct class_policy {
    enum retry retry;         /* failed before READY */
    enum retry retry_serving; /* failed after READY */
    uint64_t repeat;          /* equal fingerprints in a row that still get a restart before READY; 0: the
                               * first repetition is deterministic. UINT64_MAX: only the budget ends it */
    uint64_t repeat_serving;
};

/* What an instance's own [Class NAME] changes of it; NULL: nothing. */
void class_policy_change(struct class_policy *p, const struct class_config *change);

struct policy_failure {
    const char *class_name; /* never NULL */
    const char *class_text; /* what that is, a clause for people; may be NULL */
    struct class_policy policy;
    const char *fingerprint; /* never NULL */
    bool serving;            /* the epoch had been READY */
};

/* Up to this many restarts are remembered; Budget= cannot be larger. */
#define POLICY_MAX_BUDGET 1000

/* Past failures of this instance. Zero-initialise; policy_memory_release() frees. */
struct policy_memory {
    char *last_fingerprint;
    uint64_t equal;    /* times in a row the last fingerprint has come, 0 for none */
    uint64_t failures; /* in a row, without a stable time between; drives the backoff */
    usec_t *restarts;  /* monotonic times of restarts within BudgetSec, oldest first */
    size_t n_restarts;
};

struct decision {
    struct fsm_decision what; /* exit_code is EXIT_RESTART where it restarts */
    char *reason; /* a sentence for people, without a full stop; owned */
};

void policy_memory_release(struct policy_memory *m);
/* After a stable time: backoff and fingerprint start anew; the budget's window goes on. */
void policy_settled(struct policy_memory *m);
void decision_release(struct decision *d);

/* Decides about a failure at `now` (monotonic) and remembers it, a granted restart included. What asks
 * for no restart, or comes too often in a row, ends it with EXIT_UNMENDABLE; a used-up budget with
 * EXIT_BUDGET. `random` places the jitter. -ENOMEM only, which leaves the memory as it was. */
must_check int policy_decide(struct policy_memory *m, const struct restart_config *limits,
                             const struct policy_failure *failure, usec_t now, uint64_t random,
                             struct decision *ret);
