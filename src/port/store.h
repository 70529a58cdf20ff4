/* SPDX-License-Identifier: MIT */
#pragma once

/* Files that are always whole: written beside, synced, renamed. */

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

/* Opens (making it and its parents if need be) a directory. Returns the descriptor or negative errno. */
must_check int store_open_dir(const char *path);
/* Replaces `name` by the content, atomically; synced when `durable`. */
must_check int store_write(int dir_fd, const char *name, const char *data, size_t len, bool durable);
/* Makes `name` a symbolic link to target, atomically. */
must_check int store_link(int dir_fd, const char *name, const char *target);
/* Appends one line (a newline is added); a torn last line of an earlier writer is closed first. Once the
 * file is over max_bytes, its older half is dropped. */
must_check int store_append_line(int dir_fd, const char *name, const char *line, uint64_t max_bytes);
/* The whole file, NUL-terminated, owned; -EFBIG over max_bytes. */
must_check int store_read(int dir_fd, const char *name, size_t max_bytes, char **ret, size_t *ret_len);
/* Deletes the oldest (by name) files ending in `suffix` until at most `keep` with at most max_bytes in
 * all are left; the newest always stays. Leftovers of interrupted writes go too. */
must_check int store_prune(int dir_fd, const char *suffix, uint64_t keep, uint64_t max_bytes);
