/* SPDX-License-Identifier: MIT */
#pragma once

/* The unit's delegated cgroup (cgroup v2, Documentation/admin-guide/cgroup-v2.rst): the supervisor moves into
 * `supervisor/`, each epoch's server into a group of its own, `server-EPOCH/`. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "port/loop.h"

struct cgroup_root;
struct cgroup;

/* Finds our own cgroup and prepares it. -EOPNOTSUPP: cgroup v1 or hybrid without v2 delegation;
 * -EACCES, -EPERM, -EROFS: not delegated to us. *ret_why gets a clause for people on failure (static).
 * Enables the memory and pids controllers for the servers' groups where they can be had. Leftovers of
 * an earlier supervisor (any server-* with processes) are killed; waits up to 5 s for that. */
must_check int cgroup_root_open(struct cgroup_root **ret, const char **ret_why);
void cgroup_root_free(struct cgroup_root *r);
DEFINE_CLEANUP(struct cgroup_root *, cgroup_root_free);
/* "/system.slice/coalmine@k26.service", borrowed. */
const char *cgroup_root_path(const struct cgroup_root *r);

typedef void (*cgroup_empty_fn)(void *userdata);

/* Makes server-EPOCH. `fn` is called once each time its last process is gone (cgroup.events,
 * populated 0). */
must_check int cgroup_new(struct cgroup_root *r, struct loop *l, uint64_t epoch, cgroup_empty_fn fn,
                          void *userdata, struct cgroup **ret);
/* For child_spec.cgroup_fd; borrowed. */
int cgroup_fd(const struct cgroup *g);
bool cgroup_populated(const struct cgroup *g);
/* The signal to every process in it and below; processes forked meanwhile are caught by repeating
 * until a pass finds no new one (bounded). */
int cgroup_signal(struct cgroup *g, int signo);
/* SIGKILL to all, atomically (cgroup.kill; kernel before 5.14: like cgroup_signal()). */
int cgroup_kill(struct cgroup *g);
/* oom_kill of memory.events, 0 where there is no memory controller. */
uint64_t cgroup_oom_kills(const struct cgroup *g);
/* True if the process is in this group or below. */
bool cgroup_contains(const struct cgroup *g, pid_t pid);
/* PIDs in it and below; *ret owned by the caller. At most `max`. */
must_check int cgroup_pids(const struct cgroup *g, size_t max, pid_t **ret, size_t *ret_n);
/* Removes the group if it is empty. */
void cgroup_free(struct cgroup *g);
DEFINE_CLEANUP(struct cgroup *, cgroup_free);
