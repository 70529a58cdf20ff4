/* SPDX-License-Identifier: MIT */
#pragma once

/* What the kernel tells of one process (proc(5)). */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

#define PROCINFO_COMM_MAX 16 /* TASK_COMM_LEN */

/* Bytes that it has read and written so far: through system calls and from storage (/proc/PID/io).
 * -ENOENT: gone. -EACCES: not ours to see. */
must_check int procinfo_io(pid_t pid, uint64_t *ret_bytes);
/* The name that the kernel has for it (/proc/PID/comm). */
must_check int procinfo_comm(pid_t pid, char ret[PROCINFO_COMM_MAX]);
