/* SPDX-License-Identifier: MIT */
#pragma once

/* The last N lines, bounded in lines and in bytes, for the neighbours of a root cause. */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

struct ring;

/* Keeps at most max_lines lines of at most max_bytes in all; longer single lines are cut. Both
 * must be positive. */
must_check int ring_new(size_t max_lines, size_t max_bytes, struct ring **ret);
void ring_free(struct ring *r);
DEFINE_CLEANUP(struct ring *, ring_free);

/* Adds a copy of line (n bytes); the oldest lines make room. Lines are numbered from 1 in the
 * order in which they came; the number is returned in *ret_number (may be NULL). */
must_check int ring_push(struct ring *r, const char *line, size_t n, uint64_t *ret_number);
/* The line with that number, or NULL if it is gone or never was. Borrowed until the next push. */
const char *ring_get(const struct ring *r, uint64_t number);
/* Numbers of the oldest kept and of the newest line; 0 for an empty ring. */
uint64_t ring_first(const struct ring *r);
uint64_t ring_last(const struct ring *r);
/* Forgets all lines; numbering starts again at 1. */
void ring_clear(struct ring *r);
