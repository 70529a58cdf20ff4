/* SPDX-License-Identifier: MIT */
#pragma once

/* The listening TCP sockets of our network namespace, from the kernel (sock_diag(7)). */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

struct listener {
    struct in6_addr address; /* an IPv4 one as ::ffff:a.b.c.d */
    bool ipv6;               /* the socket's family */
    bool ipv6_only;          /* IPV6_V6ONLY of ipv6(7) */
    uint64_t inode;          /* as in "socket:[INODE]" of /proc/PID/fd */
};

typedef void (*listener_fn)(const struct listener *l, void *userdata);

/* Calls `fn` for each socket that listens on the port. -EOPNOTSUPP: the kernel does not tell. */
must_check int sockdiag_listeners(uint16_t port, listener_fn fn, void *userdata);
