/* SPDX-License-Identifier: MIT */
#pragma once

/* Where a command's program is. */

#include "base/macro.h"

/* *ret (owned by the caller) is what execve(2) is to be given for `name`: itself if it has a slash,
 * else the first executable file of that name in PATH of `environment` ("/bin:/usr/bin" if it has
 * none); relative parts count from the directory dir_fd (AT_FDCWD: ours). -ENOENT: no such program;
 * -EACCES: only such as we may not execute. */
must_check int program_find(const char *name, char *const *environment, int dir_fd, char **ret);
