/* SPDX-License-Identifier: MIT */
#pragma once

/* The record of ended epochs, a line of JSON each, and what it tells of starts like the present one. */

#include <jansson.h>
#include <stdbool.h>

#include "core/diagnosis/report.h"

/* X(constant, name): how an epoch ended. */
#define EPOCH_OUTCOMES(X)                        \
    X(EPOCH_STOPPED, "stopped")                   \
    X(EPOCH_RESTARTED, "restarted")               \
    X(EPOCH_FAILED, "failed")                     \
    X(EPOCH_SUPERVISOR_DIED, "supervisor-died")

#define X(constant, ...) constant,
enum epoch_outcome { EPOCH_OUTCOMES(X) N_EPOCH_OUTCOMES };
#undef X

const char *epoch_outcome_name(enum epoch_outcome o);

/* Starts of the same command and model have the same key; a hash, since a command line may hold secrets. */
#define HISTORY_KEY_MAX 17
char *history_key(char buf[HISTORY_KEY_MAX], char *const *command, const char *model);

/* What an epoch was. All borrowed. */
struct history_epoch {
    const char *key;
    uint64_t epoch;
    uint64_t attempt;
    usec_t started; /* realtime */
    bool served;    /* it had been READY */
    const struct report_phase *phases;
    size_t n_phases;
};

/* What is known of it while it lives; a new reference, NULL: memory. */
must_check json_t *history_json(const struct history_epoch *e);
/* That, and how it ended, as a line without a newline; `known` is borrowed, class_name may be NULL. Owned; NULL: memory. */
must_check char *history_line(const json_t *known, enum epoch_outcome outcome, usec_t ended, const char *class_name);

/* So many starts that became READY are looked back at. */
#define HISTORY_STARTS 5
#define HISTORY_STEPS 64

struct history_step {
    enum phase phase;
    char *name; /* a step of loading; NULL: none */
    usec_t duration_usec;
};

/* The way to READY, in the order of its steps. */
struct history_start {
    struct history_step *steps;
    size_t n;
};

/* Zero-initialise; the newest is the last. */
struct history {
    struct history_start starts[HISTORY_STARTS];
    size_t n;
};

/* The last starts with that key that became READY. What is no such line, or a torn one, is passed over. -ENOMEM only. */
must_check int history_read(const char *text, size_t len, const char *key, struct history *ret);
void history_release(struct history *h);
