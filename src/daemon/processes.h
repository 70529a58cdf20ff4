/* SPDX-License-Identifier: MIT */
#pragma once

/* All processes of one epoch, however they fork: a cgroup of their own, or, without one, every descendant
 * of the supervisor, which is then a subreaper. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "port/cgroup.h"
#include "port/loop.h"
#include "port/reaper.h"

struct processes;
typedef void (*processes_empty_fn)(void *userdata);

/* `root` NULL: by descent. `fn` is called when none is left. The reaper is borrowed, and ours alone meanwhile. */
must_check int processes_new(struct loop *l, struct cgroup_root *root, struct reaper *reaper, uint64_t epoch,
                             processes_empty_fn fn, void *userdata, struct processes **ret);
/* The server's main process, which tells the server from helpers where there is no cgroup. */
void processes_set_main(struct processes *p, pid_t pid);
/* For child_spec.cgroup_fd; -1 without a cgroup. */
int processes_cgroup_fd(const struct processes *p);
int processes_signal(struct processes *p, int signo);
int processes_kill(struct processes *p);
bool processes_contains(const struct processes *p, pid_t pid);
/* At most `max`; *ret owned by the caller. */
must_check int processes_pids(const struct processes *p, size_t max, pid_t **ret, size_t *ret_n);
/* How many of them the OOM killer took; 0 where nobody counts. */
uint64_t processes_oom_kills(const struct processes *p);
void processes_free(struct processes *p);
DEFINE_CLEANUP(struct processes *, processes_free);
