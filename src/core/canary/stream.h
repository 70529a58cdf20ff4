/* SPDX-License-Identifier: MIT */
#pragma once

/* A streamed answer's bytes, cut anywhere, put together to events: server-sent events, or JSON texts that
 * are a line each. Memory is bounded by the longest event that is allowed. */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* X(constant, name) */
#define STREAM_FORMATS(X)     \
    X(STREAM_SSE, "events")   \
    X(STREAM_NDJSON, "lines")

#define X(constant, ...) constant,
enum stream_format { STREAM_FORMATS(X) };
#undef X

struct stream;

/* One event's data, without its last newline, never empty; borrowed, any byte may be in it. What it returns
 * other than 0 ends the feeding. */
typedef int (*stream_fn)(const char *data, size_t n, void *userdata);

must_check int stream_new(enum stream_format format, size_t max_event, stream_fn fn, void *userdata,
                          struct stream **ret);
void stream_free(struct stream *s);
DEFINE_CLEANUP(struct stream *, stream_free);
/* -EMSGSIZE: an event or a line is longer than max_event. -ENOMEM. Otherwise what fn returned, after
 * which the rest of the bytes is dropped. */
must_check int stream_feed(struct stream *s, const char *bytes, size_t n);
/* No more bytes: an event that was not closed counts. Returns as stream_feed() does. */
must_check int stream_end(struct stream *s);
