/* SPDX-License-Identifier: MIT */
#pragma once

/* Signs of work of a starting server beyond its output: bytes read or written by its processes, processes that come
 * and go, compilers at work; and, where these show nothing, directories and GPU memory that grow. CPU time alone is
 * none: a dead-locked server spins. */

#include "core/supervision/sign.h"
#include "daemon/processes.h"
#include "port/loop.h"

struct progress;
typedef void (*progress_fn)(void *userdata);

/* All borrowed until progress_end(). */
struct progress_target {
    const struct processes *processes;
    char *const *compilers;   /* as the kernel names them */
    char *const *directories; /* that the server builds and downloads into */
    char *const *environment; /* in which the GPUs' tools are found */
};

/* The last sign of work of this start. */
struct progress_view {
    enum sign sign;      /* SIGN_NONE: there was none yet */
    struct instant when; /* of the start while there was none */
    unsigned cpu_percent; /* of one CPU, all processes together, at the last look */
};

/* Looks a few times within each stall_usec; `fn` is called after each look that found work. */
must_check int progress_new(struct loop *l, usec_t stall_usec, progress_fn fn, void *userdata,
                            struct progress **ret);
/* From the next look on. */
void progress_set_stall(struct progress *p, usec_t stall_usec);
void progress_begin(struct progress *p, const struct progress_target *target);
/* Somebody else has seen a sign. */
void progress_note(struct progress *p, enum sign sign);
struct progress_view progress_view(const struct progress *p);
/* The view stays. */
void progress_end(struct progress *p);
void progress_free(struct progress *p);
DEFINE_CLEANUP(struct progress *, progress_free);
