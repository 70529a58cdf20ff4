/* SPDX-License-Identifier: MIT */
#pragma once

/* One regular expression of a catalog or a profile: PCRE2, UTF-8, named groups. Compiled when it is first
 * needed, since of hundreds only a few are ever: a compiled one costs memory for good. */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/str.h"

/* More groups than these are matched, but not reported. */
#define PATTERN_MAX_GROUPS 16

struct pattern;

/* What a pattern matched. Offsets into the text; names are borrowed from the pattern. */
struct pattern_hit {
    size_t start;
    size_t end;
    size_t n;
    struct pattern_group {
        const char *name;
        size_t start;
        size_t end;
    } groups[PATTERN_MAX_GROUPS]; /* the named ones that matched at least one character */
};

/* Is `text` a pattern, and does it leave the empty line alone? *ret_groups gets the names of its groups.
 * -EINVAL: no, and `why` says why not. -ENOMEM. */
must_check int pattern_check(const char *text, char ***ret_groups, struct strbuf *why);

/* Room for matching, shared by any number of patterns, used by one match at a time. */
struct pattern_scratch;

must_check int pattern_scratch_new(struct pattern_scratch **ret);
void pattern_scratch_free(struct pattern_scratch *s);
DEFINE_CLEANUP(struct pattern_scratch *, pattern_scratch_free);

/* `text` is borrowed for the pattern's life and has passed pattern_check(). */
must_check int pattern_new(const char *text, struct pattern **ret);
void pattern_free(struct pattern *p);
DEFINE_CLEANUP(struct pattern *, pattern_free);

/* Whether a match may begin where the byte c stands, `at` bytes into the text; false only for certain.
 * -ENOMEM. */
must_check int pattern_may_begin(struct pattern *p, size_t at, char c);
/* The match in text (valid UTF-8) that begins at `at`, the beginning of a character, in at most `steps` steps
 * of backtracking. 1: *ret is filled. 0: none. -E2BIG: not within those steps. -ENOMEM. */
must_check int pattern_match_at(struct pattern *p, struct pattern_scratch *s, const char *text, size_t len,
                                size_t at, unsigned steps, struct pattern_hit *ret);
