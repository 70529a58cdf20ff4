/* SPDX-License-Identifier: MIT */
#pragma once

/* Who listens on a TCP port: sock_diag(7) netlink for the socket, /proc/PID/fd for its owner. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

struct netowner {
    pid_t pid;     /* 0: nobody that we may look at */
    char comm[16]; /* its name, as the kernel has it (TASK_COMM_LEN) */
};

/* Is some socket listening on the port (any local address that `host` can mean: its own, or a wildcard
 * one)? 1 yes, 0 no; *ret_inode is its inode. -EOPNOTSUPP where the kernel has no inet_diag; -EINVAL for
 * a host that is not a local numeric address or "localhost". */
must_check int netowner_listener(const char *host, uint16_t port, uint64_t *ret_inode);
/* The process holding the socket. -ENOENT: none found (not readable for us, or gone). */
must_check int netowner_find(uint64_t inode, struct netowner *ret);
