/* SPDX-License-Identifier: MIT */
#pragma once

/* Where a process's cgroup v2 is, from what the kernel writes in proc(5) files. */

#include "base/macro.h"

/* The path in the v2 hierarchy out of /proc/PID/cgroup, owned by the caller. -ENOENT: in none, or
 * in one that our cgroup namespace does not show. */
must_check int cgroup_find_path(const char *proc_cgroup, char **ret);
/* The directories in which the cgroup `path` may be seen, out of /proc/PID/mountinfo: one for each
 * mount of the v2 hierarchy that shows it; owned by the caller, NULL if none. */
must_check int cgroup_find_directories(const char *mountinfo, const char *path, char ***ret);
