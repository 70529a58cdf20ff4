/* SPDX-License-Identifier: MIT */
#include "port/netowner.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "port/procinfo.h"
#include "port/sockdiag.h"

_Static_assert(sizeof(((struct netowner *) NULL)->comm) == PROCINFO_COMM_MAX, "names fit");

/* Where a client ends up that connects to a host: at most one address of each family. */
struct target {
    struct in6_addr addresses[2]; /* an IPv4 one as ::ffff:a.b.c.d */
    size_t n;
};

/* The best listener for a target. */
struct search {
    struct target target;
    int rank; /* 0: none yet */
    uint64_t inode;
};

static struct in6_addr mapped(in_addr_t v4)
{
    struct in6_addr a = {};

    memset(&a.s6_addr[10], 0xff, 2);
    memcpy(&a.s6_addr[12], &v4, sizeof(v4));
    return a;
}

static bool is_any_v4(const struct in6_addr *a)
{
    const struct in6_addr any = mapped(htonl(INADDR_ANY));

    return IN6_ARE_ADDR_EQUAL(a, &any);
}

/* A connection to the wildcard address goes to the loopback one (ip(7)). */
static struct in6_addr reached(const struct sockaddr *sa)
{
    struct in6_addr a;

    if (sa->sa_family == AF_INET)
        a = mapped(((const struct sockaddr_in *) (const void *) sa)->sin_addr.s_addr);
    else
        a = ((const struct sockaddr_in6 *) (const void *) sa)->sin6_addr;
    if (is_any_v4(&a))
        return mapped(htonl(INADDR_LOOPBACK));
    return IN6_IS_ADDR_UNSPECIFIED(&a) ? in6addr_loopback : a;
}

/* Only an address of this machine can be bound to. */
static bool is_local(const struct addrinfo *ai)
{
    _cleanup_close_ int fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && bind(fd, ai->ai_addr, ai->ai_addrlen) == 0;
}

static int find_target(const char *host, struct target *ret)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_DGRAM,
        .ai_flags = AI_NUMERICHOST, /* no name is ever looked up */
    };
    struct addrinfo *ai = NULL;
    int r = -EINVAL;

    if (strcasecmp(host, "localhost") == 0) {
        *ret = (struct target){
            .addresses = {in6addr_loopback, mapped(htonl(INADDR_LOOPBACK))},
            .n = 2,
        };
        return 0;
    }
    if (getaddrinfo(host, NULL, &hints, &ai) != 0)
        return -EINVAL;
    if (is_local(ai)) {
        *ret = (struct target){.addresses = {reached(ai->ai_addr)}, .n = 1};
        r = 0;
    }
    freeaddrinfo(ai);
    return r;
}

/* As the kernel chooses among several: the exact address before a wildcard one, and of these the
 * own family's before an IPv6 one that takes IPv4, too. 0: not for us. */
static int rank_for(const struct in6_addr *wanted, const struct listener *l)
{
    bool v4 = IN6_IS_ADDR_V4MAPPED(wanted);

    if (IN6_ARE_ADDR_EQUAL(wanted, &l->address))
        return 3;
    if (v4 ? is_any_v4(&l->address) : IN6_IS_ADDR_UNSPECIFIED(&l->address))
        return 2;
    return v4 && IN6_IS_ADDR_UNSPECIFIED(&l->address) && !l->ipv6_only ? 1 : 0;
}

static void consider(const struct listener *l, void *userdata)
{
    struct search *s = userdata;

    for (size_t i = 0; i < s->target.n; i++) {
        int rank = rank_for(&s->target.addresses[i], l);

        if (rank > s->rank) {
            s->rank = rank;
            s->inode = l->inode;
        }
    }
}

int netowner_listener(const char *host, uint16_t port, uint64_t *ret_inode)
{
    struct search s = {};
    int r = find_target(host, &s.target);

    if (r == 0)
        r = sockdiag_listeners(port, consider, &s);
    if (r < 0 || s.rank == 0)
        return r;
    *ret_inode = s.inode;
    return 1;
}

static void close_directory(DIR **d)
{
    if (*d)
        (void) closedir(*d);
}

/* The links are read, not followed: stat(2) of a file on a dead server would hang us. */
static bool holds(pid_t pid, const char *wanted)
{
    _cleanup_(close_directory) DIR *fds = NULL;
    struct dirent *entry;
    char path[64], link[64];

    (void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid);
    fds = opendir(path);
    while (fds && (entry = readdir(fds))) {
        ssize_t n = readlinkat(dirfd(fds), entry->d_name, link, sizeof(link) - 1);

        if (n <= 0)
            continue;
        link[n] = '\0';
        if (str_equal(link, wanted))
            return true;
    }
    return false;
}

static bool examine(pid_t pid, uint64_t inode, struct netowner *ret)
{
    char wanted[64];

    (void) snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", inode);
    if (!holds(pid, wanted))
        return false;
    *ret = (struct netowner){.pid = pid};
    if (procinfo_comm(pid, ret->comm) < 0)
        ret->comm[0] = '\0';
    return true;
}

int netowner_among(uint64_t inode, const pid_t *pids, size_t n, struct netowner *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (examine(pids[i], inode, ret))
            return 0;
    }
    return -ENOENT;
}

int netowner_find(uint64_t inode, struct netowner *ret)
{
    _cleanup_(close_directory) DIR *proc = opendir("/proc");
    struct dirent *entry;

    if (!proc)
        return -errno;
    while ((entry = readdir(proc))) {
        if (isdigit((unsigned char) entry->d_name[0]) &&
            examine((pid_t) strtol(entry->d_name, NULL, 10), inode, ret))
            return 0;
    }
    return -ENOENT;
}
