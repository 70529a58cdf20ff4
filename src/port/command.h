/* SPDX-License-Identifier: MIT */
#pragma once

/* Short helper commands with a time-out: preflight probes, nvidia-smi, dump hooks. */

#include "port/child.h"

struct command;

struct command_result {
    bool timed_out;   /* killed at its time-out */
    int spawn_error;  /* negative errno when it could not be started, else 0 */
    struct child_exit exit;
    const char *output; /* stdout and stderr as they came, capped; borrowed until the call returns */
    size_t output_len;
    bool truncated;
};

typedef void (*command_fn)(const struct command_result *r, void *userdata);

/* Runs argv in a process group of its own. `fn` is called exactly once from the loop, also when the
 * start fails, unless command_free() comes first. Output beyond max_output is read and dropped. */
must_check int command_run(struct loop *l, char *const *argv, char *const *environment, usec_t timeout,
                           size_t max_output, command_fn fn, void *userdata, struct command **ret);
/* Kills its whole process group if it still runs. */
void command_free(struct command *c);
DEFINE_CLEANUP(struct command *, command_free);
