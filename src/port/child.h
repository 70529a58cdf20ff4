/* SPDX-License-Identifier: MIT */
#pragma once

/* A child process: clone3() straight into its cgroup, watched through its pidfd. */

#include <stdbool.h>
#include <sys/types.h>

#include "port/loop.h"

struct child;

struct child_spec {
    char *const *argv;     /* argv[0] is looked up in PATH of `environment` */
    char *const *environment;
    const char *working_directory; /* NULL: the caller's */
    int stdin_fd;          /* -1: /dev/null */
    int stdout_fd;         /* -1: /dev/null */
    int stderr_fd;         /* -1: /dev/null */
    int cgroup_fd;         /* -1: the caller's cgroup; a new session in any case */
};

/* How it ended; `code` and `status` as in siginfo_t of waitid(2): CLD_EXITED, CLD_KILLED, CLD_DUMPED. */
struct child_exit {
    int code;
    int status;
};

typedef void (*child_exit_fn)(const struct child_exit *e, void *userdata);

/* Starts it in a session of its own, with default signal dispositions and an empty signal mask, and
 * without any descriptor beyond the three. Returns only after execve() has succeeded; otherwise the
 * negative errno of what failed (-ENOENT: no such program) and nothing runs. */
must_check int child_spawn(struct loop *l, const struct child_spec *spec, child_exit_fn fn,
                           void *userdata, struct child **ret);
pid_t child_pid(const struct child *c);
/* Signals the process itself; 0 also when it is gone already. */
int child_signal(struct child *c, int signo);
/* Stops watching; does not kill and does not reap. */
void child_free(struct child *c);
DEFINE_CLEANUP(struct child *, child_free);

/* Adopted descendants: with PR_SET_CHILD_SUBREAPER set, orphans of the server become ours; they are
 * reaped as they end, children with a struct child excepted. `fn` (may be NULL) is told when no
 * child of ours at all is left. */
typedef void (*reaper_fn)(void *userdata);
struct reaper;
must_check int reaper_new(struct loop *l, reaper_fn fn, void *userdata, struct reaper **ret);
void reaper_free(struct reaper *r);
DEFINE_CLEANUP(struct reaper *, reaper_free);

/* A copy of `environment` without what systemd meant for the supervisor itself: NOTIFY_SOCKET,
 * WATCHDOG_USEC, WATCHDOG_PID, LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES (sd_notify(3),
 * sd_watchdog_enabled(3), sd_listen_fds(3)), and with `extra` VAR=VALUE on top; LC_MESSAGES=C.UTF-8
 * is added unless LC_ALL, LC_MESSAGES or LANG of `extra` say otherwise, since compilers speak the
 * locale's language and diagnosis reads them. */
must_check int child_environment(char *const *environment, char *const *extra, char ***ret);
