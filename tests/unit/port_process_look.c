/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "port/process_look.h"
#include "port/process_sockets.h"
#include "port/procinfo.h"
#include "world.h"

/* A child that does fn() after it has said that it lives. */
static pid_t child_that(void (*fn)(void))
{
    int reader, writer;
    char byte;
    pid_t pid;

    world_pipe(&reader, &writer);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void) !write(writer, "x", 1);
        fn();
        _exit(1);
    }
    assert_int_equal(read(reader, &byte, 1), 1);
    (void) close(reader);
    (void) close(writer);
    return pid;
}

static void sleeps(void)
{
    for (;;)
        (void) pause();
}

static void spins(void)
{
    for (;;)
        continue;
}

/* Its child never calls execve(), so that it waits where signals other than SIGKILL do not reach it. */
static void waits_in_vfork(void)
{
    pid_t parent = getpid();

    if (vfork() == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            (void) pause();
        _exit(0);
    }
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void await_state(pid_t pid, char wanted)
{
    usec_t until = usec_add(world_now(), WORLD_LIMIT);
    struct procinfo_stat stat = {};

    while (stat.state != wanted && world_now() < until)
        assert_int_equal(procinfo_stat(pid, &stat), 0);
    assert_int_equal(stat.state, wanted);
}

static void sees_where_a_process_waits(void **state unused)
{
    pid_t pid = child_that(sleeps);
    struct snapshot s = {};
    const struct snapshot_process *p = &s.processes[0];

    await_state(pid, 'S');
    assert_int_equal(process_look(&pid, 1, &s), 0);
    assert_int_equal(s.n, 1);
    p = &s.processes[0];
    assert_int_equal(p->pid, pid);
    assert_int_equal(p->parent, getpid());
    assert_int_equal(p->state, 'S');
    assert_string_equal(p->name, "port_process_lo");
    assert_int_equal(p->n_waits, 1);
    assert_int_equal(p->waits[0].threads, 1);
    /* Root may see where in the kernel. */
    if (geteuid() == 0) {
        assert_non_null(p->stack);
        assert_non_null(strstr(p->stack[0], "+0x"));
        assert_null(strstr(p->stack[0], "[<"));
    }
    snapshot_release(&s);
    end(pid);
}

static void tells_the_uninterruptible_one(void **state unused)
{
    pid_t stopped = child_that(sleeps), stuck = child_that(waits_in_vfork), pids[] = { stopped, stuck };
    struct snapshot s = {};
    char *text;

    assert_int_equal(kill(stopped, SIGSTOP), 0);
    await_state(stopped, 'T');
    await_state(stuck, 'D');
    assert_int_equal(process_look(pids, 2, &s), 0);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.processes[0].state, 'T');
    assert_int_equal(s.processes[1].state, 'D');
    text = snapshot_describe_stuck(&s);
    assert_non_null(strstr(text, "uninterruptible sleep"));
    free(text);
    snapshot_release(&s);
    end(stopped);
    end(stuck);
}

static void leaves_out_what_is_gone(void **state unused)
{
    pid_t gone = child_that(sleeps), pids[] = { gone, getpid() };
    struct snapshot s = {};

    end(gone);
    assert_int_equal(process_look(pids, 2, &s), 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.processes[0].pid, getpid());
    snapshot_release(&s);
}

static void is_bounded(void **state unused)
{
    pid_t pids[100];
    struct snapshot s = {};

    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        pids[i] = getpid();
    assert_int_equal(process_look(pids, ARRAY_SIZE(pids), &s), 0);
    assert_int_equal(s.n + s.left_out, 100);
    assert_true(s.n < 100);
    snapshot_release(&s);
}

static void counts_cpu_time(void **state unused)
{
    pid_t pid = child_that(spins);
    struct procinfo_stat stat = {};
    usec_t until = usec_add(world_now(), WORLD_LIMIT);

    while (stat.cpu_usec < 50 * USEC_PER_MSEC && world_now() < until)
        assert_int_equal(procinfo_stat(pid, &stat), 0);
    assert_true(stat.cpu_usec >= 50 * USEC_PER_MSEC);
    end(pid);
    assert_int_equal(procinfo_stat(pid, &stat), -ENOENT);
}

static int listen_on(int family)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(family == AF_INET ? bind(fd, (struct sockaddr *) &v4, sizeof v4)
                                       : bind(fd, (struct sockaddr *) &v6, sizeof v6), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void lists_sockets(void **state unused)
{
    int v4 = listen_on(AF_INET), pair[2];
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    _cleanup_strv_ char **lines = NULL;
    _cleanup_free_ char *expected = NULL;
    pid_t self = getpid();

    assert_int_equal(getsockname(v4, (struct sockaddr *) &address, &size), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    expected = str_format("tcp 127.0.0.1:%u listen, PID %d", ntohs(address.sin_port), (int) self);
    assert_int_equal(process_sockets(&self, 1, &lines), 0);
    assert_true(strv_contains(lines, expected));
    assert_non_null(strstr(lines[strv_length(lines) - 1], "others (unix"));
    (void) close(v4);
    (void) close(pair[0]);
    (void) close(pair[1]);
}

static void reads_the_kernels_tables(void **state unused)
{
    char v4[] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
                "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1077 1 x\n"
                "   1: 0100007F:1F90 0200007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 99 1 x\n"
                "   2: broken\n"
                "   3: 0100007F:1F90 0200007F:C351 01 00000000:00000000 00:00000000 00000000     0        0 5 1 x\n";
    char v6[] = "   0: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A "
                "00000000:00000000 00:00000000 00000000     0        0 2000 1 x\n"
                "   1: 0100:1 0:FFFFF FF 0:0 0:0 0 0 0 2000 1 x";
    struct process_socket owned[] = { { .inode = 99, .pid = 7 }, { .inode = 1077, .pid = 8 }, { .inode = 2000, .pid = 9 } };
    _cleanup_strv_ char **lines = NULL;

    assert_int_equal(process_sockets_parse(v4, false, owned, ARRAY_SIZE(owned), &lines), 0);
    assert_int_equal(process_sockets_parse(v6, true, owned, ARRAY_SIZE(owned), &lines), 0);
    assert_int_equal(strv_length(lines), 4);
    assert_string_equal(lines[0], "tcp 127.0.0.1:8080 listen, PID 8");
    assert_string_equal(lines[1], "tcp 127.0.0.1:8080 -> 127.0.0.2:50000 established, PID 7");
    assert_string_equal(lines[2], "tcp [::1]:22 listen, PID 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_where_a_process_waits),
        cmocka_unit_test(tells_the_uninterruptible_one),
        cmocka_unit_test(leaves_out_what_is_gone),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(counts_cpu_time),
        cmocka_unit_test(lists_sockets),
        cmocka_unit_test(reads_the_kernels_tables),
    };

    return cmocka_run_group_tests_name("process_look", tests, NULL, NULL);
}
