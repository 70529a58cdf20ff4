/* SPDX-License-Identifier: MIT */
#pragma once

/* Who listens on a TCP port: sock_diag(7) netlink for the socket, /proc/PID/fd for its owner. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

struct netowner {
    pid_t pid;
    char comm[16]; /* its name, as the kernel has it (TASK_COMM_LEN) */
};

/* Is some socket listening where a client ends up that connects to host and port (at that very
 * address, or at a wildcard one)? 1 yes, 0 no; *ret_inode is its inode; of several the one that the
 * kernel prefers. -EOPNOTSUPP: the kernel does not tell; -EINVAL: `host` is neither "localhost" nor
 * a numeric address of this machine. */
must_check int netowner_listener(const char *host, uint16_t port, uint64_t *ret_inode);
/* The first process found that holds the socket. -ENOENT: none (not readable for us, or gone).
 * Looks through all of /proc: for a socket that is nobody's among those that netowner_among() has
 * looked at. */
must_check int netowner_find(uint64_t inode, struct netowner *ret);
/* The same among the given processes only. */
must_check int netowner_among(uint64_t inode, const pid_t *pids, size_t n, struct netowner *ret);
