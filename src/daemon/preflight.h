/* SPDX-License-Identifier: MIT */
#pragma once

/* The ground checked before a load of many minutes: is the port free, and do the profile's probes pass? */

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

/* Called after each probe that passed: the ground is being checked, and that takes time. */
typedef void (*preflight_progress_fn)(void *userdata);
typedef void (*preflight_fn)(const struct preflight_result *r, void *userdata);

struct preflight;

/* Runs the probes one after the other, in `environment`; `fn` is called exactly once from the loop, unless
 * preflight_free() comes first. A probe that cannot be started at all is skipped: it proves nothing about
 * the server. */
must_check int preflight_start(struct loop *l, const struct config *config, char *const *environment,
                               preflight_progress_fn progress, preflight_fn fn, void *userdata,
                               struct preflight **ret);
/* Ends the probe under way. Not from within `fn`. */
void preflight_free(struct preflight *p);
DEFINE_CLEANUP(struct preflight *, preflight_free);
