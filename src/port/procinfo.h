/* SPDX-License-Identifier: MIT */
#pragma once

/* What the kernel tells of one process (proc(5)). */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"
#include "base/timeutil.h"

#define PROCINFO_COMM_MAX 16 /* TASK_COMM_LEN */

/* The numbers among the names in a directory such as /proc, /proc/7/task, /proc/7/fd; at most `max`, *ret owned
 * by the caller. */
must_check int procinfo_numbers(const char *directory, size_t max, int **ret, size_t *ret_n);
/* Reads /proc/PID/ENTRY, cut to size - 1 bytes, NUL-terminated. -ENOENT: gone. -EACCES: not ours to see. */
must_check int procinfo_read(pid_t pid, const char *entry, char *buf, size_t size);

struct procinfo_stat {
    char state; /* R, S, D, Z... as proc(5) has them */
    pid_t parent;
    usec_t cpu_usec; /* user and system time so far, to a clock tick */
};

/* Of a process as a whole (its state is that of the main thread), and of one of its threads. */
must_check int procinfo_stat(pid_t pid, struct procinfo_stat *ret);
must_check int procinfo_stat_of_thread(pid_t pid, pid_t tid, struct procinfo_stat *ret);
/* Bytes that it has read and written so far: through system calls and from storage (/proc/PID/io).
 * -ENOENT: gone. -EACCES: not ours to see. */
must_check int procinfo_io(pid_t pid, uint64_t *ret_bytes);
/* The name that the kernel has for it (/proc/PID/comm). */
must_check int procinfo_comm(pid_t pid, char ret[PROCINFO_COMM_MAX]);
