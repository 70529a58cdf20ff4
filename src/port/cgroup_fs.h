/* SPDX-License-Identifier: MIT */
#pragma once

/* The files of one cgroup v2 directory, which is given by a descriptor. All walks go at most
 * CGROUP_FS_DEPTH levels down; so deep a path always fits PATH_MAX. */

#include <stdbool.h>
#include <stdint.h>

#include "base/timeutil.h"
#include "port/pid_set.h"

#define CGROUP_FS_DEPTH 15

/* The directory, a real one below dir_fd; returns its descriptor or negative errno. */
must_check int cgroup_fs_open(int dir_fd, const char *name);
/* The names of the groups in it, owned by the caller; NULL if none. */
must_check int cgroup_fs_children(int dir_fd, char ***ret);
int cgroup_fs_write(int dir_fd, const char *file, const char *text);
/* The number after `key` in a flat keyed file ("populated 1"). -ENOENT: no such file or key. */
must_check int cgroup_fs_number(int dir_fd, const char *file, const char *key, uint64_t *ret);
/* True if a living process is in it or below; false also when the group is gone. */
bool cgroup_fs_populated(int dir_fd);
/* Adds the processes in it and below to the set, until that has `max`. */
must_check int cgroup_fs_pids(int dir_fd, size_t max, struct pid_set *set);
/* As cgroup_signal() and cgroup_kill() of cgroup.h say. */
int cgroup_fs_signal(int dir_fd, int signo);
int cgroup_fs_kill(int dir_fd);
/* Waits until it is not populated: true, or false when `deadline` (monotonic) has passed. */
bool cgroup_fs_wait_empty(int dir_fd, usec_t deadline);
/* Removes the group and those below. -EBUSY: populated. */
int cgroup_fs_remove(int parent_fd, const char *name);
