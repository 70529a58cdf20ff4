/* SPDX-License-Identifier: MIT */
#include "port/reaper.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "port/child.h"

/* So many in one turn of the loop: a fork bomb must not starve the rest. */
#define BATCH 256

struct reaper {
    struct loop_signal *signal;
    struct loop_timer *again;
    bool ended; /* some child has ended since `fn` was last called */
    reaper_fn fn;
    void *userdata;
};

static void tell(struct reaper *r)
{
    if (!r->ended)
        return;
    r->ended = false;
    if (r->fn)
        r->fn(r->userdata);
}

/* A child with a struct child is left to its own watcher. waitid(2) goes on showing that one,
 * hiding all behind it, until it is reaped; since timers come after descriptors, a timer that is
 * due now looks again when that has happened. SIGCHLD alone would not do: the one that announced
 * this child may be the one that brought us here. */
static void reap(void *userdata)
{
    struct reaper *r = userdata;

    for (int n = 0; n < BATCH; n++) {
        siginfo_t info = {};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
            tell(r);
            return;
        }
        if (info.si_pid == 0)
            return;
        r->ended = true;
        if (child_is_watched(info.si_pid))
            break;
        (void) waitid(P_PID, (id_t) info.si_pid, &info, WEXITED | WNOHANG);
    }
    loop_timer_set(r->again, 0);
}

static void on_sigchld(const struct signalfd_siginfo *info unused, void *userdata)
{
    struct reaper *r = userdata;

    r->ended = true;
    reap(r);
}

int reaper_new(struct loop *l, reaper_fn fn, void *userdata, struct reaper **ret)
{
    _cleanup_(reaper_freep) struct reaper *reaper = calloc(1, sizeof(*reaper));
    int r;

    if (!reaper)
        return -ENOMEM;
    reaper->fn = fn;
    reaper->userdata = userdata;
    r = loop_timer_new(l, reap, reaper, &reaper->again);
    if (r < 0)
        return r;
    r = loop_signal_new(l, SIGCHLD, on_sigchld, reaper, &reaper->signal);
    if (r < 0)
        return r;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -errno;
    /* What ended before SIGCHLD was ours is announced by nobody. */
    loop_timer_set(reaper->again, 0);
    *ret = steal_pointer(&reaper);
    return 0;
}

void reaper_tell(struct reaper *r, reaper_fn fn, void *userdata)
{
    r->ended = false;
    r->fn = fn;
    r->userdata = userdata;
}

void reaper_free(struct reaper *r)
{
    if (!r)
        return;
    loop_signal_free(r->signal);
    loop_timer_free(r->again);
    free(r);
}
