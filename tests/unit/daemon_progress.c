/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "daemon/progress.h"
#include "port/reaper.h"
#include "scratch.h"
#include "world.h"

/* A look every 50 ms. */
#define STALL (300 * USEC_PER_MSEC)
/* What takes a process of its own may need a while under a sanitizer. */
#define LONG (20 * USEC_PER_SEC)

struct scene {
    struct loop *loop;
    struct reaper *reaper;
    struct processes *processes;
    struct progress *progress;
    struct loop_timer *timer;
    char *directory;
    int fd;
    char *directories[2];
    char *environment[2];
    unsigned signs[N_SIGNS];
    void (*act)(struct scene *s); /* every 20 ms */
    unsigned acts;
};

static void on_work(void *userdata)
{
    struct scene *s = userdata;

    s->signs[progress_view(s->progress).sign]++;
    loop_stop(s->loop);
}

static void on_timer(void *userdata)
{
    struct scene *s = userdata;

    s->acts++;
    s->act(s);
    loop_timer_set(s->timer, usec_add(world_now(), 20 * USEC_PER_MSEC));
}

static void nobody_left(void *userdata unused)
{
}

static void set_up(struct scene *s)
{
    *s = (struct scene){ .loop = world_loop(), .directory = scratch_new() };
    s->fd = open(s->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(s->fd >= 0);
    s->directories[0] = str_format("%s/cache", s->directory);
    assert_int_equal(mkdirat(s->fd, "cache", 0755), 0);
    s->environment[0] = str_format("PATH=%s", s->directory);
    assert_int_equal(reaper_new(s->loop, NULL, NULL, &s->reaper), 0);
    assert_int_equal(processes_new(s->loop, NULL, s->reaper, 1, nobody_left, NULL, &s->processes), 0);
    assert_int_equal(progress_new(s->loop, STALL, on_work, s, &s->progress), 0);
    assert_int_equal(loop_timer_new(s->loop, on_timer, s, &s->timer), 0);
}

static void begin(struct scene *s)
{
    static char *compilers[] = { (char *) (uintptr_t) "cicc", NULL };
    struct progress_target target = {
        .processes = s->processes,
        .compilers = compilers,
        .directories = s->directories,
        .environment = s->environment,
    };

    progress_begin(s->progress, &target);
    if (s->act)
        loop_timer_set(s->timer, 0);
}

static void tear_down(struct scene *s)
{
    progress_end(s->progress);
    progress_free(s->progress);
    processes_free(s->processes);
    reaper_free(s->reaper);
    loop_timer_free(s->timer);
    loop_free(s->loop);
    (void) close(s->fd);
    free(s->directories[0]);
    free(s->environment[0]);
    scratch_remove(s->directory);
}

/* A child with that name, which the kernel shows, doing fn() for ever. */
static pid_t child(const char *name, void (*fn)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) prctl(PR_SET_NAME, name);
        for (;;)
            fn();
    }
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void sleep_a_little(void)
{
    (void) nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
}

static void spin(void)
{
}

/* Half of a CPU. */
static void compile(void)
{
    usec_t until = usec_add(world_now(), 10 * USEC_PER_MSEC);

    while (world_now() < until)
        continue;
    sleep_a_little();
}

static void write_much(void)
{
    static char block[128 * 1024];
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void) !write(fd, block, sizeof block);
    (void) close(fd);
    sleep_a_little();
}

/* One at a time. */
static void start_another(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        sleep_a_little();
        _exit(0);
    }
    (void) waitpid(pid, NULL, 0);
}

/* CPU time alone is no progress, but it is shown. */
static void spinner_makes_none(void **state unused)
{
    pid_t pid = child("python3", spin);
    struct scene s;

    set_up(&s);
    begin(&s);
    world_run_quietly(s.loop, 1500 * USEC_PER_MSEC);
    assert_true(progress_view(s.progress).cpu_percent > 10);
    assert_int_equal(progress_view(s.progress).sign, SIGN_NONE);
    tear_down(&s);
    end(pid);
}

static void compiler_at_work(void **state unused)
{
    pid_t pid = child("cicc", compile);
    struct scene s;

    set_up(&s);
    begin(&s);
    assert_true(world_run(s.loop, LONG));
    assert_int_equal(s.signs[SIGN_COMPILER], 1);
    tear_down(&s);
    end(pid);
}

static void compiler_that_sleeps(void **state unused)
{
    pid_t pid = child("cicc", sleep_a_little);
    struct scene s;

    set_up(&s);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    begin(&s);
    world_run_quietly(s.loop, 1000 * USEC_PER_MSEC);
    tear_down(&s);
    end(pid);
}

static void bytes(void **state unused)
{
    pid_t pid = child("python3", write_much);
    struct scene s;

    set_up(&s);
    begin(&s);
    assert_true(world_run(s.loop, LONG));
    assert_int_equal(s.signs[SIGN_BYTES], 1);
    tear_down(&s);
    end(pid);
}

static void processes(void **state unused)
{
    pid_t pid = child("python3", start_another);
    struct scene s;

    set_up(&s);
    begin(&s);
    assert_true(world_run(s.loop, LONG));
    assert_int_equal(s.signs[SIGN_PROCESSES], 1);
    tear_down(&s);
    end(pid);
}

static void grow_file(struct scene *s)
{
    static char block[16 * 1024];
    char name[32];
    int fd;

    (void) snprintf(name, sizeof name, "cache/%u", s->acts % 10);
    fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    (void) close(fd);
}

/* Whoever writes there, and however little at a time. */
static void directory_that_grows(void **state unused)
{
    struct scene s;

    set_up(&s);
    s.act = grow_file;
    begin(&s);
    assert_true(world_run(s.loop, LONG));
    assert_int_equal(s.signs[SIGN_CACHE], 1);
    tear_down(&s);
}

static void touch_file(struct scene *s)
{
    scratch_write(s->fd, "cache/lock", "x", s->acts % 2);
}

/* Who waits for a lock opens it again and again. */
static void directory_that_is_touched(void **state unused)
{
    struct scene s;

    set_up(&s);
    s.act = touch_file;
    begin(&s);
    world_run_quietly(s.loop, 1500 * USEC_PER_MSEC);
    tear_down(&s);
}

static void write_usage(struct scene *s, unsigned mebibytes)
{
    _cleanup_free_ char *text = str_format("#!/bin/sh\necho '0, %u, 81920, GPU-a'\n", mebibytes);

    scratch_write(s->fd, "nvidia-smi.new", text, strlen(text));
    assert_int_equal(fchmodat(s->fd, "nvidia-smi.new", 0755, 0), 0);
    assert_int_equal(renameat(s->fd, "nvidia-smi.new", s->fd, "nvidia-smi"), 0);
}

static void fill_gpu(struct scene *s)
{
    write_usage(s, 100 + s->acts);
}

static void gpu_that_fills(void **state unused)
{
    struct scene s;

    set_up(&s);
    s.act = fill_gpu;
    begin(&s);
    assert_true(world_run(s.loop, LONG));
    assert_int_equal(s.signs[SIGN_GPU], 1);
    tear_down(&s);
}

static void gpu_that_does_not(void **state unused)
{
    struct scene s;

    set_up(&s);
    write_usage(&s, 40000);
    begin(&s);
    world_run_quietly(s.loop, 1500 * USEC_PER_MSEC);
    tear_down(&s);
}

static void notes_are_shown(void **state unused)
{
    struct scene s;
    struct progress_view view;

    set_up(&s);
    begin(&s);
    view = progress_view(s.progress);
    assert_int_equal(view.sign, SIGN_NONE);
    assert_true(view.when.monotonic <= world_now());
    progress_note(s.progress, SIGN_OUTPUT);
    assert_string_equal(sign_text(progress_view(s.progress).sign), "output");
    assert_true(progress_view(s.progress).when.monotonic >= view.when.monotonic);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spinner_makes_none),
        cmocka_unit_test(compiler_at_work),
        cmocka_unit_test(compiler_that_sleeps),
        cmocka_unit_test(bytes),
        cmocka_unit_test(processes),
        cmocka_unit_test(directory_that_grows),
        cmocka_unit_test(directory_that_is_touched),
        cmocka_unit_test(gpu_that_fills),
        cmocka_unit_test(gpu_that_does_not),
        cmocka_unit_test(notes_are_shown),
    };

    return world_run_group("progress", tests);
}
