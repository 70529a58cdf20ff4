/* SPDX-License-Identifier: MIT */
#pragma once

/* For tests of the ports: a loop that is run with a limit. */

#include "port/loop.h"

/* Long enough for a loaded machine under valgrind: reached only by a test that fails. */
#define WORLD_LIMIT (60 * USEC_PER_SEC)

/* Runs the loop until loop_stop(); false when `limit` was up first. */
bool world_run(struct loop *l, usec_t limit);
/* Runs the loop until loop_stop() is called and fails the test when it never is. */
void world_run_to_stop(struct loop *l);
/* Runs the loop for `span` and fails the test when loop_stop() is called meanwhile. */
void world_run_quietly(struct loop *l, usec_t span);
/* A loop, or the test fails. */
struct loop *world_loop(void);
usec_t world_now(void);
/* The number of open descriptors of this process. */
size_t world_count_fds(void);
