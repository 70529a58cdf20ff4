/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "daemon/gpu_wait.h"
#include "scratch.h"
#include "world.h"

#define LIMIT (1500 * USEC_PER_MSEC)

/* A GPU as nvidia-smi tells of it. */
struct scene {
    struct loop *loop;
    struct gpu_wait *wait;
    char *directory;
    char *environment[2];
    int fd;
    unsigned waited;
    unsigned free_after; /* looks in vain; 0: never */
    bool done;
    char *held;
};

static void set_usage(struct scene *s, unsigned mebibytes)
{
    _cleanup_free_ char *text = str_format("#!/bin/sh\n"
                                           "case $1 in\n"
                                           "--query-gpu=*) echo '0, %u, 81920, GPU-a' ;;\n"
                                           "*) echo '4242, 7000, python3, GPU-a' ;;\n"
                                           "esac\n", mebibytes);

    scratch_write(s->fd, "new", text, strlen(text));
    assert_int_equal(fchmodat(s->fd, "new", 0755, 0), 0);
    assert_int_equal(renameat(s->fd, "new", s->fd, "nvidia-smi"), 0);
}

static void on_waiting(const char *held, void *userdata)
{
    struct scene *s = userdata;

    assert_false(s->done);
    assert_non_null(strstr(held, "PID 4242 (python3)"));
    if (++s->waited == s->free_after)
        set_usage(s, 10);
}

static void on_done(const char *held, void *userdata)
{
    struct scene *s = userdata;

    assert_false(s->done);
    s->done = true;
    free(s->held);
    s->held = held ? strdup(held) : NULL;
    loop_stop(s->loop);
}

static const struct gpu_wait_events events = {
    .waiting = on_waiting,
    .done = on_done,
};

static void set_up(struct scene *s)
{
    *s = (struct scene){ .loop = world_loop(), .directory = scratch_new() };
    s->fd = open(s->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(s->fd >= 0);
    s->environment[0] = str_format("PATH=%s", s->directory);
    assert_int_equal(gpu_wait_new(s->loop, &events, s, &s->wait), 0);
}

static void tear_down(struct scene *s)
{
    gpu_wait_free(s->wait);
    loop_free(s->loop);
    (void) close(s->fd);
    free(s->held);
    free(s->environment[0]);
    scratch_remove(s->directory);
}

static void run(struct scene *s)
{
    s->done = false;
    s->waited = 0;
    gpu_wait_begin(s->wait, s->environment, LIMIT);
    world_run_to_stop(s->loop);
}

static void nothing_to_wait_for(void **state unused)
{
    struct scene s;

    set_up(&s);
    run(&s);
    assert_null(s.held);
    run(&s);
    assert_null(s.held);
    tear_down(&s);
}

/* Whatever is in use before the first start is somebody else's. */
static void first_look_never_waits(void **state unused)
{
    struct scene s;

    set_up(&s);
    set_usage(&s, 40000);
    run(&s);
    run(&s);
    assert_int_equal(s.waited, 0);
    assert_null(s.held);
    tear_down(&s);
}

static void waits_until_it_is_free(void **state unused)
{
    struct scene s;

    set_up(&s);
    set_usage(&s, 10);
    run(&s);
    set_usage(&s, 40000);
    s.free_after = 1;
    run(&s);
    assert_int_equal(s.waited, 1);
    assert_null(s.held);
    tear_down(&s);
}

static void goes_on_when_the_time_is_up(void **state unused)
{
    struct scene s;

    set_up(&s);
    set_usage(&s, 10);
    run(&s);
    set_usage(&s, 40000);
    run(&s);
    assert_true(s.waited >= 1);
    assert_string_equal(s.held, "GPU 0: 39.0 GiB in use, 0.0 GiB before, PID 4242 (python3) holds 6.8 GiB");
    tear_down(&s);
}

/* What others gave back in the meantime is no longer put down to them. */
static void the_least_counts(void **state unused)
{
    struct scene s;

    set_up(&s);
    set_usage(&s, 40000);
    run(&s);
    set_usage(&s, 10);
    run(&s);
    set_usage(&s, 40000);
    run(&s);
    assert_non_null(s.held);
    tear_down(&s);
}

static void can_be_cancelled(void **state unused)
{
    struct scene s;

    set_up(&s);
    set_usage(&s, 10);
    s.done = false;
    gpu_wait_begin(s.wait, s.environment, LIMIT);
    world_run_quietly(s.loop, 1 * USEC_PER_MSEC);
    gpu_wait_cancel(s.wait);
    world_run_quietly(s.loop, 200 * USEC_PER_MSEC);
    assert_false(s.done);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_wait_for),
        cmocka_unit_test(first_look_never_waits),
        cmocka_unit_test(waits_until_it_is_free),
        cmocka_unit_test(goes_on_when_the_time_is_up),
        cmocka_unit_test(the_least_counts),
        cmocka_unit_test(can_be_cancelled),
    };

    return world_run_group("gpu_wait", tests);
}
