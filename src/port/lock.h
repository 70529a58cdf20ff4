/* SPDX-License-Identifier: MIT */
#pragma once

/* One supervisor an instance: a file that is locked (flock(2)) for as long as its holder lives, whatever
 * ends it. */

#include "base/macro.h"

/* Takes the lock of the file in the directory, making it, and writes our PID into it. Returns the
 * descriptor to keep open. -EWOULDBLOCK: somebody holds it. */
must_check int lock_take(int dir_fd, const char *name);
/* 1: somebody holds it now, 0: nobody does (or there is no such file); negative errno. */
must_check int lock_held(int dir_fd, const char *name);
