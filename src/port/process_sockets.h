/* SPDX-License-Identifier: MIT */
#pragma once

/* The sockets that processes have open, in words. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

/* *ret (owned by the caller) gets a line for each TCP socket, "tcp 127.0.0.1:8000 listen, PID 12", and one for
 * all others together; at most some hundreds. What may not be read is left out. -ENOMEM only. */
must_check int process_sockets(const pid_t *pids, size_t n, char ***ret);

struct process_socket {
    uint64_t inode;
    pid_t pid;
    bool told;
};

/* For tests: adds the lines about the sockets in `owned`, ascending by inode, out of a text of the form of
 * /proc/net/tcp (or tcp6), which is destroyed. -ENOMEM only. */
must_check int process_sockets_parse(char *text, bool v6, struct process_socket *owned, size_t n, char ***lines);
