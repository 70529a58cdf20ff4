/* SPDX-License-Identifier: MIT */
#include "daemon/processes.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "port/child.h"
#include "port/proctree.h"

/* More processes than any server has. */
#define PROCESSES_MAX 65536
#define KILL_PASSES 16

struct processes {
    struct cgroup *cgroup; /* NULL: by descent */
    struct reaper *reaper; /* only by descent; borrowed */
    pid_t main_pid;        /* 0: not known yet */
};

int processes_new(struct loop *l, struct cgroup_root *root, struct reaper *reaper, uint64_t epoch,
                  processes_empty_fn fn, void *userdata, struct processes **ret)
{
    _cleanup_(processes_freep) struct processes *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    if (root) {
        r = cgroup_new(root, l, epoch, fn, userdata, &p->cgroup);
        if (r < 0)
            return r;
    } else {
        reaper_tell(reaper, fn, userdata);
        p->reaper = reaper;
    }
    *ret = steal_pointer(&p);
    return 0;
}

int processes_cgroup_fd(const struct processes *p)
{
    return p->cgroup ? cgroup_fd(p->cgroup) : -1;
}

void processes_set_main(struct processes *p, pid_t pid)
{
    p->main_pid = pid;
}

/* Our other children are helpers of our own: probes, the GPUs' tools, a dump's command. */
static bool is_helper(pid_t pid, const void *userdata)
{
    const struct processes *p = userdata;

    return pid != p->main_pid && child_is_watched(pid);
}

int processes_pids(const struct processes *p, size_t max, pid_t **ret, size_t *ret_n)
{
    if (p->cgroup)
        return cgroup_pids(p->cgroup, max, ret, ret_n);
    return proctree_descendants(getpid(), is_helper, p, max, ret, ret_n);
}

/* Returns how many there were, or negative errno. */
static ssize_t signal_descendants(const struct processes *p, int signo)
{
    _cleanup_free_ pid_t *pids = NULL;
    size_t n = 0;
    int r = processes_pids(p, PROCESSES_MAX, &pids, &n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        (void) kill(pids[i], signo);
    return (ssize_t) n;
}

/* What is stopped cannot fork: once a pass finds as many as the one before, nothing slips away. */
static int kill_descendants(const struct processes *p)
{
    ssize_t before = -1, n = 0;

    for (int pass = 0; pass < KILL_PASSES && n != before; pass++) {
        before = n;
        n = signal_descendants(p, SIGSTOP);
        if (n < 0)
            return (int) n;
    }
    n = signal_descendants(p, SIGKILL);
    return n < 0 ? (int) n : 0;
}

int processes_signal(struct processes *p, int signo)
{
    ssize_t n;

    if (p->cgroup)
        return cgroup_signal(p->cgroup, signo);
    n = signal_descendants(p, signo);
    return n < 0 ? (int) n : 0;
}

int processes_kill(struct processes *p)
{
    return p->cgroup ? cgroup_kill(p->cgroup) : kill_descendants(p);
}

bool processes_contains(const struct processes *p, pid_t pid)
{
    _cleanup_free_ pid_t *pids = NULL;
    size_t n = 0;

    if (p->cgroup)
        return cgroup_contains(p->cgroup, pid);
    if (processes_pids(p, PROCESSES_MAX, &pids, &n) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

uint64_t processes_oom_kills(const struct processes *p)
{
    return p->cgroup ? cgroup_oom_kills(p->cgroup) : 0;
}

void processes_free(struct processes *p)
{
    if (!p)
        return;
    cgroup_free(p->cgroup);
    if (p->reaper)
        reaper_tell(p->reaper, NULL, NULL);
    free(p);
}
