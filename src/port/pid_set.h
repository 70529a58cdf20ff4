/* SPDX-License-Identifier: MIT */
#pragma once

/* A set of process IDs. Zero-initialise, free with pid_set_release(). */

#include <stddef.h>
#include <sys/types.h>

#include "base/macro.h"

struct pid_set {
    pid_t *pids; /* ascending */
    size_t n;
    size_t allocated;
};

/* 1: it is new; 0: it was there; -ENOMEM. */
must_check int pid_set_add(struct pid_set *s, pid_t pid);
void pid_set_release(struct pid_set *s);
