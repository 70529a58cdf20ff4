/* SPDX-License-Identifier: MIT */
#pragma once

/* One directory of the cgroup file system and all below it (kernel doc admin-guide/cgroup-v2). */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

/* A growing list of PIDs. Zero-initialise; free `pids`. */
struct pid_list {
    pid_t *pids;
    size_t n;
    size_t allocated;
};

/* A small file of a cgroup, NUL-terminated, cut to size - 1 bytes. -ENOENT: this kernel has it not, or the
 * controller is off. */
must_check int cgroup_tree_read(int dir_fd, const char *name, char *buf, size_t size);
must_check int cgroup_tree_write(int dir_fd, const char *name, const char *text);
/* The number behind `key ` at the begin of a line of a file such as cgroup.events; 0 when there is none. */
uint64_t cgroup_tree_number(int dir_fd, const char *name, const char *key);
/* Adds the processes in it and below until the list has `max`. Groups that vanish meanwhile are passed over. */
must_check int cgroup_tree_pids(int dir_fd, size_t max, struct pid_list *list);
/* Removes the groups below and then the group itself, `name` in parent_fd; what holds processes stays, with
 * -EBUSY. */
int cgroup_tree_remove(int parent_fd, const char *name);
