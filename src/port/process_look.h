/* SPDX-License-Identifier: MIT */
#pragma once

/* Looks at living processes through /proc. Reads nothing for which the kernel would need a process's own memory map
 * (such as its command line): a process that hangs may hold its lock. */

#include "core/diagnosis/snapshot.h"

/* *ret: released by the caller. Bounded, whatever there is: some dozens of processes, some hundreds of threads
 * of each. What has gone meanwhile or may not be read is left out. -ENOMEM only. */
must_check int process_look(const pid_t *pids, size_t n, struct snapshot *ret);
