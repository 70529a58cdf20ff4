/* SPDX-License-Identifier: MIT */
#pragma once

/* What the processes of a server were doing at one moment, as the kernel tells it: for the report of a hang,
 * and for that of processes that survived SIGKILL. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/diagnosis/build.h"

/* Threads of one process that wait at the same place in the kernel. */
struct snapshot_wait {
    char state;    /* as in proc(5): R, S, D, T, t, Z */
    char *channel; /* "" when it runs, or when nothing is told */
    uint64_t threads;
};

struct snapshot_process {
    pid_t pid;
    pid_t parent;
    char state;  /* of its main thread */
    char *name;  /* as the kernel has it */
    struct snapshot_wait *waits;
    size_t n_waits;
    char **stack; /* in the kernel, the innermost first: of a thread that cannot be interrupted where there is
                   * one, else of the main thread; NULL where it may not be read */
};

/* Zero-initialise. */
struct snapshot {
    struct snapshot_process *processes;
    size_t n;
    size_t left_out; /* further processes */
    char **sockets;  /* "tcp 127.0.0.1:8000 listen, PID 12" */
};

void snapshot_release(struct snapshot *s);
/* Counts a thread; one at a place that is new beyond `max` places is not counted. -ENOMEM only. */
must_check int snapshot_add_wait(struct snapshot_process *p, char state, const char *channel, size_t max);
/* "PID 12 (python3) is in uninterruptible sleep in nv_wait" of the first process that cannot be interrupted,
 * or, without such a one, "PID 12 (python3) is left"; "" where there is no process. Owned; NULL: memory. */
must_check char *snapshot_describe_stuck(const struct snapshot *s);
/* "running", "uninterruptible sleep"... for a state's letter. */
const char *snapshot_state_text(char state);
/* Fills the object of a report. */
void snapshot_build(const struct snapshot *s, struct build *b, json_t *object);
