/* SPDX-License-Identifier: MIT */
#pragma once

/* coalmined's own words: structured records in the journal, or lines on stderr where there is none.
 * MESSAGE_IDs are explained by units/coalmine.catalog. */

#include <stdbool.h>
#include <stddef.h>
#include <syslog.h>

#include "base/macro.h"

/* X(constant, MESSAGE_ID, what it marks) */
#define LOG_EVENTS(X)                                                              \
    X(LOG_PLAIN, NULL, "anything without an id of its own")                        \
    X(LOG_TRANSITION, "5c0a1f4be8d94f2b9c2a7f5c61d0e3a1", "the phase has changed") \
    X(LOG_READY, "e2b7c1d05fa64b0e8d3f9a6b7c4e1f02", "READY: the suite has passed") \
    X(LOG_FAILURE, "9d6e4a7cb1f843c5a0e2d8b35f7a9c13", "an epoch has failed; the whole report") \
    X(LOG_PAUSE, "74fddd38a18e4e7eb658ed96c21910b7", "a pause begins, changes or ends") \
    X(LOG_RELOAD, "73271cd1786a471b907a06f745efd884", "the configuration was read anew")

#define X(constant, ...) constant,
enum log_event { LOG_EVENTS(X) N_LOG_EVENTS };
#undef X

struct log_field {
    const char *name; /* "COALMINE_CLASS" */
    const char *value; /* NULL: left out */
};

struct log;

/* `instance` is borrowed and goes into every record. `journal` false: to stderr. */
must_check int log_new(const char *instance, bool journal, struct log **ret);
void log_free(struct log *l);
/* Priority as in syslog(3). Never fails; a record that journald does not take goes to stderr. */
void log_say(struct log *l, int priority, const char *fmt, ...) printf_like(3, 4);
void log_record(struct log *l, int priority, enum log_event event, const struct log_field *fields,
                size_t n_fields, const char *message);
