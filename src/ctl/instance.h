/* SPDX-License-Identifier: MIT */
#pragma once

/* An instance as seen from outside: the status file that coalmined keeps, and whether coalmined lives. */

#include <jansson.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* A user's instance goes before the system's of the same name. */
struct instance {
    char *name;
    char *runtime_dir; /* where its status file is; NULL when there is no trace of it */
    char *state_dir;   /* where its reports are */
    bool running;    /* a coalmined holds the instance's lock */
    json_t *status;  /* its last status.json; NULL when there is none */
};

/* The instance that a word names, as itself or as in a unit's name (%i; port/unit_name.h); *ret is owned.
 * -EINVAL: no such name can be. */
must_check int instance_name(const char *word, char **ret);
/* Reads what instance_name() has found. -EINVAL likewise. A name without any trace is no error: not running, no status. */
must_check int instance_read(const char *word, struct instance *ret);
void instance_release(struct instance *i);
/* Names of all instances that have left a trace in the run-time directory, sorted; owned. */
must_check int instance_names(char ***ret);
/* A string of the status, "" where there is none. Borrowed. */
const char *instance_get(const struct instance *i, const char *key);
/* As above, of an object in the status ("proof", "last_failure"). */
const char *instance_get_in(const struct instance *i, const char *object, const char *key);
/* The state that counts: what status.json says, or "dead" when coalmined has gone without saying how, or
 * "unknown" when there never was one, or "unreadable" when there is a coalmined, but no usable file of it (yet). */
const char *instance_state(const struct instance *i);
