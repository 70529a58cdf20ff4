/* SPDX-License-Identifier: MIT */
#pragma once

/* The ground checked before a load of many minutes: is the GPUs' memory free again, is the port free, and do the
 * profile's probes pass? */

#include "core/config/config.h"
#include "port/loop.h"

/* What was found. All borrowed until the call returns. */
struct preflight_result {
    bool passed;
    const char *probe;         /* the failing one's name, NULL for the port */
    int exit_status;           /* the failing probe's; 128 + signal when killed, 124 after its time-out */
    const char *output;        /* what it printed; NULL for the port */
    size_t output_len;
    const char *foreign_owner; /* "PID 4242 (nginx)" who has the port, else NULL */
};

struct preflight_events {
    /* The ground is being checked, and that takes time: after each probe that passed, at each look at the GPUs. */
    void (*progress)(void *userdata);
    /* GPU memory is waited for; what is in the way. Borrowed until the call returns. */
    void (*waiting)(const char *held, void *userdata);
    /* That was long enough; what is still in the way. */
    void (*held)(const char *held, void *userdata);
    /* Exactly once. */
    void (*done)(const struct preflight_result *r, void *userdata);
};

struct preflight;

must_check int preflight_new(struct loop *l, const struct preflight_events *events, void *userdata,
                             struct preflight **ret);
/* Waits for the GPUs (Restart.GPUWaitSec=), then, with Start.Preflight=yes, runs the probes one after the other, in
 * `environment`; `done` is called from the loop, unless preflight_cancel() comes first. A probe that cannot be started
 * at all is skipped: it proves nothing about the server. Both are borrowed until then. */
void preflight_begin(struct preflight *p, const struct config *config, char *const *environment);
/* Ends what is under way, if anything. Not from within an event. */
void preflight_cancel(struct preflight *p);
void preflight_free(struct preflight *p);
DEFINE_CLEANUP(struct preflight *, preflight_free);
