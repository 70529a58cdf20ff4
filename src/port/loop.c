/* SPDX-License-Identifier: MIT */
#include "port/loop.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

#define SIGNALS_MAX 64

struct loop {
    struct ev_loop *ev;
    struct ev_prepare turn;
    struct ev_idle awake; /* while it is active the loop does not wait */
    loop_turn_fn turn_fn;
    void *turn_userdata;
    bool stopped;
    uint64_t signals; /* bit SIGNO - 1: has a watcher */
};

struct loop_io {
    struct ev_io ev;
    struct loop *loop;
    loop_io_fn fn;
    void *userdata;
};

struct loop_timer {
    struct ev_timer ev;
    struct loop *loop;
    usec_t deadline;
    loop_timer_fn fn;
    void *userdata;
};

struct loop_signal {
    struct loop *loop;
    struct loop_io *io;
    int fd;
    int signo;
    loop_signal_fn fn;
    void *userdata;
};

static usec_t read_clock(clockid_t clock)
{
    struct timespec ts = {};

    (void) clock_gettime(clock, &ts);
    return (usec_t) ts.tv_sec * USEC_PER_SEC + (usec_t) ts.tv_nsec / 1000;
}

struct instant loop_now(void)
{
    return (struct instant){
        .monotonic = read_clock(CLOCK_MONOTONIC),
        .realtime = read_clock(CLOCK_REALTIME),
    };
}

/* The turn function runs before libev looks for events. What it wakes is seen after that look, not
 * at once, so that a turn function which always wakes cannot starve the descriptors. */
static void on_prepare(struct ev_loop *ev, struct ev_prepare *w, int events unused)
{
    struct loop *l = w->data;

    ev_idle_stop(ev, &l->awake);
    if (l->turn_fn)
        l->turn_fn(l->turn_userdata);
}

static void on_idle(struct ev_loop *ev unused, struct ev_idle *w unused, int events unused)
{
}

int loop_new(struct loop **ret)
{
    _cleanup_free_ struct loop *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->ev = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (!l->ev)
        return errno > 0 ? -errno : -ENOMEM;
    ev_prepare_init(&l->turn, on_prepare);
    ev_idle_init(&l->awake, on_idle);
    l->turn.data = l;
    ev_prepare_start(l->ev, &l->turn);
    *ret = steal_pointer(&l);
    return 0;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    ev_loop_destroy(l->ev);
    free(l);
}

void loop_run(struct loop *l)
{
    if (!l->stopped)
        ev_run(l->ev, 0);
    l->stopped = false;
}

void loop_stop(struct loop *l)
{
    l->stopped = true;
    ev_break(l->ev, EVBREAK_ALL);
}

void loop_set_turn(struct loop *l, loop_turn_fn fn, void *userdata)
{
    l->turn_fn = fn;
    l->turn_userdata = userdata;
}

void loop_wake(struct loop *l)
{
    ev_idle_start(l->ev, &l->awake);
}

static void on_io(struct ev_loop *ev unused, struct ev_io *w, int events)
{
    struct loop_io *io = w->data;
    int seen = 0;

    if (events & EV_READ)
        seen |= LOOP_READ;
    if (events & EV_WRITE)
        seen |= LOOP_WRITE;
    io->fn(w->fd, seen, io->userdata);
}

int loop_io_new(struct loop *l, int fd, int events, loop_io_fn fn, void *userdata,
                struct loop_io **ret)
{
    struct loop_io *w;

    if (fd < 0)
        return -EBADF;
    w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    *w = (struct loop_io){.loop = l, .fn = fn, .userdata = userdata};
    ev_io_init(&w->ev, on_io, fd, 0);
    w->ev.data = w;
    loop_io_set(w, events);
    *ret = w;
    return 0;
}

void loop_io_set(struct loop_io *w, int events)
{
    int wanted = 0;

    if (events & LOOP_READ)
        wanted |= EV_READ;
    if (events & LOOP_WRITE)
        wanted |= EV_WRITE;
    ev_io_stop(w->loop->ev, &w->ev);
    ev_io_set(&w->ev, w->ev.fd, wanted);
    if (wanted)
        ev_io_start(w->loop->ev, &w->ev);
}

void loop_io_free(struct loop_io *w)
{
    if (!w)
        return;
    ev_io_stop(w->loop->ev, &w->ev);
    free(w);
}

/* libev counts from the time at which it last looked, in floating seconds: both are brought up to
 * date here, and on_timer() checks what came of it. CLOCK_MONOTONIC, which both use, stands still
 * while the machine sleeps: a time-out does not run out because a lid was closed. */
static void start_timer(struct loop_timer *t)
{
    usec_t left = usec_sub(t->deadline, read_clock(CLOCK_MONOTONIC));

    ev_now_update(t->loop->ev);
    ev_timer_set(&t->ev, (double) left / (double) USEC_PER_SEC, 0.);
    ev_timer_start(t->loop->ev, &t->ev);
}

static void on_timer(struct ev_loop *ev unused, struct ev_timer *w, int events unused)
{
    struct loop_timer *t = w->data;

    if (read_clock(CLOCK_MONOTONIC) < t->deadline) {
        start_timer(t);
        return;
    }
    t->fn(t->userdata);
}

int loop_timer_new(struct loop *l, loop_timer_fn fn, void *userdata, struct loop_timer **ret)
{
    struct loop_timer *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    *t = (struct loop_timer){.loop = l, .deadline = USEC_INFINITY, .fn = fn, .userdata = userdata};
    ev_timer_init(&t->ev, on_timer, 0., 0.);
    /* In a turn where both are due, a sign of life is handled before the time-out it prevents. */
    ev_set_priority(&t->ev, EV_MINPRI);
    t->ev.data = t;
    *ret = t;
    return 0;
}

void loop_timer_set(struct loop_timer *t, usec_t monotonic)
{
    ev_timer_stop(t->loop->ev, &t->ev);
    t->deadline = monotonic;
    if (monotonic != USEC_INFINITY)
        start_timer(t);
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    ev_timer_stop(t->loop->ev, &t->ev);
    free(t);
}

static uint64_t signal_bit(int signo)
{
    return UINT64_C(1) << (signo - 1);
}

/* One at a time: the callback may free the watcher, and what is left makes the descriptor readable
 * again. */
static void on_signal(int fd, int events unused, void *userdata)
{
    struct loop_signal *s = userdata;
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof(info)) == (ssize_t) sizeof(info))
        s->fn(&info, s->userdata);
}

static int open_signal(struct loop_signal *s)
{
    sigset_t set;
    int r;

    (void) sigemptyset(&set);
    if (sigaddset(&set, s->signo) < 0)
        return -errno;
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd < 0)
        return -errno;
    r = loop_io_new(s->loop, s->fd, LOOP_READ, on_signal, s, &s->io);
    if (r < 0)
        return r;
    s->loop->signals |= signal_bit(s->signo);
    return 0;
}

int loop_signal_new(struct loop *l, int signo, loop_signal_fn fn, void *userdata,
                    struct loop_signal **ret)
{
    _cleanup_(loop_signal_freep) struct loop_signal *s = NULL;
    int r;

    if (signo < 1 || signo > SIGNALS_MAX)
        return -EINVAL;
    if (l->signals & signal_bit(signo))
        return -EEXIST;
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct loop_signal){.loop = l, .fd = -1, .signo = signo, .fn = fn, .userdata = userdata};
    r = open_signal(s);
    if (r < 0)
        return r;
    *ret = steal_pointer(&s);
    return 0;
}

void loop_signal_free(struct loop_signal *s)
{
    if (!s)
        return;
    if (s->io)
        s->loop->signals &= ~signal_bit(s->signo);
    loop_io_free(s->io);
    close_fd(s->fd);
    free(s);
}
