/* SPDX-License-Identifier: MIT */
#pragma once

/* A journald for one test program: a private one in a mount namespace with a /run of its own, or, with
 * COALMINE_TEST_JOURNAL=booted in the environment, that of the machine whose unit we are. */

#include <stdbool.h>
#include <sys/types.h>

/* The unit that a private journald takes us for when it cannot tell any better. */
#define JOURNALD_UNIT "coalmine-test.service"

struct journald {
    bool is_private;
    pid_t pid;              /* of the private one */
    const char *unit;       /* what journald attributes our lines to */
    const char *invocation; /* likewise */
    const char *missing;    /* why there is none, in words; else NULL */
};

/* Once in a program; it cannot be taken back. */
struct journald journald_enter(void);
/* For a private one: starts it, or ends it. It is not ready to be killed before it listens. */
void journald_start(struct journald *j);
void journald_stop(struct journald *j);
