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
    bool kill_group;       /* when it ends, SIGKILL to what is left of its process group */
};

/* How it ended; `code` and `status` as in siginfo_t of waitid(2): CLD_EXITED, CLD_KILLED,
 * CLD_DUMPED. Both 0: somebody else took the status. */
struct child_exit {
    int code;
    int status;
};

typedef void (*child_exit_fn)(const struct child_exit *e, void *userdata);

/* Starts it in a session of its own, with default signal dispositions and an empty signal mask,
 * without any descriptor beyond the three, and to be killed when this process dies. Returns only
 * after execve() has succeeded; otherwise the negative errno of what failed and nothing runs:
 * -ENOENT: no such program (or no such interpreter of a script), -EACCES: not executable, -ENOTDIR:
 * no such working directory. `fn` is called once, from the loop, when it has ended and is reaped.
 * SIGCHLD must not be ignored and is set to its default. */
must_check int child_spawn(struct loop *l, const struct child_spec *spec, child_exit_fn fn,
                           void *userdata, struct child **ret);
pid_t child_pid(const struct child *c);
/* Signals the process itself; 0 also when it is gone already. */
int child_signal(struct child *c, int signo);
/* Signals its process group; 0 also when the process itself is gone already, which then names no
 * group any more. */
int child_signal_group(struct child *c, int signo);
/* Stops watching; does not kill and does not reap. */
void child_free(struct child *c);
DEFINE_CLEANUP(struct child *, child_free);
/* Gives it up: nothing is told any more, but as long as the loop runs it is reaped when it ends,
 * and then the struct frees itself. For one that was killed and may take its time. NULL is fine. */
void child_abandon(struct child *c);

/* True if the process has a struct child that will reap it. */
bool child_is_watched(pid_t pid);

/* A copy of `environment` without what systemd meant for the supervisor itself: NOTIFY_SOCKET,
 * WATCHDOG_USEC, WATCHDOG_PID, LISTEN_FDS, LISTEN_PID, LISTEN_PIDFDID, LISTEN_FDNAMES
 * (sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3)), and with `extra` VAR=VALUE on top, of
 * which the last of a name counts; LC_MESSAGES=C.UTF-8 is added (and LANGUAGE removed, which
 * overrides it) unless LC_ALL, LC_MESSAGES or LANG of `extra` say otherwise, since compilers speak
 * the locale's language and diagnosis reads them. -EINVAL: an `extra` without a name and '='. */
must_check int child_environment(char *const *environment, char *const *extra, char ***ret);
