/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct child_spec world_spec(char *const *argv)
{
    return (struct child_spec){
        .argv = argv,
        .environment = environ,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = -1,
        .cgroup_fd = -1,
    };
}

struct limit {
    struct loop *loop;
    bool up;
};

static void on_limit(void *userdata)
{
    struct limit *limit = userdata;

    limit->up = true;
    loop_stop(limit->loop);
}

bool world_run(struct loop *l, usec_t limit)
{
    _cleanup_(loop_timer_freep) struct loop_timer *timer = NULL;
    struct limit data = {.loop = l};

    assert_int_equal(loop_timer_new(l, on_limit, &data, &timer), 0);
    loop_timer_set(timer, usec_add(world_now(), limit));
    loop_run(l);
    return !data.up;
}

void world_run_to_stop(struct loop *l)
{
    assert_true(world_run(l, WORLD_LIMIT));
}

void world_run_quietly(struct loop *l, usec_t span)
{
    assert_false(world_run(l, span));
}

struct loop *world_loop(void)
{
    struct loop *l = NULL;

    assert_int_equal(loop_new(&l), 0);
    assert_non_null(l);
    return l;
}

usec_t world_now(void)
{
    return loop_now().monotonic;
}

size_t world_count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

bool world_has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void world_pipe(int *ret_reader, int *ret_writer)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    *ret_reader = fds[0];
    *ret_writer = fds[1];
}

void world_read_all(int fd, char *buf, size_t size)
{
    size_t used = 0;
    ssize_t n;

    while ((n = read(fd, buf + used, size - 1 - used)) > 0)
        used += (size_t) n;
    assert_int_equal(n, 0);
    if (used > 0 && buf[used - 1] == '\n')
        used--;
    buf[used] = '\0';
}

int world_in_process(int (*fn)(void *), void *data)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        (void) alarm((unsigned int) (WORLD_LIMIT / USEC_PER_SEC));
        _exit(fn(data));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void pidfds_are_missing(void unused **state)
{
    print_message("no process can be watched: pidfd_open: %s\n", strerror(ENOSYS));
    skip();
}

int world_run_tests(const char *name, const struct CMUnitTest tests[], size_t n)
{
    const struct CMUnitTest instead[] = {cmocka_unit_test(pidfds_are_missing)};
    int fd = pidfd_open(getpid(), 0);

    if (fd < 0 && errno == ENOSYS)
        return cmocka_run_group_tests_name(name, instead, NULL, NULL);
    close_fd(fd);
    return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}
