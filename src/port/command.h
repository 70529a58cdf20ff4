/* SPDX-License-Identifier: MIT */
#pragma once

/* Short helper commands with a time-out: preflight probes, nvidia-smi, dump hooks. */

#include "port/child.h"

struct command;

struct command_result {
    bool timed_out;         /* it was ended at its time-out */
    int spawn_error;        /* negative errno when it could not be started, else 0 */
    struct child_exit exit; /* both 0 also when not even SIGKILL has ended it */
    const char *output;     /* stdout and stderr as they came, capped; borrowed until fn returns */
    size_t output_len;
    bool truncated;
};

typedef void (*command_fn)(const struct command_result *r, void *userdata);

/* How long a command has after SIGTERM, and how long it is waited for after SIGKILL. */
#define COMMAND_GRACE_USEC (2 * USEC_PER_SEC)

/* Runs argv in a process group of its own. `fn` is called exactly once from the loop, also when the
 * start fails, unless command_free() comes first, and at the latest 2 COMMAND_GRACE_USEC after the
 * time-out (USEC_INFINITY: none): its process group then gets SIGTERM and, if it does not end,
 * SIGKILL. What is left of the group when the command has ended is killed; whoever left it and
 * holds the output open is not waited for. Output beyond max_output is read and dropped. */
must_check int command_run(struct loop *l, char *const *argv, char *const *environment,
                           usec_t timeout, size_t max_output, command_fn fn, void *userdata,
                           struct command **ret);
/* As a shell and timeout(1) would have it: the exit code, 128 + the signal, 124 after its time-out,
 * 127 when it could not be started. */
int command_exit_status(const struct command_result *r);
/* Kills its whole process group if it still runs, without waiting; it is reaped while the loop
 * runs. */
void command_free(struct command *c);
DEFINE_CLEANUP(struct command *, command_free);
