/* SPDX-License-Identifier: MIT */
#include "port/sockdiag.h"

/* Kernel headers have members called `unused`, which is an attribute here. */
#pragma push_macro("unused")
#undef unused
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#pragma pop_macro("unused")

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/* The kernel fills what it is offered, up to this. */
#define ANSWER_SIZE 16384

struct dump {
    uint16_t port;
    listener_fn fn;
    void *userdata;
};

static int request(int fd, uint8_t family, uint16_t port)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {
        .header =
            {
                .nlmsg_len = sizeof(message),
                .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
            },
        .request =
            {
                .sdiag_family = family,
                .sdiag_protocol = IPPROTO_TCP,
                .idiag_states = 1U << TCP_LISTEN,
                .id.idiag_sport = htons(port),
            },
    };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n = sendto(fd, &message, sizeof(message), 0, (const struct sockaddr *) &kernel,
                       sizeof(kernel));

    return n < 0 ? -errno : 0;
}

/* What follows a part of `length` bytes, the padding that may be missing behind the last one
 * included. The kernel's own macros for this let `left` wrap then. */
static void *skip_part(void *part, size_t length, size_t *left)
{
    size_t n = MIN(NLMSG_ALIGN(length), *left);

    *left -= n;
    return (char *) part + n;
}

static bool is_ipv6_only(const struct nlmsghdr *h, struct inet_diag_msg *m)
{
    size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
    struct rtattr *a = (struct rtattr *) (m + 1);

    for (; RTA_OK(a, left); a = skip_part(a, a->rta_len, &left)) {
        if (a->rta_type == INET_DIAG_SKV6ONLY && RTA_PAYLOAD(a) >= 1)
            return *(const uint8_t *) RTA_DATA(a) != 0;
    }
    return false;
}

static void take_listener(struct nlmsghdr *h, const struct dump *d)
{
    struct inet_diag_msg *m = NLMSG_DATA(h);
    struct listener l = {};

    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->id.idiag_sport != htons(d->port))
        return;
    l.inode = m->idiag_inode;
    l.ipv6 = m->idiag_family == AF_INET6;
    if (l.ipv6) {
        memcpy(&l.address, m->id.idiag_src, sizeof(l.address));
        l.ipv6_only = is_ipv6_only(h, m);
    } else {
        memset(&l.address.s6_addr[10], 0xff, 2);
        memcpy(&l.address.s6_addr[12], m->id.idiag_src, 4);
    }
    d->fn(&l, d->userdata);
}

/* What stands in an error message or at the end of a dump; 0 at the end of a good one. */
static int status_of(struct nlmsghdr *h)
{
    int status = 0;

    if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(status)))
        memcpy(&status, NLMSG_DATA(h), sizeof(status));
    if (h->nlmsg_type == NLMSG_ERROR && status == 0)
        return -EIO;
    /* Without the module nobody handles the family (sock_diag(7)). */
    return status == -ENOENT ? -EOPNOTSUPP : status;
}

/* One datagram of answers. 1: more will come; 0: that was all. */
static int take_answers(void *data, size_t left, const struct dump *d)
{
    for (struct nlmsghdr *h = data; NLMSG_OK(h, left); h = skip_part(h, h->nlmsg_len, &left)) {
        if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
            return status_of(h);
        take_listener(h, d);
    }
    return 1;
}

static int dump_family(int fd, uint8_t family, const struct dump *d)
{
    _Alignas(struct nlmsghdr) char answers[ANSWER_SIZE];
    int r = request(fd, family, d->port);

    if (r < 0)
        return r;
    do {
        ssize_t n = recv(fd, answers, sizeof(answers), 0);

        if (n > 0)
            r = take_answers(answers, (size_t) n, d);
        else if (n == 0 || errno != EINTR)
            return n < 0 ? -errno : -EIO;
        else
            r = 1;
    } while (r > 0);
    return r;
}

int sockdiag_listeners(uint16_t port, listener_fn fn, void *userdata)
{
    const struct dump d = {.port = port, .fn = fn, .userdata = userdata};
    _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int r;

    if (fd < 0) /* EAFNOSUPPORT: RestrictAddressFamilies= of systemd.exec(5) */
        return errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT ? -EOPNOTSUPP : -errno;
    r = dump_family(fd, AF_INET, &d);
    if (r < 0)
        return r;
    r = dump_family(fd, AF_INET6, &d);
    return r == -EOPNOTSUPP ? 0 : r; /* a kernel without IPv6 */
}
