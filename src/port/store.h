/* SPDX-License-Identifier: MIT */
#pragma once

/* Files that are always whole: written beside, synced, renamed. A name is one without a slash in the
 * directory dir_fd (-EINVAL otherwise); one writer per directory. A failed write leaves the file as it
 * was and nothing beside it; only a crash can leave a temporary file, which store_prune() removes. */

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

enum {
    STORE_DURABLE = 1, /* on disk, file and directory, before the call returns */
    STORE_PRIVATE = 2, /* mode 0640 instead of 0644: it quotes the server's output */
};

/* Opens (making it and its parents, mode 0755, if need be) a directory. Returns the descriptor or
 * negative errno. */
must_check int store_open_dir(const char *path);
/* Replaces `name` by the content, atomically; `flags` of STORE_*. */
must_check int store_write(int dir_fd, const char *name, const char *data, size_t len, unsigned flags);
/* Replaces what a file says in place, making it if need be: for one that cannot be renamed over, since somebody else
 * has mounted it there. -ENXIO for a pipe that nobody reads. */
must_check int store_overwrite(const char *path, const char *data, size_t len);
/* Makes `name` a symbolic link to target, atomically. */
must_check int store_link(int dir_fd, const char *name, const char *target);
/* Appends one line (a newline is added) to a private file and syncs it; a torn last line of an earlier
 * writer is closed first. A file that would grow over max_bytes is replaced by its last lines, half of
 * max_bytes at most, with the new one at their end. -EMSGSIZE: the line alone is more than half of
 * max_bytes; -EINVAL: it has a newline in it. */
must_check int store_append_line(int dir_fd, const char *name, const char *line, uint64_t max_bytes);
/* The whole file, NUL-terminated, owned. `name` may be a path, and symbolic links are followed. -EFBIG
 * over max_bytes, -EINVAL for what is no regular file. ret_len may be NULL. */
must_check int store_read(int dir_fd, const char *name, size_t max_bytes, char **ret, size_t *ret_len);
/* Deletes the oldest (by name) files ending in `suffix` until at most `keep` with at most max_bytes in
 * all are left. The newest always stays: `newest`, whatever its name says, since the clock may have been
 * set back, or, for NULL, the last by name. Links are not counted and stay. Leftovers of interrupted
 * writes go too. Goes on after a file that cannot be deleted and returns the first error. */
must_check int store_prune(int dir_fd, const char *suffix, const char *newest, uint64_t keep,
                           uint64_t max_bytes);
