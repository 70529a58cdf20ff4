/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/str.h"
#include "port/netowner.h"
#include "port/sockdiag.h"

union address {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

enum { ONLY_V6 = 1, NO_LISTEN = 2 };

static union address make_address(const char *text, uint16_t port, socklen_t *ret_len)
{
    union address a = {};

    if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(port);
        *ret_len = sizeof(a.v4);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &a.v6.sin6_addr), 1);
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(port);
        *ret_len = sizeof(a.v6);
    }
    return a;
}

/* A socket at the address; *port is used, or chosen if it is 0. -1 where there is no such
 * address. */
static int open_socket(const char *text, uint16_t *port, int flags)
{
    socklen_t len;
    union address a = make_address(text, *port, &len);
    int fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int only_v6 = (flags & ONLY_V6) != 0, on = 1;

    if (fd < 0)
        return -1;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
    if (a.sa.sa_family == AF_INET6)
        assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6)), 0);
    if (bind(fd, &a.sa, len) < 0 || (!(flags & NO_LISTEN) && listen(fd, 1) < 0))
        return close_fd(fd);
    assert_int_equal(getsockname(fd, &a.sa, &len), 0);
    *port = ntohs(a.sa.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    return fd;
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static void need_ipv6(void)
{
    uint16_t port = 0;
    int fd = open_socket("::1", &port, NO_LISTEN);

    if (fd < 0) {
        print_message("no IPv6 on the loopback interface\n");
        skip();
    }
    close_fd(fd);
}

static const struct row {
    const char *name;
    const char *bound;
    int flags;
    const char *host;
    int expected;
} rows[] = {
    {"exact", "127.0.0.1", 0, "127.0.0.1", 1},
    {"by name", "127.0.0.1", 0, "localhost", 1},
    {"name in capitals", "127.0.0.1", 0, "LOCALHOST", 1},
    {"wildcard", "0.0.0.0", 0, "127.0.0.1", 1},
    {"wildcard by name", "0.0.0.0", 0, "localhost", 1},
    {"other loopback address", "127.0.0.2", 0, "127.0.0.1", 0},
    {"that other one", "127.0.0.2", 0, "127.0.0.2", 1},
    {"other by name", "127.0.0.2", 0, "localhost", 0},
    {"connect to the wildcard", "127.0.0.1", 0, "0.0.0.0", 1},
    {"wildcard to wildcard", "0.0.0.0", 0, "0.0.0.0", 1},
    {"mapped host", "127.0.0.1", 0, "::ffff:127.0.0.1", 1},
    {"IPv4 for IPv6", "127.0.0.1", 0, "::1", 0},
    {"IPv4 wildcard for IPv6", "0.0.0.0", 0, "::1", 0},
    {"IPv6", "::1", 0, "::1", 1},
    {"IPv6 by name", "::1", 0, "localhost", 1},
    {"IPv6 for IPv4", "::1", 0, "127.0.0.1", 0},
    {"IPv6 wildcard", "::", 0, "::1", 1},
    {"both families", "::", 0, "127.0.0.1", 1},
    {"both families by name", "::", 0, "localhost", 1},
    {"IPv6 only", "::", ONLY_V6, "::1", 1},
    {"IPv6 only for IPv4", "::", ONLY_V6, "127.0.0.1", 0},
    {"connect to the IPv6 wildcard", "::1", 0, "::", 1},
    {"mapped address", "::ffff:127.0.0.1", 0, "127.0.0.1", 1},
    {"mapped wildcard", "::ffff:0.0.0.0", 0, "127.0.0.1", 1},
    {"mapped for IPv6", "::ffff:127.0.0.1", 0, "::1", 0},
    {"not listening", "127.0.0.1", NO_LISTEN, "127.0.0.1", 0},
};

static void listeners(void unused **state)
{
    need_ipv6();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint16_t port = 0;
        _cleanup_close_ int fd = open_socket(rows[i].bound, &port, rows[i].flags);
        uint64_t inode = 0;

        assert_row(rows[i].name, fd >= 0);
        assert_row(rows[i].name, netowner_listener(rows[i].host, port, &inode) == rows[i].expected);
        assert_row(rows[i].name, inode == (rows[i].expected ? inode_of(fd) : 0));
    }
}

static void what_connects_is_what_is_found(void unused **state)
{
    need_ipv6();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint16_t port = 0;
        _cleanup_close_ int fd = open_socket(rows[i].bound, &port, rows[i].flags), client = -1;
        socklen_t len;
        union address a;

        assert_row(rows[i].name, fd >= 0);
        if (strcasecmp(rows[i].host, "localhost") == 0)
            continue;
        a = make_address(rows[i].host, port, &len);
        client = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_row(rows[i].name, (connect(client, &a.sa, len) == 0) == (rows[i].expected == 1));
    }
}

/* True if a connection to the address arrives at the listener. */
static bool arrives_at(int listener, const char *text, uint16_t port)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    _cleanup_close_ int client = -1, accepted = -1;
    socklen_t len;
    union address a = make_address(text, port, &len);

    client = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, &a.sa, len), 0);
    if (poll(&p, 1, 100) == 0)
        return false;
    accepted = accept(listener, NULL, NULL);
    return accepted >= 0;
}

/* Of several listeners on a port the one that gets the connection, in whatever order they came. */
static void the_kernels_choice(void unused **state)
{
    static const char *const orders[][3] = {
        {"127.0.0.1", "0.0.0.0", "::"}, {"127.0.0.1", "::", "0.0.0.0"},
        {"0.0.0.0", "127.0.0.1", "::"}, {"0.0.0.0", "::", "127.0.0.1"},
        {"::", "127.0.0.1", "0.0.0.0"}, {"::", "0.0.0.0", "127.0.0.1"},
    };
    static const char *const best[] = {"127.0.0.1", "0.0.0.0", "::"};

    need_ipv6();
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        uint16_t port = 0;
        int fds[3];

        for (size_t j = 0; j < 3; j++)
            fds[j] = open_socket(orders[i][j], &port, 0);
        for (size_t b = 0; b < ARRAY_SIZE(best); b++) {
            uint64_t inode = 0;
            size_t j = 0;

            while (!str_equal(orders[i][j], best[b]))
                j++;
            assert_row(best[b], netowner_listener("127.0.0.1", port, &inode) == 1);
            assert_row(best[b], inode == inode_of(fds[j]));
            assert_row(best[b], arrives_at(fds[j], "127.0.0.1", port));
            fds[j] = close_fd(fds[j]); /* now the next best */
        }
    }
}

static void hosts_that_are_not_ours(void unused **state)
{
    static const char *const hosts[] = {
        "192.0.2.1",    "2001:db8::1", "example.org",       "",
        "127.0.0.1:80", "[::1]",       "localhost.example", "127.0.0.256",
    };
    uint16_t port = 0;
    _cleanup_close_ int fd = open_socket("0.0.0.0", &port, 0);
    uint64_t inode = 0;

    assert_true(fd >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
        assert_row(hosts[i], netowner_listener(hosts[i], port, &inode) == -EINVAL);
    assert_int_equal(inode, 0);
}

/* More listeners than one answer of the kernel holds. */
static void many_listeners(void unused **state)
{
    static const int n = 400;
    _cleanup_free_ int *fds = calloc(n, sizeof(int));
    char text[32];
    uint16_t port = 0;
    uint64_t inode = 0;

    for (int i = 0; i < n; i++) {
        (void) snprintf(text, sizeof(text), "127.0.%d.%d", 1 + i / 200, 1 + i % 200);
        fds[i] = open_socket(text, &port, 0);
        assert_true(fds[i] >= 0);
    }
    for (int i = 0; i < n; i += 7) {
        (void) snprintf(text, sizeof(text), "127.0.%d.%d", 1 + i / 200, 1 + i % 200);
        assert_int_equal(netowner_listener(text, port, &inode), 1);
        assert_int_equal(inode, inode_of(fds[i]));
    }
    for (int i = 0; i < n; i++)
        close_fd(fds[i]);
}

static int without_netlink(void unused *data)
{
    uint64_t inode;

    /* A network namespace of its own has no listeners at all, nor a loopback address. */
    if (unshare(CLONE_NEWNET) < 0)
        return 77;
    return netowner_listener("localhost", 80, &inode) == 0 ? 0 : 1;
}

static void another_network_namespace(void unused **state)
{
    int r = world_in_process(without_netlink, NULL);

    if (r == 77) {
        print_message("no right to make a network namespace\n");
        skip();
    }
    assert_int_equal(r, 0);
}

static void owner_is_found(void unused **state)
{
    uint16_t port = 0;
    _cleanup_close_ int fd = open_socket("127.0.0.1", &port, 0);
    struct netowner owner = {};
    char name[16] = "";
    pid_t self = getpid();

    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_int_equal(netowner_find(inode_of(fd), &owner), 0);
    assert_int_equal(owner.pid, self);
    assert_string_equal(owner.comm, name);
    owner = (struct netowner){};
    assert_int_equal(netowner_among(inode_of(fd), &self, 1, &owner), 0);
    assert_int_equal(owner.pid, self);
}

static void owner_is_another_process(void unused **state)
{
    uint16_t port = 0;
    int fd = open_socket("127.0.0.1", &port, 0);
    uint64_t inode = inode_of(fd);
    struct netowner owner = {};
    pid_t pid = fork(), pids[2];

    if (pid == 0) {
        (void) prctl(PR_SET_NAME, "a (very) long name");
        (void) pause();
        _exit(0);
    }
    close_fd(fd);
    pids[0] = getpid();
    pids[1] = pid;
    assert_int_equal(netowner_among(inode, pids, 1, &owner), -ENOENT);
    do { /* until it has its name */
        assert_int_equal(netowner_among(inode, pids, 2, &owner), 0);
    } while (owner.comm[0] != 'a');
    assert_int_equal(owner.pid, pid);
    assert_string_equal(owner.comm, "a (very) long n");
    assert_int_equal(netowner_find(inode, &owner), 0);
    assert_int_equal(owner.pid, pid);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(netowner_find(inode, &owner), -ENOENT);
    assert_int_equal(netowner_among(inode, NULL, 0, &owner), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listeners),
        cmocka_unit_test(what_connects_is_what_is_found),
        cmocka_unit_test(the_kernels_choice),
        cmocka_unit_test(hosts_that_are_not_ours),
        cmocka_unit_test(many_listeners),
        cmocka_unit_test(another_network_namespace),
        cmocka_unit_test(owner_is_found),
        cmocka_unit_test(owner_is_another_process),
    };

    return cmocka_run_group_tests_name("port_netowner", tests, NULL, NULL);
}
