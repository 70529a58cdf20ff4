/* SPDX-License-Identifier: MIT */
#pragma once

/* What an engine's metrics, or llama-server's slots, tell of the requests of others: whether any are under
 * way, and whether they get on. */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "core/config/config.h"

/* One look. */
struct activity {
    bool known;    /* it was found in what the server sent */
    uint64_t mark; /* changes when tokens or requests complete */
    double running; /* requests under way */
};

/* X(constant, name, what it means to people) */
#define MOTIONS(X)                                                              \
    X(MOTION_UNKNOWN, "unknown", "the server does not tell")                    \
    X(MOTION_IDLE, "idle", "no request is under way")                           \
    X(MOTION_WORKING, "working", "requests complete")                           \
    X(MOTION_STUCK, "stuck", "requests are under way, and nothing moves")

#define X(constant, ...) constant,
enum motion { MOTIONS(X) N_MOTIONS };
#undef X

const char *motion_text(enum motion m);
/* What happened from one look to the next. */
enum motion activity_compare(const struct activity *before, const struct activity *now);

/* Reads a page as it comes: metrics in Prometheus's text format, or a JSON array of slots. */
struct activity_reader;

/* -ENOMEM only. */
must_check int activity_reader_new(const struct live_config *live, struct activity_reader **ret);
void activity_reader_free(struct activity_reader *r);
DEFINE_CLEANUP(struct activity_reader *, activity_reader_free);
/* -EMSGSIZE: more than any honest page. -ENOMEM. */
must_check int activity_reader_feed(struct activity_reader *r, const char *data, size_t n);
/* -ENOMEM only. */
must_check int activity_reader_end(struct activity_reader *r, struct activity *ret);
