/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the model and runs several canaries, one after the other, whatever each of them comes back with. */

#include "client/client.h"
#include "core/canary/judge.h"

struct suite_run;

struct suite_run_events {
    /* One canary is through; the judgement may be taken over. `let_off`: it was rejected, and is optional. */
    void (*canary)(const struct canary_config *c, struct judgement *j, bool let_off, void *userdata);
    /* All are. Other than GENERATED: the model could not be found, why, and no canary was sent. Borrowed. */
    void (*done)(enum verdict verdict, const char *detail, void *userdata);
};

/* Names, configuration and events are borrowed for the run's life; canaries of these names exist. For so
 * long as `patience_usec` a server that is not there, or not ready, is asked again. `done` is called exactly
 * once from the loop, unless suite_run_cancel() comes first. */
must_check int suite_run_start(struct client *c, char *const *names, usec_t patience_usec,
                               const struct suite_run_events *events, void *userdata, struct suite_run **ret);
/* NULL is fine. Not after `done` was called. */
void suite_run_cancel(struct suite_run *s);
/* The canary under way, or NULL. Borrowed. */
const char *suite_run_current(const struct suite_run *s);
