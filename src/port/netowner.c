/* SPDX-License-Identifier: MIT */
#include "port/netowner.h"

/* Kernel headers have members called `unused`, which is an attribute here. */
#pragma push_macro("unused")
#undef unused
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#pragma pop_macro("unused")

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "port/procinfo.h"

/* The addresses that a client which connects to `host` may end up at. */
struct target {
    struct in_addr v4;
    struct in6_addr v6;
    bool has_v4;
    bool has_v6;
};

static int parse_host(const char *host, struct target *ret)
{
    struct target t = {};

    if (str_equal(host, "localhost")) {
        t.v4.s_addr = htonl(INADDR_LOOPBACK);
        t.v6 = in6addr_loopback;
        t.has_v4 = t.has_v6 = true;
    } else if (inet_pton(AF_INET, host, &t.v4) == 1) {
        t.has_v4 = true;
    } else if (inet_pton(AF_INET6, host, &t.v6) == 1) {
        t.has_v6 = true;
    } else {
        return -EINVAL;
    }
    *ret = t;
    return 0;
}

static bool v4_serves(const struct target *t, struct in_addr bound)
{
    return t->has_v4 && (bound.s_addr == htonl(INADDR_ANY) || bound.s_addr == t->v4.s_addr);
}

/* A wildcard IPv6 socket takes IPv4 connections, too (ipv6(7), IPV6_V6ONLY is rarely set and not told). */
static bool v6_serves(const struct target *t, const struct in6_addr *bound)
{
    struct in_addr mapped;

    if (IN6_IS_ADDR_UNSPECIFIED(bound))
        return true;
    if (!IN6_IS_ADDR_V4MAPPED(bound))
        return t->has_v6 && IN6_ARE_ADDR_EQUAL(bound, &t->v6);
    memcpy(&mapped, &bound->s6_addr[12], sizeof mapped);
    return v4_serves(t, mapped);
}

static bool serves(const struct target *t, uint16_t port, const struct inet_diag_msg *m)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (ntohs(m->id.idiag_sport) != port)
        return false;
    if (m->idiag_family == AF_INET) {
        memcpy(&v4, m->id.idiag_src, sizeof v4);
        return v4_serves(t, v4);
    }
    memcpy(&v6, m->id.idiag_src, sizeof v6);
    return v6_serves(t, &v6);
}

/* Asks for all listening sockets of a family; the kernel filters by state, the port is ours to compare. */
static int request_listeners(int fd, uint8_t family)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {
        .header = {
            .nlmsg_len = sizeof message,
            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
        },
        .request = {
            .sdiag_family = family,
            .sdiag_protocol = IPPROTO_TCP,
            .idiag_states = 1U << TCP_LISTEN,
        },
    };
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

    if (sendto(fd, &message, sizeof message, 0, (struct sockaddr *) &kernel, sizeof kernel) < 0)
        return -errno;
    return 0;
}

static int error_of(struct nlmsghdr *h)
{
    const struct nlmsgerr *e = NLMSG_DATA(h);

    if (h->nlmsg_len < NLMSG_LENGTH(sizeof *e) || e->error == 0)
        return -EIO;
    /* Without the module there is no handler for the family (sock_diag(7)). */
    return e->error == -ENOENT ? -EOPNOTSUPP : e->error;
}

/* Looks through one datagram of answers. 1: the dump is at its end. */
static int scan_answers(void *data, size_t len, const struct target *t, uint16_t port, uint64_t *inode)
{
    struct nlmsghdr *h = data;

    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        const struct inet_diag_msg *m = NLMSG_DATA(h);

        if (h->nlmsg_type == NLMSG_DONE)
            return 1;
        if (h->nlmsg_type == NLMSG_ERROR)
            return error_of(h);
        if (h->nlmsg_len >= NLMSG_LENGTH(sizeof *m) && serves(t, port, m))
            *inode = m->idiag_inode;
    }
    return 0;
}

static int find_listener(int fd, uint8_t family, const struct target *t, uint16_t port, uint64_t *inode)
{
    _Alignas(struct nlmsghdr) char buf[16384];
    int r = request_listeners(fd, family);

    while (r == 0) {
        ssize_t n = recv(fd, buf, sizeof buf, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        r = scan_answers(buf, (size_t) n, t, port, inode);
    }
    return r < 0 ? r : 0;
}

int netowner_listener(const char *host, uint16_t port, uint64_t *ret_inode)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    _cleanup_close_ int fd = -1;
    struct target target;
    uint64_t inode = 0;
    int r = parse_host(host, &target);

    if (r < 0)
        return r;
    fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return errno == EPROTONOSUPPORT ? -EOPNOTSUPP : -errno;
    for (size_t i = 0; i < ARRAY_SIZE(families) && inode == 0; i++) {
        r = find_listener(fd, families[i], &target, port, &inode);
        if (r < 0)
            return r;
    }
    if (inode == 0)
        return 0;
    *ret_inode = inode;
    return 1;
}

static void close_dirp(DIR **d)
{
    if (*d)
        (void) closedir(*d);
}

/* /proc/PID/fd has a link "socket:[INODE]" for each socket (proc(5)); stat(2) gives the same number. */
static bool holds(int proc_fd, const char *pid, uint64_t inode)
{
    char path[300];
    _cleanup_(close_dirp) DIR *fds = NULL;
    struct dirent *entry;
    int fd;

    (void) snprintf(path, sizeof path, "%s/fd", pid);
    fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    fds = fdopendir(fd);
    if (!fds) {
        (void) close_fd(fd);
        return false;
    }
    while ((entry = readdir(fds))) {
        struct stat st;

        if (entry->d_name[0] != '.' && fstatat(fd, entry->d_name, &st, 0) == 0 && S_ISSOCK(st.st_mode) &&
            st.st_ino == inode)
            return true;
    }
    return false;
}

int netowner_find(uint64_t inode, struct netowner *ret)
{
    _cleanup_(close_dirp) DIR *proc = opendir("/proc");
    struct dirent *entry;

    if (!proc)
        return -errno;
    while ((entry = readdir(proc))) {
        struct netowner owner = {};

        if (!isdigit((unsigned char) entry->d_name[0]) || !holds(dirfd(proc), entry->d_name, inode))
            continue;
        owner.pid = (pid_t) strtol(entry->d_name, NULL, 10);
        if (procinfo_comm(owner.pid, owner.comm) < 0)
            owner.comm[0] = '\0';
        *ret = owner;
        return 0;
    }
    return -ENOENT;
}
