/* SPDX-License-Identifier: MIT */
#pragma once

/* Which of many literals occur in a text, in one pass whatever their number. At every second position four
 * bytes are hashed into a bit table that fits the first-level cache; where its bit is set four more are
 * looked at, and only where they fit, too, is a literal compared. Case is ignored (ASCII letters). */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define LITERALS_MIN_BYTES ((size_t) 4)

struct literals;

must_check int literals_new(struct literals **ret);
void literals_free(struct literals *l);
DEFINE_CLEANUP(struct literals *, literals_free);

/* Adds a literal in small letters. literals_scan() looks for it if it is `wanted`, which takes
 * LITERALS_MIN_BYTES; any may be asked for afterwards. *ret_id is its number, from 0, the one it had already if
 * it was there. -ENOMEM. */
must_check int literals_add(struct literals *l, const char *text, bool wanted, size_t *ret_id);
/* After the last addition, before the first scan. -ENOMEM. */
must_check int literals_finish(struct literals *l);
size_t literals_count(const struct literals *l);

/* *ret points to the numbers of the wanted literals that occur, each once, in the order of their first
 * occurrence; borrowed until the next scan. Returns how many. Time is linear in len. Text is NUL-terminated,
 * and borrowed until the next scan. */
size_t literals_scan(struct literals *l, const char *text, size_t len, const size_t **ret);
/* Whether a literal occurs in the text of the last scan, and where first. */
bool literals_found(struct literals *l, size_t id, size_t *ret_at);
/* Where it occurs next, behind *at; false if nowhere. */
bool literals_find_next(const struct literals *l, size_t id, size_t *at);
