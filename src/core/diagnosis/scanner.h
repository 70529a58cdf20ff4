/* SPDX-License-Identifier: MIT */
#pragma once

/* Which of many patterns occur in a text, in one pass whatever their number (libhs). Two automata: a
 * fast one answers whether any of them occurs, which is all that ordinary lines need; where one does, a
 * second one tells which, and where each begins. */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"

struct scanner;

struct scan_hit {
    size_t pattern; /* its index */
    size_t from;    /* where its leftmost match begins, at the earliest */
    bool exact;     /* it does match, and at `from`; otherwise it may match anywhere */
};

/* Compiles n patterns in the syntax of PCRE2; what libhs cannot express becomes a hit on a weaker
 * condition, at worst on every text, and never an error. -ENOMEM. */
must_check int scanner_new(const char *const *patterns, size_t n, struct scanner **ret);
void scanner_free(struct scanner *s);
DEFINE_CLEANUP(struct scanner *, scanner_free);

/* *ret points to the hits, ordered by pattern, at most one for each; borrowed until the next scan. Text
 * is valid UTF-8 without newlines. Time is linear in len: a text that holds more matches than any honest
 * one loses the later ones. Returns the number of hits, or -ENOMEM. */
must_check int scanner_scan(struct scanner *s, const char *text, size_t len, const struct scan_hit **ret);

/* How many patterns have no exact automaton. */
size_t scanner_inexact(const struct scanner *s);
