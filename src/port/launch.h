/* SPDX-License-Identifier: MIT */
#pragma once

/* Starts a program in a new process; child.h watches it. */

#include "port/child.h"

/* As child_spawn() says. *ret_pidfd is the caller's; the caller reaps. */
must_check int launch_program(const struct child_spec *spec, pid_t *ret_pid, int *ret_pidfd);
/* SIGKILL to a process that was launched, and waits for its end. */
void launch_undo(int pidfd);
