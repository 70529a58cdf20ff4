/* SPDX-License-Identifier: MIT */
#pragma once

/* A directory for one test, and what a test asks about the files in it. */

#include <stdbool.h>
#include <stddef.h>

/* Makes an empty directory; the path is the caller's. Fails the test when it cannot. */
char *scratch_new(void);
/* Removes it with all that is in it, and frees the path. */
void scratch_remove(char *path);

/* Writes a file of the directory dir_fd behind the back of the code under test. */
void scratch_write(int dir_fd, const char *name, const void *data, size_t len);
/* The file's content, NUL-terminated, the caller's; NULL when there is none. */
char *scratch_read(int dir_fd, const char *name, size_t *ret_len);
bool scratch_exists(int dir_fd, const char *name);
/* How many entries the directory has, hidden ones too. */
size_t scratch_count(int dir_fd);
