/* SPDX-License-Identifier: MIT */
#pragma once

/* The event loop: libev behind file descriptors, timers, child and signal events. The only reader
 * of the clock. One thread; callbacks are never nested. libev's default loop is not used: its
 * SIGCHLD handler calls waitpid(-1) and would steal exits (libev manual, "ev_child"). */

#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/timeutil.h"

struct loop;
struct loop_io;
struct loop_timer;
struct loop_signal;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

typedef void (*loop_io_fn)(int fd, int events, void *userdata);
typedef void (*loop_timer_fn)(void *userdata);
typedef void (*loop_turn_fn)(void *userdata);
typedef void (*loop_signal_fn)(const struct signalfd_siginfo *info, void *userdata);

must_check int loop_new(struct loop **ret);
/* All watchers must be gone before. */
void loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop *, loop_free);

/* Runs until loop_stop(), which also counts when it comes before: then loop_run() returns at once.
 * What is due in the turn of the stop is still called. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* CLOCK_MONOTONIC and CLOCK_REALTIME, read now (not the loop's cached time). */
struct instant loop_now(void);

/* `fd` stays the caller's and must outlive the watcher. */
must_check int loop_io_new(struct loop *l, int fd, int events, loop_io_fn fn, void *userdata,
                           struct loop_io **ret);
/* Changes the events; 0 pauses the watcher. */
void loop_io_set(struct loop_io *w, int events);
void loop_io_free(struct loop_io *w);
DEFINE_CLEANUP(struct loop_io *, loop_io_free);

/* One-shot; created unarmed. */
must_check int loop_timer_new(struct loop *l, loop_timer_fn fn, void *userdata,
                              struct loop_timer **ret);
/* Fires once at the absolute monotonic time (in the past: in the next turn), never early and some 2
 * ms late at most; USEC_INFINITY disarms. Re-arming replaces. In one turn descriptors come before
 * timers. */
void loop_timer_set(struct loop_timer *t, usec_t monotonic);
void loop_timer_free(struct loop_timer *t);
DEFINE_CLEANUP(struct loop_timer *, loop_timer_free);

/* Blocks the signal for the process and delivers it through a signalfd. -EEXIST: the loop has a
 * watcher for it already. It stays blocked when the watcher goes: a late one must not kill the
 * process. */
must_check int loop_signal_new(struct loop *l, int signo, loop_signal_fn fn, void *userdata,
                               struct loop_signal **ret);
void loop_signal_free(struct loop_signal *s);
DEFINE_CLEANUP(struct loop_signal *, loop_signal_free);

/* Called at the end of every turn, before the loop sleeps, and again after loop_wake(). The
 * supervisor drains its event queue here; at most one per loop. */
void loop_set_turn(struct loop *l, loop_turn_fn fn, void *userdata);
/* Makes the loop turn once more without waiting, so that the turn function runs again. */
void loop_wake(struct loop *l);
