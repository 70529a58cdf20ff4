/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/str.h"
#include "daemon/dump.h"
#include "port/reaper.h"
#include "world.h"

/* A dump of this test's own descendants, among them one sleeper. */
struct scene {
    struct loop *loop;
    struct reaper *reaper;
    struct processes *processes;
    struct dump *dump;
    pid_t sleeper;
    struct report_config config;
};

static void nobody_left(void *userdata unused)
{
}

static pid_t sleeper(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;)
            (void) pause();
    }
    return pid;
}

static struct scene scene_of(char **command, usec_t time)
{
    struct scene s = {
        .loop = world_loop(), .sleeper = sleeper(), .config = { .dump_command = command, .dump_usec = time }
    };

    assert_int_equal(reaper_new(s.loop, NULL, NULL, &s.reaper), 0);
    assert_int_equal(processes_new(s.loop, NULL, s.reaper, 1, nobody_left, NULL, &s.processes), 0);
    assert_int_equal(dump_new(&s.dump), 0);
    assert_int_equal(dump_look(s.dump, s.processes, "now"), 0);
    return s;
}

static void scene_end(struct scene *s)
{
    dump_free(s->dump);
    processes_free(s->processes);
    reaper_free(s->reaper);
    loop_free(s->loop);
    assert_int_equal(kill(s->sleeper, SIGKILL), 0);
    assert_int_equal(waitpid(s->sleeper, NULL, 0), s->sleeper);
}

static void on_dumped(void *userdata)
{
    struct scene *s = userdata;

    loop_stop(s->loop);
}

static int run(struct scene *s, pid_t main_pid)
{
    static char *environment[] = { (char *) (uintptr_t) "WORD=mine", (char *) (uintptr_t) "PATH=/usr/bin:/bin", NULL };
    struct dump_target target = {
        .processes = s->processes, .main_pid = main_pid, .environment = environment
    };

    return dump_run(s->dump, s->loop, &s->config, &target, on_dumped, s);
}

static void looks_without_a_command(void **state unused)
{
    struct scene s = scene_of(NULL, USEC_PER_SEC);
    struct report_dump report = dump_report(s.dump);

    assert_int_equal(run(&s, s.sleeper), 0);
    assert_string_equal(report.when, "now");
    assert_int_equal(report.snapshot->n, 1);
    assert_int_equal(report.snapshot->processes[0].pid, s.sleeper);
    assert_null(report.command);
    scene_end(&s);
}

static void command_gets_the_pids(void **state unused)
{
    struct scene s = scene_of(WORLD_VECTOR("/bin/sh", "-c", "echo $WORD $1 $SERVER_PIDS; exit 3", "sh",
                                           "<$SERVER_PID>$SERVER_PID"), WORLD_LIMIT);
    _cleanup_free_ char *expected = str_format("mine <%d>%d %d\n", (int) s.sleeper, (int) s.sleeper, (int) s.sleeper);
    struct report_dump report;

    assert_int_equal(run(&s, s.sleeper), 1);
    world_run_to_stop(s.loop);
    report = dump_report(s.dump);
    assert_true(report.ended);
    assert_int_equal(report.exit_status, 3);
    assert_string_equal(report.output, expected);
    scene_end(&s);
}

/* Without its main process, the oldest of the others is looked at. */
static void command_gets_another_when_the_main_process_is_gone(void **state unused)
{
    struct scene s = scene_of(WORLD_SHELL("echo $SERVER_PID"), WORLD_LIMIT);
    _cleanup_free_ char *expected = str_format("%d\n", (int) s.sleeper);

    assert_int_equal(run(&s, 0), 1);
    world_run_to_stop(s.loop);
    assert_string_equal(dump_report(s.dump).output, expected);
    scene_end(&s);
}

static void command_has_its_time(void **state unused)
{
    struct scene s = scene_of(WORLD_SHELL("echo first; sleep 1000"), 300 * USEC_PER_MSEC);
    struct report_dump report;

    assert_int_equal(run(&s, s.sleeper), 1);
    world_run_to_stop(s.loop);
    report = dump_report(s.dump);
    assert_int_equal(report.exit_status, 124);
    assert_string_equal(report.output, "first\n");
    scene_end(&s);
}

static void command_that_is_not_there(void **state unused)
{
    struct scene s = scene_of(WORLD_VECTOR("/nonexistent"), WORLD_LIMIT);
    struct report_dump report;

    assert_int_equal(run(&s, s.sleeper), 1);
    world_run_to_stop(s.loop);
    report = dump_report(s.dump);
    assert_int_equal(report.exit_status, 127);
    assert_string_equal(report.output, strerror(ENOENT));
    scene_end(&s);
}

static void ended_early_tells_nothing(void **state unused)
{
    struct scene s = scene_of(WORLD_SHELL("sleep 1000"), WORLD_LIMIT);

    assert_int_equal(run(&s, s.sleeper), 1);
    dump_end(s.dump);
    world_run_quietly(s.loop, 50 * USEC_PER_MSEC);
    assert_false(dump_report(s.dump).ended);
    assert_non_null(dump_report(s.dump).command);
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_without_a_command),
        cmocka_unit_test(command_gets_the_pids),
        cmocka_unit_test(command_gets_another_when_the_main_process_is_gone),
        cmocka_unit_test(command_has_its_time),
        cmocka_unit_test(command_that_is_not_there),
        cmocka_unit_test(ended_early_tells_nothing),
    };

    return world_run_group("dump", tests);
}
