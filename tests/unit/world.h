/* SPDX-License-Identifier: MIT */
#pragma once

/* For tests of the ports: a loop that is run with a limit, and what a test wants to know of
 * processes. */

#include "unit.h"

#include "port/child.h"
#include "port/loop.h"

/* A NULL-terminated vector, as execve(2) wants it, of string literals. */
#define WORLD_VECTOR(...) ((char **) (uintptr_t) (const char *const[]){__VA_ARGS__, NULL})
#define WORLD_SHELL(script) WORLD_VECTOR("/bin/sh", "-c", script)

/* Our own environment and cgroup, nothing on its standard streams. */
struct child_spec world_spec(char *const *argv);

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
/* True if this process has children, zombies included. */
bool world_has_children(void);
/* Both ends closed by execve(); the test fails where there is none. */
void world_pipe(int *ret_reader, int *ret_writer);
/* All that comes until the end of the pipe, cut to fit, NUL-terminated, a last newline removed. */
void world_read_all(int fd, char *buf, size_t size);
/* What fn returns, called in a process of its own (0 to 255; what dies counts as 255). In it
 * nothing of cmocka may be used. */
int world_in_process(int (*fn)(void *), void *data);

/* cmocka_run_group_tests_name() for tests that start processes. Where there are no pidfds (valgrind
 * 3.19 knows none), one test in their place says so and is skipped. */
#define world_run_group(name, tests) world_run_tests(name, tests, ARRAY_SIZE(tests))
int world_run_tests(const char *name, const struct CMUnitTest tests[], size_t n);
