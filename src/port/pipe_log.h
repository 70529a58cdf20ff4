/* SPDX-License-Identifier: MIT */
#pragma once

/* Without a journal: the server's output through a pipe, passed on line by line to our own stderr and
 * to the watcher. Never blocks the loop: when stderr does not take more, lines are dropped from the
 * passing on (see port/outlet.h), not from the watching. SIGPIPE must be ignored. */

#include "core/diagnosis/logline.h"
#include "port/loop.h"

struct pipe_log;
typedef void (*pipe_log_fn)(const struct log_line *line, void *userdata);
typedef void (*pipe_log_end_fn)(void *userdata);

/* `fn` gets each line, without its newline; one that is longer than 64 KiB comes in pieces of that size.
 * `end` (may be NULL) is called once when every writer has closed and all is delivered. `end` may call
 * pipe_log_free(), `fn` must not. */
must_check int pipe_log_open(struct loop *l, pipe_log_fn fn, pipe_log_end_fn end, void *userdata,
                             struct pipe_log **ret);
/* The writing end for the child; close it here once the child has it. */
int pipe_log_write_fd(const struct pipe_log *p);
void pipe_log_close_write(struct pipe_log *p);
/* Delivers what is in the pipe now, an unfinished last line included; for a pipe that some process keeps
 * open. */
void pipe_log_drain(struct pipe_log *p);
void pipe_log_free(struct pipe_log *p);
DEFINE_CLEANUP(struct pipe_log *, pipe_log_free);
