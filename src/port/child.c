/* SPDX-License-Identifier: MIT */
#include "port/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/str.h"
#include "port/launch.h"

struct child {
    struct child *next; /* in `watched` */
    struct loop_io *watch;
    pid_t pid;
    int pidfd;
    bool kill_group;
    bool gone;
    child_exit_fn fn;
    void *userdata;
};

/* Every struct child whose process is not reaped yet. The one list of its kind, as the kernel has
 * one list of children for the whole process: the reaper must know all of them. */
static struct child *watched;

/* While SIGCHLD is ignored the kernel throws exit statuses away (waitid(2), notes). A supervisor
 * may have inherited that. */
static int keep_statuses(void)
{
    struct sigaction action;

    if (sigaction(SIGCHLD, NULL, &action) < 0)
        return -errno;
    if (action.sa_handler != SIG_IGN && !(action.sa_flags & SA_NOCLDWAIT))
        return 0;
    action = (struct sigaction){.sa_handler = SIG_DFL};
    return sigaction(SIGCHLD, &action, NULL) < 0 ? -errno : 0;
}

static void forget(struct child *c)
{
    struct child **p = &watched;

    while (*p && *p != c)
        p = &(*p)->next;
    if (*p)
        *p = c->next;
    loop_io_free(c->watch);
    c->watch = NULL;
}

/* Its process ID names the group until the process is reaped, so that is when the group is
 * killed. */
static void end_group(const struct child *c)
{
    siginfo_t info = {};

    (void) waitid(P_PIDFD, (id_t) c->pidfd, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid != 0)
        (void) kill(-c->pid, SIGKILL);
}

static void on_end(int fd, int events unused, void *userdata)
{
    struct child *c = userdata;
    siginfo_t info = {};

    if (c->kill_group)
        end_group(c);
    if (waitid(P_PIDFD, (id_t) fd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
        return;
    forget(c);
    c->gone = true;
    c->fn(&(struct child_exit){.code = info.si_code, .status = info.si_status}, c->userdata);
}

int child_spawn(struct loop *l, const struct child_spec *spec, child_exit_fn fn, void *userdata,
                struct child **ret)
{
    _cleanup_(child_freep) struct child *c = NULL;
    int r;

    if (!spec->argv || !spec->argv[0])
        return -EINVAL;
    r = keep_statuses();
    if (r < 0)
        return r;
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    *c = (struct child){
        .pidfd = -1,
        .kill_group = spec->kill_group,
        .fn = fn,
        .userdata = userdata,
    };
    r = launch_program(spec, &c->pid, &c->pidfd);
    if (r < 0)
        return r;
    r = loop_io_new(l, c->pidfd, LOOP_READ, on_end, c, &c->watch);
    if (r < 0) {
        launch_undo(c->pidfd);
        return r;
    }
    c->next = watched;
    watched = c;
    *ret = steal_pointer(&c);
    return 0;
}

pid_t child_pid(const struct child *c)
{
    return c->pid;
}

int child_signal(struct child *c, int signo)
{
    if (c->gone || pidfd_send_signal(c->pidfd, signo, NULL, 0) == 0 || errno == ESRCH)
        return 0;
    return -errno;
}

int child_signal_group(struct child *c, int signo)
{
    if (c->gone || kill(-c->pid, signo) == 0 || errno == ESRCH)
        return 0;
    return -errno;
}

void child_free(struct child *c)
{
    if (!c)
        return;
    forget(c);
    close_fd(c->pidfd);
    free(c);
}

static void free_abandoned(const struct child_exit *e unused, void *userdata)
{
    child_free(userdata);
}

void child_abandon(struct child *c)
{
    if (!c)
        return;
    if (c->gone) {
        child_free(c);
        return;
    }
    c->fn = free_abandoned;
    c->userdata = c;
}

bool child_is_watched(pid_t pid)
{
    for (const struct child *c = watched; c; c = c->next) {
        if (c->pid == pid)
            return true;
    }
    return false;
}
