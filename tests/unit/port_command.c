/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "chaos.h"
#include "port/command.h"

struct outcome {
    struct loop *loop;
    struct command *command;
    int calls;
    bool free_in_callback;
    struct command_result result;
    char output[8192];
};

static void on_done(const struct command_result *r, void *userdata)
{
    struct outcome *o = userdata;

    o->calls++;
    o->result = *r;
    (void) snprintf(o->output, sizeof(o->output), "%.*s", (int) r->output_len, r->output);
    if (o->free_in_callback) {
        command_free(o->command);
        o->command = NULL;
    }
    loop_stop(o->loop);
}

static int start(struct outcome *o, char *const *argv, usec_t timeout, size_t max_output)
{
    return command_run(o->loop, argv, environ, timeout, max_output, on_done, o, &o->command);
}

/* Runs a shell script to its end. */
static struct outcome run(const char *script, usec_t timeout, size_t max_output)
{
    struct outcome o = {.loop = world_loop()};

    assert_int_equal(start(&o, WORLD_SHELL(script), timeout, max_output), 0);
    assert_int_equal(o.calls, 0);
    world_run_to_stop(o.loop);
    assert_int_equal(o.calls, 1);
    world_run_quietly(o.loop, 10 * USEC_PER_MSEC);
    assert_false(world_has_children());
    command_free(o.command);
    loop_free(o.loop);
    return o;
}

static void output_and_status(void unused **state)
{
    struct outcome o = run("echo out; echo err >&2; printf tail; exit 3", WORLD_LIMIT, 1000);

    assert_string_equal(o.output, "out\nerr\ntail");
    assert_int_equal(o.result.output_len, 12);
    assert_int_equal(o.result.exit.code, CLD_EXITED);
    assert_int_equal(o.result.exit.status, 3);
    assert_int_equal(o.result.spawn_error, 0);
    assert_false(o.result.timed_out);
    assert_false(o.result.truncated);

    o = run("kill -ABRT $$", USEC_INFINITY, 1000);
    assert_int_equal(o.result.exit.status, SIGABRT);
    assert_string_equal(o.output, "");
}

static void output_is_capped(void unused **state)
{
    struct outcome o = run("printf 12345", WORLD_LIMIT, 5);

    assert_string_equal(o.output, "12345");
    assert_false(o.result.truncated);
    o = run("printf 123456", WORLD_LIMIT, 5);
    assert_string_equal(o.output, "12345");
    assert_true(o.result.truncated);
    o = run("printf x", WORLD_LIMIT, 0);
    assert_int_equal(o.result.output_len, 0);
    assert_true(o.result.truncated);
    /* More than the pipe holds: what is over the cap is read all the same, or it would never
     * end. */
    o = run("head -c 1000000 /dev/zero | tr '\\0' x; exit 5", WORLD_LIMIT, 8000);
    assert_int_equal(o.result.output_len, 8000);
    assert_true(o.result.truncated);
    assert_int_equal(o.result.exit.status, 5);
}

static void failed_start_is_told(void unused **state)
{
    struct outcome o = {.loop = world_loop()};

    assert_int_equal(start(&o, WORLD_VECTOR("coalmine-no-such-program"), WORLD_LIMIT, 100), 0);
    assert_int_equal(o.calls, 0);
    world_run_to_stop(o.loop);
    assert_int_equal(o.result.spawn_error, -ENOENT);
    assert_false(o.result.timed_out);
    assert_string_equal(o.output, "");
    world_run_quietly(o.loop, 10 * USEC_PER_MSEC);
    assert_int_equal(o.calls, 1);
    command_free(o.command);
    loop_free(o.loop);
}

static void time_is_limited(void unused **state)
{
    usec_t start_usec = world_now();
    struct outcome o = run("echo before; sleep 1000", 200 * USEC_PER_MSEC, 100);

    assert_true(o.result.timed_out);
    assert_int_equal(o.result.exit.code, CLD_KILLED);
    assert_int_equal(o.result.exit.status, SIGTERM);
    assert_string_equal(o.output, "before\n");
    assert_true(world_now() - start_usec >= 200 * USEC_PER_MSEC);
}

static void time_to_clean_up(void unused **state)
{
    struct outcome o =
        run("trap 'echo cleaned; exit 9' TERM; while :; do :; done", 200 * USEC_PER_MSEC, 100);

    assert_true(o.result.timed_out);
    assert_int_equal(o.result.exit.code, CLD_EXITED);
    assert_int_equal(o.result.exit.status, 9);
    assert_string_equal(o.output, "cleaned\n");
}

static void stubborn_one_is_killed(void unused **state)
{
    usec_t start_usec = world_now();
    struct outcome o = run("trap '' TERM; while :; do sleep 1; done", 100 * USEC_PER_MSEC, 100);

    assert_true(o.result.timed_out);
    assert_int_equal(o.result.exit.code, CLD_KILLED);
    assert_int_equal(o.result.exit.status, SIGKILL);
    assert_true(world_now() - start_usec >= COMMAND_GRACE_USEC);
}

static void time_out_after_the_end_is_nothing(void unused **state)
{
    struct outcome o = {.loop = world_loop()};

    assert_int_equal(start(&o, WORLD_VECTOR("true"), 300 * USEC_PER_MSEC, 100), 0);
    world_run_to_stop(o.loop);
    assert_false(o.result.timed_out);
    world_run_quietly(o.loop, 400 * USEC_PER_MSEC);
    assert_int_equal(o.calls, 1);
    command_free(o.command);
    loop_free(o.loop);
}

static usec_t cpu_time(void)
{
    struct timespec ts = {};

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
    return (usec_t) ts.tv_sec * USEC_PER_SEC + (usec_t) ts.tv_nsec / 1000;
}

/* A closed pipe stays readable for ever. */
static void closed_output_costs_nothing(void unused **state)
{
    usec_t before = cpu_time();

    (void) run("exec >/dev/null 2>&1; sleep 0.5", WORLD_LIMIT, 100);
    assert_true(cpu_time() - before < 50 * USEC_PER_MSEC);
}

static void flood_is_limited(void unused **state)
{
    struct outcome o = run("exec yes", 100 * USEC_PER_MSEC, 4000);

    assert_true(o.result.timed_out);
    assert_true(o.result.truncated);
    assert_int_equal(o.result.output_len, 4000);
}

/* Here kill(2) does nothing: so is a process that sleeps in the kernel. */
static int make_unkillable(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}

static int run_unkillable(void unused *data)
{
    struct outcome o = {.free_in_callback = true};

    if (make_unkillable() < 0)
        return 77;
    if (loop_new(&o.loop) < 0)
        return 1;
    if (start(&o, WORLD_SHELL("echo x; exec sleep 5"), 100 * USEC_PER_MSEC, 100) < 0)
        return 2;
    loop_run(o.loop);
    if (!o.result.timed_out || o.result.exit.code != 0 || !str_equal(o.output, "x\n"))
        return 3;
    if (!world_has_children())
        return 4;
    /* It is reaped when it ends after all. */
    for (int i = 0; i < 100 && world_has_children(); i++)
        world_run_quietly(o.loop, 100 * USEC_PER_MSEC);
    loop_free(o.loop);
    return world_has_children() ? 5 : 0;
}

static void unkillable_one_is_given_up(void unused **state)
{
    int r = world_in_process(run_unkillable, NULL);

    if (r == 77) {
        print_message("no seccomp here\n");
        skip();
    }
    assert_int_equal(r, 0);
}

static void group_does_not_survive(void unused **state)
{
    _cleanup_close_ int reader = -1, writer = -1;
    char script[128], rest[8];
    struct outcome o;

    world_pipe(&reader, &writer);
    (void) snprintf(script, sizeof(script),
                    "exec 3>/proc/%d/fd/%d; sleep 1000 & sleep 1000 & exit 4", (int) getpid(),
                    writer);
    o = run(script, WORLD_LIMIT, 100);
    assert_int_equal(o.result.exit.status, 4);
    assert_false(o.result.timed_out);
    writer = close_fd(writer);
    world_read_all(reader, rest, sizeof(rest)); /* ends when nobody holds the pipe any more */
}

/* Someone who left the group goes on holding the output, and even fills it. */
static void deserter_is_not_waited_for(void unused **state)
{
    static const char *const scripts[] = {
        "setsid sleep 1000 >&1 & sleep 0.05; echo $!; exit 6",
        "setsid yes & sleep 0.05; exit 6", /* ends with the pipe */
    };

    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        struct outcome o = run(scripts[i], WORLD_LIMIT, 200);

        assert_int_equal(o.result.exit.status, 6);
        assert_false(o.result.timed_out);
        if (i == 0) {
            assert_true(atoi(o.output) > 1);
            assert_int_equal(kill(atoi(o.output), SIGKILL), 0);
        }
    }
}

static void freeing_kills_and_reaps(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct outcome o = {.loop = l};

    assert_int_equal(start(&o, WORLD_SHELL("sleep 1000 & sleep 1000"), WORLD_LIMIT, 100), 0);
    command_free(o.command);
    while (world_has_children())
        world_run_quietly(l, 5 * USEC_PER_MSEC);
    assert_int_equal(o.calls, 0);

    assert_int_equal(start(&o, WORLD_VECTOR("coalmine-no-such-program"), WORLD_LIMIT, 100), 0);
    command_free(o.command);
    world_run_quietly(l, 10 * USEC_PER_MSEC);
    assert_int_equal(o.calls, 0);
    command_free(NULL);
}

static void callback_may_free(void unused **state)
{
    static const char *const programs[] = {"true", "coalmine-no-such-program"};

    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        struct outcome o = {.loop = world_loop(), .free_in_callback = true};

        assert_int_equal(start(&o, WORLD_VECTOR(programs[i]), WORLD_LIMIT, 100), 0);
        world_run_to_stop(o.loop);
        assert_null(o.command);
        loop_free(o.loop);
    }
}

static int start_and_stop(void *data)
{
    struct outcome *o = data;
    int r = start(o, WORLD_VECTOR("true"), WORLD_LIMIT, 100);

    chaos_disarm();
    if (r < 0)
        return r;
    world_run_to_stop(o->loop);
    command_free(o->command);
    return 0;
}

static void memory_runs_out(void unused **state)
{
    struct outcome o = {.loop = world_loop()};
    size_t fds = world_count_fds();
    int r = -ENOMEM;

    for (unsigned long nth = 1; r == -ENOMEM; nth++) {
        chaos_arm(nth);
        r = start_and_stop(&o);
        assert_true(nth < 100);
        assert_true(nth > 5 || r == -ENOMEM);
        assert_int_equal(world_count_fds(), fds);
        assert_false(world_has_children());
    }
    assert_int_equal(r, 0);
    loop_free(o.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status),
        cmocka_unit_test(output_is_capped),
        cmocka_unit_test(failed_start_is_told),
        cmocka_unit_test(time_is_limited),
        cmocka_unit_test(time_to_clean_up),
        cmocka_unit_test(stubborn_one_is_killed),
        cmocka_unit_test(time_out_after_the_end_is_nothing),
        cmocka_unit_test(closed_output_costs_nothing),
        cmocka_unit_test(flood_is_limited),
        cmocka_unit_test(unkillable_one_is_given_up),
        cmocka_unit_test(group_does_not_survive),
        cmocka_unit_test(deserter_is_not_waited_for),
        cmocka_unit_test(freeing_kills_and_reaps),
        cmocka_unit_test(callback_may_free),
        cmocka_unit_test(memory_runs_out),
    };

    return world_run_group("port_command", tests);
}
