/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos.h"
#include "port/child.h"
#include "port/reaper.h"

struct record {
    struct loop *loop;
    char seen[32]; /* 'c': a child's end, 'e': none is left */
    size_t n;
    int statuses;
};

static void on_empty(void *userdata)
{
    struct record *r = userdata;

    if (r->n + 1 < sizeof(r->seen))
        r->seen[r->n++] = 'e';
    loop_stop(r->loop);
}

static void on_end(const struct child_exit *e, void *userdata)
{
    struct record *r = userdata;

    if (r->n + 1 < sizeof(r->seen))
        r->seen[r->n++] = 'c';
    r->statuses += e->code == CLD_EXITED ? e->status : 1000;
}

static int spawn(struct record *r, const char *script, struct child **ret)
{
    struct child_spec spec = world_spec(WORLD_SHELL(script));

    return child_spawn(r->loop, &spec, on_end, r, ret);
}

/* The subshell's child outlives it and the shell. */
#define LEAVE_ORPHANS "for i in 1 2 3; do (sleep 0.1 & exec sleep 0.05) & done; exit 4"

static void orphans_are_adopted_and_reaped(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    _cleanup_(child_freep) struct child *c = NULL;

    assert_int_equal(reaper_new(l, on_empty, &r, &reaper), 0);
    assert_int_equal(spawn(&r, LEAVE_ORPHANS, &c), 0);
    world_run_to_stop(l);
    assert_string_equal(r.seen, "ce");
    assert_int_equal(r.statuses, 4);
    assert_false(world_has_children());
    world_run_quietly(l, 20 * USEC_PER_MSEC);
}

/* The order of the two is the same whichever of pidfd and SIGCHLD the loop sees first. */
static void own_end_comes_before_emptiness(void unused **state)
{
    for (int round = 0; round < 50; round++) {
        _cleanup_(loop_freep) struct loop *l = world_loop();
        struct record r = {.loop = l};
        _cleanup_(reaper_freep) struct reaper *reaper = NULL;
        _cleanup_(child_freep) struct child *c = NULL;
        siginfo_t info;

        assert_int_equal(reaper_new(l, on_empty, &r, &reaper), 0);
        assert_int_equal(spawn(&r, "exit 4", &c), 0);
        if (round % 2 == 0)
            assert_int_equal(waitid(P_PID, (id_t) child_pid(c), &info, WEXITED | WNOWAIT), 0);
        world_run_to_stop(l);
        assert_string_equal(r.seen, "ce");
        assert_int_equal(r.statuses, 4);
    }
}

static void no_status_is_stolen(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    struct child *children[20];

    assert_int_equal(reaper_new(l, on_empty, &r, &reaper), 0);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        assert_int_equal(spawn(&r, "(sleep 0.01 & sleep 0.01 &) & exit 1", &children[i]), 0);
    while (world_has_children())
        world_run_to_stop(l);
    assert_int_equal(r.statuses, 20);
    assert_int_equal(r.seen[r.n - 1], 'e');
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        child_free(children[i]);
}

static pid_t make_zombie(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
    return pid;
}

static void what_ended_before_is_reaped(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    sigset_t chld;

    /* Unblocked, it leaves no trace of the zombie. */
    (void) sigemptyset(&chld);
    (void) sigaddset(&chld, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &chld, NULL), 0);
    (void) make_zombie();
    assert_int_equal(reaper_new(l, on_empty, &r, &reaper), 0);
    world_run_to_stop(l);
    assert_string_equal(r.seen, "e");
    assert_false(world_has_children());
}

static void nobody_ended_nobody_told(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;

    assert_int_equal(reaper_new(l, on_empty, &r, &reaper), 0);
    world_run_quietly(l, 20 * USEC_PER_MSEC);
    assert_int_equal(r.n, 0);
}

/* Whoever comes next hears nothing of what ended before. */
static void each_hears_of_its_own_time(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record first = {.loop = l}, second = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    _cleanup_(child_freep) struct child *c = NULL;

    assert_int_equal(reaper_new(l, on_empty, &first, &reaper), 0);
    (void) make_zombie();
    world_run_to_stop(l);
    (void) make_zombie();
    reaper_tell(reaper, NULL, NULL);
    world_run_quietly(l, 50 * USEC_PER_MSEC);
    assert_false(world_has_children());
    reaper_tell(reaper, on_empty, &second);
    world_run_quietly(l, 50 * USEC_PER_MSEC);
    assert_int_equal(second.n, 0);
    assert_int_equal(spawn(&second, LEAVE_ORPHANS, &c), 0);
    world_run_to_stop(l);
    assert_string_equal(second.seen, "ce");
    assert_string_equal(first.seen, "e");
}

/* A child nobody watches any more is an orphan like others. */
static void freed_child_is_reaped(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    struct child *c = NULL;

    assert_int_equal(reaper_new(l, NULL, NULL, &reaper), 0);
    assert_int_equal(spawn(&r, "exit 4", &c), 0);
    child_free(c);
    world_run_quietly(l, 100 * USEC_PER_MSEC);
    assert_false(world_has_children());
    assert_int_equal(r.n, 0);
}

/* A zombie with a struct child stands before another in the kernel's list; neither may be lost, nor
 * may the loop spin. */
static void hidden_zombie_is_found(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    _cleanup_(child_freep) struct child *c = NULL;
    siginfo_t info;

    assert_int_equal(reaper_new(l, on_empty, &r, &reaper), 0);
    assert_int_equal(spawn(&r, "exit 4", &c), 0);
    assert_int_equal(waitid(P_PID, (id_t) child_pid(c), &info, WEXITED | WNOWAIT), 0);
    (void) make_zombie();
    world_run_to_stop(l);
    assert_string_equal(r.seen, "ce");
    assert_false(world_has_children());
}

static void waiting_costs_nothing(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct record r = {.loop = l};
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    _cleanup_(child_freep) struct child *c = NULL;
    struct rusage before, after;

    assert_int_equal(reaper_new(l, on_empty, &r, &reaper), 0);
    assert_int_equal(spawn(&r, "sleep 0.2", &c), 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    world_run_to_stop(l);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_nvcsw - before.ru_nvcsw < 20);
}

static void only_one_reaper(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;
    struct reaper *second = NULL;
    int subreaper = 0;

    assert_int_equal(reaper_new(l, NULL, NULL, &reaper), 0);
    assert_int_equal(reaper_new(l, NULL, NULL, &second), -EEXIST);
    assert_null(second);
    assert_int_equal(prctl(PR_GET_CHILD_SUBREAPER, &subreaper), 0);
    assert_int_equal(subreaper, 1);
    reaper_free(NULL);
}

static int adopt(struct loop *l)
{
    struct record r = {.loop = l};
    struct reaper *reaper = NULL;
    struct child *c = NULL;

    if (reaper_new(l, on_empty, &r, &reaper) < 0)
        return 2;
    if (spawn(&r, LEAVE_ORPHANS, &c) < 0)
        return 3;
    loop_run(l);
    reaper_free(reaper);
    child_free(c);
    return strcmp(r.seen, "ce") == 0 && !world_has_children() ? 0 : 4;
}

static int as_init(void unused *data)
{
    struct loop *l = NULL;

    return getpid() == 1 && loop_new(&l) == 0 ? adopt(l) : 5;
}

/* The first process of a new PID namespace is its init. */
static int in_namespace(void unused *data)
{
    return unshare(CLONE_NEWPID) < 0 ? 77 : world_in_process(as_init, NULL);
}

static void works_as_init(void unused **state)
{
    int r = world_in_process(in_namespace, NULL);

    if (r == 77) {
        print_message("no right to make a PID namespace\n");
        skip();
    }
    assert_int_equal(r, 0);
}

static int make_reaper(void *data)
{
    _cleanup_(reaper_freep) struct reaper *reaper = NULL;

    return reaper_new(data, NULL, NULL, &reaper);
}

static void memory_runs_out(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    size_t fds = world_count_fds();

    assert_int_equal(chaos_each(make_reaper, l), 4);
    assert_int_equal(world_count_fds(), fds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orphans_are_adopted_and_reaped),
        cmocka_unit_test(own_end_comes_before_emptiness),
        cmocka_unit_test(no_status_is_stolen),
        cmocka_unit_test(what_ended_before_is_reaped),
        cmocka_unit_test(nobody_ended_nobody_told),
        cmocka_unit_test(each_hears_of_its_own_time),
        cmocka_unit_test(freed_child_is_reaped),
        cmocka_unit_test(hidden_zombie_is_found),
        cmocka_unit_test(waiting_costs_nothing),
        cmocka_unit_test(only_one_reaper),
        cmocka_unit_test(works_as_init),
        cmocka_unit_test(memory_runs_out),
    };

    return world_run_group("port_reaper", tests);
}
