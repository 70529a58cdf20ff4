/* SPDX-License-Identifier: MIT */
#pragma once

/* The unit's delegated cgroup (cgroup v2, Documentation/admin-guide/cgroup-v2.rst): the supervisor
 * moves into `supervisor/`, each epoch's server into a group of its own, `server-EPOCH/`. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "port/loop.h"

struct cgroup_root;
struct cgroup;

/* What the name of an epoch's group begins with. */
#define CGROUP_SERVER_PREFIX "server-"

/* Finds our own cgroup, or the one above if we are in its `supervisor` already, and prepares it:
 * moves us, and whoever is there with us, into `supervisor/`, and enables the memory and pids
 * controllers for the servers' groups where they can be had. Leftovers of an earlier supervisor
 * (any server-* with processes) are killed; waits up to 5 s for that. Only a cgroup that systemd
 * has marked as delegated counts as ours, with whatever rights we run, or, for PID 1 of a
 * container, the container's. A user's service manager has no right to mark what it delegates:
 * `users_unit` says that it has started us, and then a cgroup that belongs to us counts, too.
 * *ret_why gets a clause for people on failure (static). -EOPNOTSUPP: cgroup v1, or hybrid without
 * v2; -EACCES, -EPERM, -EROFS: not delegated to us; -EBUSY: another supervisor lives in it;
 * -ETIMEDOUT: leftovers that cannot be killed, beside which no server may be started. */
must_check int cgroup_root_open(bool users_unit, struct cgroup_root **ret, const char **ret_why);
/* All struct cgroup must be gone before. We stay in `supervisor/`, which whoever delegated will
 * remove. */
void cgroup_root_free(struct cgroup_root *r);
DEFINE_CLEANUP(struct cgroup_root *, cgroup_root_free);
/* "/system.slice/coalmine@k26.service", borrowed. */
const char *cgroup_root_path(const struct cgroup_root *r);
/* Its directory; borrowed. */
int cgroup_root_fd(const struct cgroup_root *r);

typedef void (*cgroup_empty_fn)(void *userdata);

/* Makes server-EPOCH. `fn` (may be NULL) is called once each time its last process is gone
 * (cgroup.events, populated 0), also when the process came and went too fast to be seen; not for a
 * group that nothing was ever in. Zombies are gone. */
must_check int cgroup_new(struct cgroup_root *r, struct loop *l, uint64_t epoch, cgroup_empty_fn fn,
                          void *userdata, struct cgroup **ret);
/* For child_spec.cgroup_fd; borrowed. */
int cgroup_fd(const struct cgroup *g);
bool cgroup_populated(const struct cgroup *g);
/* The signal, once, to every process in it and below; processes forked meanwhile are caught by
 * repeating until a pass finds no new one (bounded). 0 also for an empty group; otherwise the errno
 * of a process that could not be signalled, after all others were. */
int cgroup_signal(struct cgroup *g, int signo);
/* SIGKILL to all, atomically (cgroup.kill; kernel before 5.14: like cgroup_signal()). */
int cgroup_kill(struct cgroup *g);
/* oom_kill of memory.events, 0 where there is no memory controller. */
uint64_t cgroup_oom_kills(const struct cgroup *g);
/* True if the process is in this group or below. */
bool cgroup_contains(const struct cgroup *g, pid_t pid);
/* PIDs in it and below, ascending, at most `max`; *ret owned by the caller, NULL if there are
 * none. */
must_check int cgroup_pids(const struct cgroup *g, size_t max, pid_t **ret, size_t *ret_n);
/* Removes the group, and those that the server made in it, if no process is left. */
void cgroup_free(struct cgroup *g);
DEFINE_CLEANUP(struct cgroup *, cgroup_free);
