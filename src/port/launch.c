/* SPDX-License-Identifier: MIT */
#include "port/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "port/program.h"

/* What the new process needs, made ready before it exists: between clone and execve() it may only
 * call what is async-signal-safe, and allocates nothing. The descriptors of `stdio` and `errors`
 * are copies from 3 upwards, so that putting one in its place (0, 1, 2) overwrites none of the
 * others. */
struct launch {
    const char *program;
    char *const *argv;
    char *const *environment;
    int directory; /* -1: stay */
    int stdio[3];
    int errors;    /* where the errno of a failure goes; closed by execve() */
    int join;      /* a cgroup to enter by hand; -1: none, or already in it */
    pid_t parent;
};

static void launch_release(struct launch *l)
{
    close_fd(l->directory);
    close_fd(l->errors);
    for (size_t i = 0; i < ARRAY_SIZE(l->stdio); i++)
        close_fd(l->stdio[i]);
}

static void reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    /* Those that cannot be set (SIGKILL, SIGSTOP, the C library's own) need no reset. */
    for (int signo = 1; signo < _NSIG; signo++)
        (void) sigaction(signo, &action, NULL);
}

static int join_cgroup(int cgroup_fd)
{
    int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, "0", 1) == 1 ? 0 : -1;
}

/* A supervisor that is killed takes its children with it, also where no service manager cleans up
 * behind it (PR_SET_PDEATHSIG(2const); a parent that has died before the call is noticed by the
 * child's new one). */
static int die_with_parent(const struct launch *l)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -1;
    if (getppid() == l->parent)
        return 0;
    errno = ECHILD;
    return -1;
}

/* In the new process; returns only on failure, with errno set. */
static void become(const struct launch *l)
{
    sigset_t none;

    if (die_with_parent(l) < 0)
        return;
    if (l->join >= 0 && join_cgroup(l->join) < 0)
        return;
    if (setsid() < 0)
        return;
    reset_signals();
    if (l->directory >= 0 && fchdir(l->directory) < 0)
        return;
    for (int i = 0; i < 3; i++) {
        if (dup2(l->stdio[i], i) < 0)
            return;
    }
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        return;
    (void) sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return;
    (void) execve(l->program, l->argv, l->environment);
}

static noreturn void run_child(const struct launch *l)
{
    int error;

    become(l);
    error = errno;
    _exit(write(l->errors, &error, sizeof(error)) == (ssize_t) sizeof(error) ? 127 : 126);
}

/* What clone3() says where it is missing, filtered by a sandbox (RestrictNamespaces= of
 * systemd.exec(5) does so, since flags behind a pointer cannot be filtered) or older than
 * CLONE_INTO_CGROUP. */
static bool clone3_unusable(int error)
{
    return error == ENOSYS || error == EPERM || error == E2BIG || error == EINVAL;
}

static pid_t clone_child(int cgroup_fd, int *ret_pidfd)
{
    struct clone_args args = {
        .flags = CLONE_PIDFD,
        .pidfd = (uintptr_t) ret_pidfd,
        .exit_signal = SIGCHLD,
    };

    if (cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (unsigned int) cgroup_fd;
    }
    return (pid_t) syscall(SYS_clone3, &args, sizeof(args));
}

/* Runs run_child() in a new process. */
static int start(struct launch *l, int cgroup_fd, pid_t *ret_pid, int *ret_pidfd)
{
    int pidfd = -1;
    pid_t pid = clone_child(cgroup_fd, &pidfd);

    if (pid < 0 && clone3_unusable(errno)) {
        l->join = cgroup_fd;
        pid = _Fork(); /* runs no handlers of pthread_atfork(3), as clone3() does not */
    }
    if (pid < 0)
        return -errno;
    if (pid == 0)
        run_child(l);
    if (pidfd < 0)
        pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        int error = errno;

        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
        return -error;
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return 0;
}

/* Handlers of ours must not run in the new process before it has reset them. */
static int start_with_signals_blocked(struct launch *l, int cgroup_fd, pid_t *ret_pid,
                                      int *ret_pidfd)
{
    sigset_t all, before;
    int r;

    (void) sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, &before) < 0)
        return -errno;
    r = start(l, cgroup_fd, ret_pid, ret_pidfd);
    (void) sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}

/* 0 once the other end was closed by execve() (or by the process's death, of which the pidfd
 * tells), otherwise the negative errno that came through. */
static int read_error(int fd)
{
    int error = 0;
    ssize_t n;

    do {
        n = read(fd, &error, sizeof(error));
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return n == (ssize_t) sizeof(error) ? -error : 0;
}

void launch_undo(int pidfd)
{
    siginfo_t info;

    (void) pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t) pidfd, &info, WEXITED) < 0 && errno == EINTR)
        continue;
}

static int start_and_await(struct launch *l, int cgroup_fd, pid_t *ret_pid, int *ret_pidfd)
{
    _cleanup_close_ int errors = -1, pidfd = -1;
    int pipe[2], r;
    pid_t pid = 0;

    if (pipe2(pipe, O_CLOEXEC) < 0)
        return -errno;
    errors = pipe[0];
    l->errors = fcntl(pipe[1], F_DUPFD_CLOEXEC, 3);
    r = l->errors < 0 ? -errno : start_with_signals_blocked(l, cgroup_fd, &pid, &pidfd);
    close_fd(pipe[1]);
    l->errors = close_fd(l->errors);
    if (r < 0)
        return r;
    r = read_error(errors);
    if (r < 0) {
        launch_undo(pidfd);
        return r;
    }
    *ret_pid = pid;
    *ret_pidfd = steal_fd(&pidfd);
    return 0;
}

static int copy_stdio(const struct child_spec *spec, int copies[3])
{
    const int wanted[3] = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd};
    _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return -errno;
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        copies[i] = fcntl(wanted[i] >= 0 ? wanted[i] : null, F_DUPFD_CLOEXEC, 3);
        if (copies[i] < 0)
            return -errno;
    }
    return 0;
}

/* The directory is opened here, so that the program is looked up where it will be executed, and so
 * that its absence is told apart from the program's. */
static int open_directory(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? -ENOTDIR : -errno;
    return fd;
}

int launch_program(const struct child_spec *spec, pid_t *ret_pid, int *ret_pidfd)
{
    _cleanup_(launch_release) struct launch l = {
        .argv = spec->argv,
        .environment = spec->environment,
        .directory = -1,
        .stdio = {-1, -1, -1},
        .errors = -1,
        .join = -1,
        .parent = getpid(),
    };
    _cleanup_free_ char *program = NULL;
    int r;

    if (spec->working_directory) {
        l.directory = open_directory(spec->working_directory);
        if (l.directory < 0)
            return l.directory;
    }
    r = program_find(spec->argv[0], spec->environment, l.directory < 0 ? AT_FDCWD : l.directory,
                     &program);
    if (r < 0)
        return r;
    r = copy_stdio(spec, l.stdio);
    if (r < 0)
        return r;
    l.program = program;
    return start_and_await(&l, spec->cgroup_fd, ret_pid, ret_pidfd);
}
