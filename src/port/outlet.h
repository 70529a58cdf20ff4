/* SPDX-License-Identifier: MIT */
#pragma once

/* Writing to a descriptor that is shared with others, such as our stderr, and may block: O_NONBLOCK
 * belongs to the open file and so to all who share it, and is not ours to set. SIGPIPE must be ignored. */

#include "port/loop.h"

struct outlet;

/* `fd` stays the caller's and must outlive the outlet. One that is not open, or whose reader is gone,
 * takes everything and keeps nothing. */
must_check int outlet_new(struct loop *l, int fd, struct outlet **ret);
/* Passes the bytes on, unchanged and in order, without ever blocking. What `fd` does not take now is
 * queued; with the queue full (256 KiB) lines are dropped whole, until it has run empty and a line in
 * their place has said how many they were. */
void outlet_write(struct outlet *o, const char *line, size_t n);
/* Tries once more to write what is queued. */
void outlet_free(struct outlet *o);
DEFINE_CLEANUP(struct outlet *, outlet_free);
