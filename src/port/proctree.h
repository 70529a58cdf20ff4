/* SPDX-License-Identifier: MIT */
#pragma once

/* The descendants of a process, for where there is no cgroup to ask. */

#include <stddef.h>
#include <sys/types.h>

#include "base/macro.h"

/* All that descend from `root` (itself excluded) at this moment, zombies excluded, at most `max`;
 * *ret owned by the caller. Reads /proc once (proc(5), /proc/PID/stat). */
must_check int proctree_descendants(pid_t root, size_t max, pid_t **ret, size_t *ret_n);
