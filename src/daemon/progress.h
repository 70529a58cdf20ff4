/* SPDX-License-Identifier: MIT */
#pragma once

/* Signs of work of a starting server beyond its output: bytes read or written by its processes, processes
 * that come and go, compilers. CPU time alone is none: a dead-locked server spins. */

#include "daemon/processes.h"
#include "port/loop.h"

struct progress;
typedef void (*progress_fn)(void *userdata);

/* Looks a few times within each stall_usec; `fn` is called after each look that found work. */
must_check int progress_new(struct loop *l, usec_t stall_usec, progress_fn fn, void *userdata,
                            struct progress **ret);
/* Another stall_usec, from the next look on. */
void progress_set_stall(struct progress *p, usec_t stall_usec);
/* `processes` are borrowed until progress_end(). */
void progress_begin(struct progress *p, const struct processes *processes);
void progress_end(struct progress *p);
void progress_free(struct progress *p);
DEFINE_CLEANUP(struct progress *, progress_free);
