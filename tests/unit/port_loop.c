/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "chaos.h"
#include "world.h"

/* What the callbacks of a test saw, in their order. */
struct record {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_io *io;
    char seen[64];
    size_t n;
    size_t stop_after;
    usec_t at;
    uint64_t left;
};

static void note(struct record *r, char what)
{
    assert_true(r->n + 1 < sizeof(r->seen));
    r->seen[r->n++] = what;
    r->at = world_now();
    if (r->n == r->stop_after)
        loop_stop(r->loop);
}

static void on_timer(void *userdata)
{
    note(userdata, 't');
}

static void on_io(int fd unused, int events, void *userdata)
{
    struct record *r = userdata;

    loop_io_set(r->io, 0);
    note(r, events == LOOP_READ ? 'r' : events == LOOP_WRITE ? 'w' : '?');
}

static void timer_is_never_early(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 1};
    _cleanup_(loop_timer_freep) struct loop_timer *t = NULL;

    assert_int_equal(loop_timer_new(l, on_timer, &r, &t), 0);
    for (usec_t span = 0; span < 4000; span += 37) {
        usec_t deadline = world_now() + span;

        r.n = 0;
        loop_timer_set(t, deadline);
        world_run_to_stop(l);
        assert_true(r.at >= deadline);
        assert_true(r.at < deadline + 10 * USEC_PER_SEC);
    }
}

/* Time that passes between the loop's look at the clock and the setting of a timer must not be
 * taken off it. */
static void busy_turn_does_not_shorten(void *userdata)
{
    struct record *r = userdata;
    usec_t until = world_now() + 50 * USEC_PER_MSEC;

    if (r->left-- != 1)
        return;
    while (world_now() < until)
        continue;
    r->at = world_now() + 20 * USEC_PER_MSEC;
    loop_timer_set(r->timer, r->at);
}

static void timer_after_busy_turn(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 1, .left = 1};
    usec_t deadline;

    assert_int_equal(loop_timer_new(l, on_timer, &r, &r.timer), 0);
    loop_set_turn(l, busy_turn_does_not_shorten, &r);
    deadline = world_now() + 70 * USEC_PER_MSEC;
    world_run_to_stop(l);
    assert_true(r.at >= deadline);
    loop_timer_free(r.timer);
}

static void timer_in_the_past(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 1};
    _cleanup_(loop_timer_freep) struct loop_timer *t = NULL;

    assert_int_equal(loop_timer_new(l, on_timer, &r, &t), 0);
    loop_timer_set(t, 1);
    world_run_to_stop(l);
    world_run_quietly(l, 20 * USEC_PER_MSEC);
    assert_int_equal(r.n, 1);
}

static void timer_rearmed_and_disarmed(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(loop_timer_freep) struct loop_timer *t = NULL;
    usec_t now = world_now();

    assert_int_equal(loop_timer_new(l, on_timer, &r, &t), 0);
    loop_timer_set(t, now + USEC_PER_MSEC);
    loop_timer_set(t, now + USEC_PER_HOUR);
    world_run_quietly(l, 20 * USEC_PER_MSEC);
    loop_timer_set(t, now + USEC_PER_MSEC);
    loop_timer_set(t, USEC_INFINITY);
    world_run_quietly(l, 20 * USEC_PER_MSEC);
    assert_int_equal(r.n, 0);
    loop_timer_set(t, USEC_INFINITY - 1);
    world_run_quietly(l, 20 * USEC_PER_MSEC);
    assert_int_equal(r.n, 0);
}

static void on_timer_frees_itself(void *userdata)
{
    struct record *r = userdata;

    loop_timer_free(r->timer);
    r->timer = NULL;
    note(r, 't');
}

static void timer_may_free_itself(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 1};

    assert_int_equal(loop_timer_new(l, on_timer_frees_itself, &r, &r.timer), 0);
    loop_timer_set(r.timer, world_now());
    world_run_to_stop(l);
    assert_null(r.timer);
}

static void descriptors_are_watched(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 1};
    _cleanup_close_ int reader = -1, writer = -1;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    reader = fds[0];
    writer = fds[1];
    assert_int_equal(loop_io_new(l, reader, LOOP_READ, on_io, &r, &r.io), 0);
    world_run_quietly(l, 10 * USEC_PER_MSEC);
    assert_int_equal(write(writer, "x", 1), 1);
    world_run_to_stop(l);
    world_run_quietly(l, 10 * USEC_PER_MSEC); /* paused by on_io(), though still readable */
    loop_io_free(r.io);

    r.stop_after = 2;
    assert_int_equal(loop_io_new(l, writer, 0, on_io, &r, &r.io), 0);
    world_run_quietly(l, 10 * USEC_PER_MSEC);
    loop_io_set(r.io, LOOP_WRITE);
    world_run_to_stop(l);
    loop_io_free(r.io);
    assert_string_equal(r.seen, "rw");
}

static void bad_descriptor_is_refused(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct loop_io *w = NULL;

    assert_int_equal(loop_io_new(l, -1, LOOP_READ, on_io, NULL, &w), -EBADF);
    assert_null(w);
}

/* Both are due when the loop looks: the sign of life comes before the time-out. */
static void descriptors_come_before_timers(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 2};
    _cleanup_(loop_timer_freep) struct loop_timer *t = NULL;
    _cleanup_close_ int due = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec at_once = {.it_value.tv_nsec = 1};
    usec_t until;

    assert_true(due >= 0);
    assert_int_equal(loop_io_new(l, due, LOOP_READ, on_io, &r, &r.io), 0);
    assert_int_equal(loop_timer_new(l, on_timer, &r, &t), 0);
    assert_int_equal(timerfd_settime(due, 0, &at_once, NULL), 0);
    loop_timer_set(t, world_now());
    until = world_now() + 5 * USEC_PER_MSEC;
    while (world_now() < until)
        continue;
    world_run_to_stop(l);
    assert_string_equal(r.seen, "rt");
    loop_io_free(r.io);
}

static void on_usr1(const struct signalfd_siginfo *info, void *userdata)
{
    assert_int_equal(info->ssi_signo, SIGUSR1);
    assert_int_equal(info->ssi_pid, getpid());
    note(userdata, 's');
}

static void signals_are_delivered(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 1};
    struct loop_signal *s = NULL, *twin = NULL;

    assert_int_equal(loop_signal_new(l, SIGUSR1, on_usr1, &r, &s), 0);
    assert_int_equal(loop_signal_new(l, SIGUSR1, on_usr1, &r, &twin), -EEXIST);
    assert_null(twin);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    world_run_to_stop(l);
    loop_signal_free(s);
    assert_int_equal(kill(getpid(), SIGUSR1), 0); /* blocked still: does not kill us */
    r.stop_after = 2;
    assert_int_equal(loop_signal_new(l, SIGUSR1, on_usr1, &r, &s), 0);
    world_run_to_stop(l);
    loop_signal_free(s);
    assert_int_equal(r.n, 2);
}

static void bad_signals_are_refused(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct loop_signal *s = NULL;

    assert_int_equal(loop_signal_new(l, 0, on_usr1, NULL, &s), -EINVAL);
    assert_int_equal(loop_signal_new(l, -1, on_usr1, NULL, &s), -EINVAL);
    assert_int_equal(loop_signal_new(l, 65, on_usr1, NULL, &s), -EINVAL);
    assert_null(s);
}

static void on_turn(void *userdata)
{
    struct record *r = userdata;

    note(r, '.');
    if (r->left > 0) {
        r->left--;
        loop_wake(r->loop);
    }
}

static void turn_runs_before_each_sleep(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .left = 3};

    loop_set_turn(l, on_turn, &r);
    world_run_quietly(l, 50 * USEC_PER_MSEC);
    /* Once at the beginning and once for each wake; libev may look at a timer once too early. */
    assert_in_range(r.n, 4, 6);

    r.n = 0;
    loop_wake(l);
    world_run_quietly(l, 50 * USEC_PER_MSEC);
    assert_in_range(r.n, 1, 3);
}

static void wake_always(void *userdata)
{
    loop_wake(userdata);
}

/* A turn function that always wakes must not starve descriptors and timers. */
static void waking_turn_starves_nobody(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l, .stop_after = 2};
    _cleanup_(loop_timer_freep) struct loop_timer *t = NULL;
    _cleanup_close_ int always_readable = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    loop_set_turn(l, wake_always, l);
    assert_int_equal(loop_io_new(l, always_readable, LOOP_READ, on_io, &r, &r.io), 0);
    assert_int_equal(loop_timer_new(l, on_timer, &r, &t), 0);
    loop_timer_set(t, world_now() + 5 * USEC_PER_MSEC);
    world_run_to_stop(l);
    assert_string_equal(r.seen, "rt");
    loop_io_free(r.io);
}

static void stop_before_run_counts(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();

    loop_stop(l);
    loop_run(l);
    world_run_quietly(l, USEC_PER_MSEC);
}

static void idle_loop_uses_no_cpu(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct rusage before, after;

    world_run_quietly(l, USEC_PER_MSEC);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    world_run_quietly(l, 300 * USEC_PER_MSEC);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_nvcsw - before.ru_nvcsw <= 5);
}

static int make_everything(void *data)
{
    struct loop *l = data;
    _cleanup_(loop_timer_freep) struct loop_timer *t = NULL;
    _cleanup_(loop_io_freep) struct loop_io *io = NULL;
    _cleanup_(loop_signal_freep) struct loop_signal *s = NULL;
    _cleanup_(loop_freep) struct loop *own = NULL;
    int r;

    r = loop_new(&own);
    if (r >= 0)
        r = loop_timer_new(l, on_timer, NULL, &t);
    if (r >= 0)
        r = loop_io_new(l, STDIN_FILENO, 0, on_io, NULL, &io);
    if (r >= 0)
        r = loop_signal_new(l, SIGUSR2, on_usr1, NULL, &s);
    return r;
}

static void memory_runs_out(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    size_t fds = world_count_fds();

    assert_int_equal(chaos_each(make_everything, l), 5);
    assert_int_equal(world_count_fds(), fds);
}

static void frees_take_null(void unused **state)
{
    loop_free(NULL);
    loop_io_free(NULL);
    loop_timer_free(NULL);
    loop_signal_free(NULL);
}

static void clocks_agree_with_the_kernel(void unused **state)
{
    struct timespec ts;
    struct instant now = loop_now();

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &ts), 0);
    assert_true(now.realtime / USEC_PER_SEC <= (usec_t) ts.tv_sec);
    assert_true((usec_t) ts.tv_sec - now.realtime / USEC_PER_SEC < 60);
    assert_true(loop_now().monotonic >= now.monotonic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timer_is_never_early),
        cmocka_unit_test(timer_after_busy_turn),
        cmocka_unit_test(timer_in_the_past),
        cmocka_unit_test(timer_rearmed_and_disarmed),
        cmocka_unit_test(timer_may_free_itself),
        cmocka_unit_test(descriptors_are_watched),
        cmocka_unit_test(bad_descriptor_is_refused),
        cmocka_unit_test(descriptors_come_before_timers),
        cmocka_unit_test(signals_are_delivered),
        cmocka_unit_test(bad_signals_are_refused),
        cmocka_unit_test(turn_runs_before_each_sleep),
        cmocka_unit_test(waking_turn_starves_nobody),
        cmocka_unit_test(stop_before_run_counts),
        cmocka_unit_test(idle_loop_uses_no_cpu),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(frees_take_null),
        cmocka_unit_test(clocks_agree_with_the_kernel),
    };

    return cmocka_run_group_tests_name("port_loop", tests, NULL, NULL);
}
