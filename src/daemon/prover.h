/* SPDX-License-Identifier: MIT */
#pragma once

/* When to look at the port and when to send a canary; what comes back goes to the state machine as its
 * events. One canary at a time; a request that is no longer wanted is closed, never left behind. */

#include "core/canary/verdict.h"
#include "core/config/config.h"
#include "core/supervision/fsm.h"
#include "daemon/processes.h"
#include "port/loop.h"

struct prover;

/* The last canary that was answered or given up. Strings borrowed until the next one ends. */
struct proof {
    const char *canary; /* its name; NULL before the first, and of a list of models */
    const char *proves; /* what its pass proves, for people; NULL */
    enum verdict verdict;
    bool let_off;       /* it was rejected, and is optional */
    const char *detail; /* redacted */
    uint64_t tokens;
    usec_t total_usec;
    usec_t first_token_usec; /* 0: not streamed, or none came */
    double tokens_per_sec;   /* 0: not known */
    usec_t ended_realtime;
};

struct prover_events {
    void (*event)(enum fsm_event_kind kind, void *userdata);
    void (*proof)(const struct proof *proof, void *userdata); /* each canary's, borrowed until it returns */
};

/* `events` are borrowed for the prover's life. */
must_check int prover_new(struct loop *l, const struct config *config, const struct prover_events *events,
                          void *userdata, struct prover **ret);
/* Another configuration of the same instance, borrowed like the first, which is let go of. What it does not
 * change goes on, even a canary under way; a suite or a live canary that it changes is begun anew, at once.
 * The server's address stays that of prover_begin(). */
void prover_reconfigure(struct prover *p, const struct config *config);
/* A new epoch: nothing is proved, nothing known of the server. Its address is borrowed from the configuration
 * at hand until the next epoch. */
void prover_begin(struct prover *p);
/* Watches for the port of the epoch, then runs the whole suite. `processes` are those of the epoch, borrowed
 * until prover_quiet(): a listener that is none of them is a stranger's. */
void prover_prove(struct prover *p, const struct processes *processes);
/* Live canaries, the first after the interval. One that is late while others are served (VERDICT_BUSY) is no
 * event of the state machine, only a proof. */
void prover_live(struct prover *p);
/* A live canary at once; the one under way counts as it. */
void prover_now(struct prover *p);
/* Nothing any more: a request under way is closed, a caller of prover_ask() is told VERDICT_NONE. */
void prover_quiet(struct prover *p);
/* Runs a live canary at once on somebody's behalf and tells its proof. -EBUSY: one is asked for already;
 * -EAGAIN: not live. */
typedef void (*prover_answer_fn)(const struct proof *proof, void *userdata);
must_check int prover_ask(struct prover *p, prover_answer_fn fn, void *userdata);

struct proof prover_last(const struct prover *p);
/* The canary under way, or NULL. */
const char *prover_current(const struct prover *p);
/* "PID 4242 (nginx)" when the last verdict is foreign-listener, else NULL. */
const char *prover_foreign_owner(const struct prover *p);
void prover_free(struct prover *p);
DEFINE_CLEANUP(struct prover *, prover_free);
