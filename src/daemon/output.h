/* SPDX-License-Identifier: MIT */
#pragma once

/* The server's output on its way to the watcher: through the journal under the instance's own identifier,
 * or, without a journal, through a pipe that is passed on to stderr. */

#include "core/diagnosis/logline.h"
#include "daemon/identity.h"
#include "port/loop.h"

struct output;
typedef void (*output_flushed_fn)(void *userdata);

struct output_events {
    void (*line)(const struct log_line *line, void *userdata);
    void (*cut)(void *userdata); /* what follows was written after output_cut() */
};

/* The journal is used when systemd started us and its journal can be both written and read; *ret_why gets
 * a clause for people when the pipe is used instead (static). */
must_check int output_new(struct loop *l, const struct identity *id, const struct output_events *events,
                          void *userdata, struct output **ret, const char **ret_why);
bool output_is_journal(const struct output *o);
/* A fresh stream for the epoch's processes, or a pipe where journald takes none now; *ret_fd is borrowed until
 * output_started(). */
must_check int output_begin(struct output *o, uint64_t epoch, int *ret_fd);
/* The server has its copy of the descriptor. */
void output_started(struct output *o);
/* Marks this moment in the stream: the server is about to be ended by us, and what it says of that explains
 * nothing. The event comes when the lines before it are all delivered. */
void output_cut(struct output *o);
/* Calls `fn` once every line written until now has been delivered, or after timeout_usec. One at a time; a
 * new call, or output_begin(), drops the one before. */
void output_flush(struct output *o, usec_t timeout_usec, output_flushed_fn fn);
void output_free(struct output *o);
DEFINE_CLEANUP(struct output *, output_free);
