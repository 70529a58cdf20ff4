/* SPDX-License-Identifier: MIT */
#pragma once

/* The descendants of a process, for where there is no cgroup to ask. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macro.h"

/* Whether a child of the root is left out, with all that descends from it. */
typedef bool (*proctree_spare_fn)(pid_t pid, const void *userdata);

/* All that descend from `root` (itself excluded) at this moment, zombies excluded, at most `max`; *ret owned by the
 * caller. `spare` may be NULL. Reads /proc once (proc(5), /proc/PID/stat). */
must_check int proctree_descendants(pid_t root, proctree_spare_fn spare, const void *userdata, size_t max,
                                    pid_t **ret, size_t *ret_n);
