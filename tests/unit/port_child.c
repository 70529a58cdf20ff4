/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "chaos.h"
#include "port/child.h"
#include "world.h"

struct end {
    struct loop *loop;
    struct child *child;
    struct child_exit exit;
    int calls;
    bool free_in_callback;
};

static void on_end(const struct child_exit *e, void *userdata)
{
    struct end *end = userdata;

    end->exit = *e;
    end->calls++;
    if (end->free_in_callback) {
        child_free(end->child);
        end->child = NULL;
    }
    loop_stop(end->loop);
}

static struct child_exit run(const struct child_spec *spec)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    _cleanup_(child_freep) struct child *c = NULL;
    struct end end = {.loop = l};

    assert_int_equal(child_spawn(l, spec, on_end, &end, &c), 0);
    assert_true(child_pid(c) > 0);
    world_run_to_stop(l);
    assert_int_equal(end.calls, 1);
    assert_false(child_is_watched(child_pid(c)));
    assert_false(world_has_children());
    return end.exit;
}

/* What it writes to its standard output. */
static void run_for_output(struct child_spec spec, char *buf, size_t size)
{
    _cleanup_close_ int reader = -1, writer = -1;

    world_pipe(&reader, &writer);
    spec.stdout_fd = writer;
    (void) run(&spec);
    writer = close_fd(writer);
    world_read_all(reader, buf, size);
}

static void assert_fails(const struct child_spec *spec, int error)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct child *c = NULL;
    size_t fds = world_count_fds();

    assert_int_equal(child_spawn(l, spec, on_end, NULL, &c), error);
    assert_null(c);
    assert_false(world_has_children());
    assert_int_equal(world_count_fds(), fds);
}

static void ends_are_told(void unused **state)
{
    struct child_spec spec = world_spec(WORLD_SHELL("exit 7"));
    struct child_exit e = run(&spec);

    assert_int_equal(e.code, CLD_EXITED);
    assert_int_equal(e.status, 7);

    spec.argv = WORLD_SHELL("kill -KILL $$");
    e = run(&spec);
    assert_int_equal(e.code, CLD_KILLED);
    assert_int_equal(e.status, SIGKILL);
}

static void write_file(const char *path, const char *content, mode_t mode)
{
    _cleanup_close_ int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t) strlen(content));
}

static void failures_are_told(void unused **state)
{
    char directory[] = "/tmp/coalmine-XXXXXX";
    struct child_spec spec = world_spec(WORLD_VECTOR("coalmine-no-such-program"));

    assert_fails(&spec, -ENOENT);
    spec.argv = WORLD_VECTOR("/nonexistent/program");
    assert_fails(&spec, -ENOENT);
    spec.argv = WORLD_VECTOR("");
    assert_fails(&spec, -ENOENT);
    spec.argv = WORLD_VECTOR("/etc/passwd");
    assert_fails(&spec, -EACCES);
    spec.argv = WORLD_VECTOR("/");
    assert_fails(&spec, -EACCES);
    spec.argv = (char *[]){NULL};
    assert_fails(&spec, -EINVAL);

    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    write_file("orphan", "#!/nonexistent/interpreter\n", 0755);
    write_file("text", "no program\n", 0755);
    spec.argv = WORLD_VECTOR("./orphan");
    assert_fails(&spec, -ENOENT);
    spec.argv = WORLD_VECTOR("./text");
    assert_fails(&spec, -ENOEXEC);
    assert_int_equal(unlink("orphan") | unlink("text") | chdir("/") | rmdir(directory), 0);
}

static void bad_surroundings_are_told(void unused **state)
{
    struct child_spec spec = world_spec(WORLD_VECTOR("/bin/true"));

    spec.working_directory = "/nonexistent";
    assert_fails(&spec, -ENOTDIR);
    spec.working_directory = "/etc/passwd";
    assert_fails(&spec, -ENOTDIR);
    spec.working_directory = NULL;
    spec.stdout_fd = 1000000;
    assert_fails(&spec, -EBADF);
    spec.stdout_fd = -1;
    spec.cgroup_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_fails(&spec, -EBADF);
    close_fd(spec.cgroup_fd);
}

static void working_directory_and_environment(void unused **state)
{
    struct child_spec spec = world_spec(WORLD_SHELL("pwd; echo $COLOUR"));
    char output[128];

    spec.working_directory = "/usr";
    spec.environment = WORLD_VECTOR("COLOUR=blue");
    run_for_output(spec, output, sizeof(output));
    assert_string_equal(output, "/usr\nblue");

    /* Relative, the program counts from the working directory. */
    assert_int_equal(chdir("/tmp"), 0);
    spec.argv = WORLD_VECTOR("bin/env");
    run_for_output(spec, output, sizeof(output));
    assert_string_equal(output, "COLOUR=blue");
    spec.argv = WORLD_VECTOR("env");
    spec.environment = WORLD_VECTOR("PATH=nowhere:bin");
    run_for_output(spec, output, sizeof(output));
    assert_string_equal(output, "PATH=nowhere:bin");
}

static void standard_streams(void unused **state)
{
    struct child_spec spec = world_spec(WORLD_SHELL("cd /proc/self/fd; readlink 0 2"));
    _cleanup_close_ int reader = -1, writer = -1, input = -1, feed = -1;
    char output[128];

    run_for_output(spec, output, sizeof(output));
    assert_string_equal(output, "/dev/null\n/dev/null");

    world_pipe(&reader, &writer);
    world_pipe(&input, &feed);
    assert_int_equal(write(feed, "given", 5), 5);
    feed = close_fd(feed);
    spec.argv = WORLD_SHELL("cat; echo failed >&2");
    spec.stdin_fd = input;
    spec.stdout_fd = writer;
    spec.stderr_fd = writer;
    (void) run(&spec);
    writer = close_fd(writer);
    world_read_all(reader, output, sizeof(output));
    assert_string_equal(output, "givenfailed");
}

/* The same as run(), for where nothing may be asserted: 0 if it ended with status 0. */
static int run_bare(const struct child_spec *spec)
{
    struct end end = {};

    if (loop_new(&end.loop) < 0 || child_spawn(end.loop, spec, on_end, &end, &end.child) < 0)
        return 1;
    loop_run(end.loop);
    return end.exit.code == CLD_EXITED ? end.exit.status : 2;
}

struct pipes {
    int out[2], err[2], in[2];
};

/* Our own 0, 1 and 2 given crosswise must not overwrite each other. */
static int run_crossed(void *data)
{
    struct pipes *p = data;
    struct child_spec spec = world_spec(WORLD_SHELL("cat; echo err >&2"));

    if (dup2(p->out[1], 0) < 0 || dup2(p->err[1], 1) < 0 || dup2(p->in[0], 2) < 0)
        return 3;
    spec.stdin_fd = 2;
    spec.stdout_fd = 0;
    spec.stderr_fd = 1;
    return run_bare(&spec);
}

/* Without 0, 1 and 2 every descriptor that the spawn itself opens would get one of these
 * numbers. */
static int run_closed(void *data)
{
    struct pipes *p = data;
    struct child_spec spec = world_spec(WORLD_SHELL("cat; echo err >&2"));

    spec.stdin_fd = p->in[0];
    spec.stdout_fd = p->out[1];
    spec.stderr_fd = p->err[1];
    spec.working_directory = "/";
    for (int i = 0; i < 3; i++)
        close(i);
    return run_bare(&spec);
}

static void any_descriptors_fit(int (*run_with)(void *))
{
    struct pipes p;
    char output[32];

    world_pipe(&p.out[0], &p.out[1]);
    world_pipe(&p.err[0], &p.err[1]);
    world_pipe(&p.in[0], &p.in[1]);
    assert_int_equal(write(p.in[1], "in", 2), 2);
    close_fd(p.in[1]);
    assert_int_equal(world_in_process(run_with, &p), 0);
    close_fd(p.in[0]);
    close_fd(p.out[1]);
    close_fd(p.err[1]);
    world_read_all(p.out[0], output, sizeof(output));
    assert_string_equal(output, "in");
    world_read_all(p.err[0], output, sizeof(output));
    assert_string_equal(output, "err");
    close_fd(p.out[0]);
    close_fd(p.err[0]);
}

static void crossed_descriptors(void unused **state)
{
    any_descriptors_fit(run_crossed);
}

static void closed_descriptors(void unused **state)
{
    any_descriptors_fit(run_closed);
}

static int fail_closed(void unused *data)
{
    struct child_spec spec = world_spec(WORLD_VECTOR("/nonexistent/program"));
    struct child *c = NULL;
    struct loop *l;

    if (loop_new(&l) < 0)
        return 1;
    for (int i = 0; i < 3; i++)
        close(i);
    return child_spawn(l, &spec, on_end, NULL, &c) == -ENOENT ? 0 : 2;
}

static void failure_with_closed_descriptors(void unused **state)
{
    assert_int_equal(world_in_process(fail_closed, NULL), 0);
}

static void nothing_leaks_into_it(void unused **state)
{
    struct child_spec spec = world_spec(WORLD_VECTOR("/bin/ls", "/proc/self/fd"));
    _cleanup_close_ int leaky = fcntl(STDIN_FILENO, F_DUPFD, 50);
    char output[64];

    assert_true(leaky >= 50);
    run_for_output(spec, output, sizeof(output));
    assert_string_equal(output, "0\n1\n2\n3"); /* the last is the directory that ls reads */
}

/* 32 and 33 are glibc's own: whoever was started through posix_spawn(), as make does it, has them
 * ignored, and sigaction(2) does not touch them. */
#define LIBC_SIGNALS (UINT64_C(3) << 31)

static void signals_are_reset(void unused **state)
{
    struct child_spec spec =
        world_spec(WORLD_VECTOR("/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"));
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pipe_before, usr1_before;
    sigset_t term, before;
    uint64_t blocked, ignored;
    char output[128];

    (void) sigemptyset(&term);
    (void) sigaddset(&term, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &term, &before), 0);
    assert_int_equal(sigaction(SIGPIPE, &ignore, &pipe_before), 0);
    assert_int_equal(sigaction(SIGUSR1, &ignore, &usr1_before), 0);
    run_for_output(spec, output, sizeof(output));
    assert_int_equal(sscanf(output, "SigBlk:\t%" SCNx64 "\nSigIgn:\t%" SCNx64, &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & ~LIBC_SIGNALS, 0);
    assert_int_equal(sigaction(SIGPIPE, &pipe_before, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &usr1_before, NULL), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, &term), 0);
    assert_true(sigismember(&term, SIGTERM)); /* ours is as it was */
    assert_false(sigismember(&term, SIGUSR1));
}

static void session_of_its_own(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct end end = {.loop = l};
    struct child_spec spec = world_spec(WORLD_VECTOR("/bin/sleep", "1000"));
    _cleanup_(child_freep) struct child *c = NULL;

    assert_int_equal(child_spawn(l, &spec, on_end, &end, &c), 0);
    assert_int_equal(getsid(child_pid(c)), child_pid(c));
    assert_int_equal(getpgid(child_pid(c)), child_pid(c));
    assert_true(child_is_watched(child_pid(c)));
    assert_false(child_is_watched(getpid()));
    assert_int_equal(child_signal(c, SIGTERM), 0);
    world_run_to_stop(l);
    assert_int_equal(end.exit.code, CLD_KILLED);
    assert_int_equal(end.exit.status, SIGTERM);
    assert_int_equal(child_signal(c, SIGTERM), 0);
    assert_int_equal(child_signal_group(c, 1000), 0); /* not even looked at */
}

static void bad_signal_is_refused(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct end end = {.loop = l};
    struct child_spec spec = world_spec(WORLD_SHELL("sleep 1000 & wait"));
    _cleanup_(child_freep) struct child *c = NULL;

    assert_int_equal(child_spawn(l, &spec, on_end, &end, &c), 0);
    assert_int_equal(child_signal(c, 1000), -EINVAL);
    assert_int_equal(child_signal_group(c, 1000), -EINVAL);
    assert_int_equal(child_signal_group(c, SIGKILL), 0);
    world_run_to_stop(l);
    assert_int_equal(end.exit.status, SIGKILL);
}

/* The shell leaves behind a process that holds the pipe. */
static const char leave_one_behind[] = "sleep 1000 & echo $!; exit 3";

static void group_is_killed_if_wanted(void unused **state)
{
    struct child_spec spec = world_spec(WORLD_SHELL(leave_one_behind));
    _cleanup_close_ int reader = -1, writer = -1;
    char output[32];

    spec.kill_group = true;
    world_pipe(&reader, &writer);
    spec.stdout_fd = writer;
    assert_int_equal(run(&spec).status, 3);
    writer = close_fd(writer);
    world_read_all(reader, output, sizeof(output)); /* ends only with the last holder of the pipe */
    assert_true(atoi(output) > 0);
}

static void group_is_spared_otherwise(void unused **state)
{
    struct child_spec spec = world_spec(WORLD_SHELL(leave_one_behind));
    _cleanup_close_ int reader = -1, writer = -1;
    char output[32] = "";
    pid_t left;

    world_pipe(&reader, &writer);
    spec.stdout_fd = writer;
    assert_int_equal(run(&spec).status, 3);
    assert_true(read(reader, output, sizeof(output) - 1) > 0);
    left = atoi(output);
    assert_true(left > 1);
    assert_int_equal(close(steal_fd(&writer)), 0);
    assert_int_equal(poll(&(struct pollfd){.fd = reader}, 1, 100), 0); /* somebody holds it still */
    assert_int_equal(kill(left, SIGKILL), 0);
}

static void callback_may_free(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct end end = {.loop = l, .free_in_callback = true};
    struct child_spec spec = world_spec(WORLD_VECTOR("/bin/true"));

    assert_int_equal(child_spawn(l, &spec, on_end, &end, &end.child), 0);
    world_run_to_stop(l);
    assert_null(end.child);
}

static void freeing_neither_kills_nor_reaps(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct end end = {.loop = l};
    struct child_spec spec = world_spec(WORLD_VECTOR("/bin/sleep", "1000"));
    struct child *c = NULL;
    int status;
    pid_t pid;

    assert_int_equal(child_spawn(l, &spec, on_end, &end, &c), 0);
    pid = child_pid(c);
    child_free(c);
    assert_false(child_is_watched(pid));
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(end.calls, 0);
    child_free(NULL);
}

/* Starts a child, tells its PID and dies without a chance to clean up. */
static int die_as_parent(void *data)
{
    struct loop *l = world_loop();
    struct child_spec spec = world_spec(WORLD_VECTOR("/bin/sleep", "1000"));
    const int *out = data;
    struct child *c = NULL;
    pid_t pid = 0;

    if (child_spawn(l, &spec, NULL, NULL, &c) == 0)
        pid = child_pid(c);
    if (write(*out, &pid, sizeof(pid)) != (ssize_t) sizeof(pid))
        return 1;
    return raise(SIGKILL);
}

static void dies_with_its_parent(void unused **state)
{
    struct pollfd gone = {.events = POLLIN};
    int reader, writer;
    pid_t pid = 0;

    world_pipe(&reader, &writer);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(world_in_process(die_as_parent, &writer), 255);
    assert_int_equal(read(reader, &pid, sizeof(pid)), sizeof(pid));
    assert_true(pid > 0);
    gone.fd = pidfd_open(pid, 0);
    assert_true(gone.fd >= 0);
    assert_int_equal(poll(&gone, 1, 10000), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    close_fd(gone.fd);
    close_fd(reader);
    close_fd(writer);
}

static void several_at_once(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct end ends[8] = {};
    struct child_spec spec = world_spec(NULL);
    char script[32];

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        ends[i].loop = l;
        (void) snprintf(script, sizeof(script), "sleep 0.0%zu; exit %zu", 9 - i, i);
        spec.argv = WORLD_SHELL(script);
        assert_int_equal(child_spawn(l, &spec, on_end, &ends[i], &ends[i].child), 0);
    }
    while (world_has_children())
        world_run_to_stop(l);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        assert_int_equal(ends[i].calls, 1);
        assert_int_equal(ends[i].exit.status, (int) i);
        child_free(ends[i].child);
    }
}

static void ignored_sigchld_loses_no_status(void unused **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    struct child_spec spec = world_spec(WORLD_SHELL("exit 9"));

    assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
    assert_int_equal(run(&spec).status, 9);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

static void stolen_status_is_told(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    struct end end = {.loop = l, .exit = {.code = -1, .status = -1}};
    struct child_spec spec = world_spec(WORLD_VECTOR("/bin/true"));
    _cleanup_(child_freep) struct child *c = NULL;

    assert_int_equal(child_spawn(l, &spec, on_end, &end, &c), 0);
    assert_int_equal(waitpid(child_pid(c), NULL, 0), child_pid(c));
    world_run_to_stop(l);
    assert_int_equal(end.exit.code, 0);
    assert_int_equal(end.exit.status, 0);
}

static int spawn_and_wait(void *data)
{
    struct loop *l = data;
    struct end end = {.loop = l};
    struct child_spec spec = world_spec(WORLD_VECTOR("true"));
    _cleanup_(child_freep) struct child *c = NULL;
    int r;

    spec.working_directory = "/";
    r = child_spawn(l, &spec, on_end, &end, &c);
    if (r < 0)
        return r;
    chaos_disarm();
    world_run_to_stop(l);
    return 0;
}

static void memory_runs_out(void unused **state)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    size_t fds = world_count_fds();
    int r = -ENOMEM;

    for (unsigned long nth = 1; r == -ENOMEM; nth++) {
        chaos_arm(nth);
        r = spawn_and_wait(l);
        assert_true(nth < 100);
        assert_true(nth > 3 || r == -ENOMEM);
        assert_int_equal(world_count_fds(), fds);
        assert_false(world_has_children());
    }
    assert_int_equal(r, 0);
}

/* What some sandboxes do to clone3(2). */
static int run_without_clone3(void unused *data)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};
    struct child_spec spec = world_spec(WORLD_SHELL("exit 0"));

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return 77;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return 77;
    if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS)
        return 4;
    return run_bare(&spec);
}

static void works_without_clone3(void unused **state)
{
    int r = world_in_process(run_without_clone3, NULL);

    if (r == 77) {
        print_message("no seccomp here\n");
        skip();
    }
    assert_int_equal(r, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_told),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(bad_surroundings_are_told),
        cmocka_unit_test(working_directory_and_environment),
        cmocka_unit_test(standard_streams),
        cmocka_unit_test(crossed_descriptors),
        cmocka_unit_test(closed_descriptors),
        cmocka_unit_test(failure_with_closed_descriptors),
        cmocka_unit_test(nothing_leaks_into_it),
        cmocka_unit_test(signals_are_reset),
        cmocka_unit_test(session_of_its_own),
        cmocka_unit_test(bad_signal_is_refused),
        cmocka_unit_test(group_is_killed_if_wanted),
        cmocka_unit_test(group_is_spared_otherwise),
        cmocka_unit_test(callback_may_free),
        cmocka_unit_test(freeing_neither_kills_nor_reaps),
        cmocka_unit_test(dies_with_its_parent),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(ignored_sigchld_loses_no_status),
        cmocka_unit_test(stolen_status_is_told),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(works_without_clone3),
    };

    return world_run_group("port_child", tests);
}
