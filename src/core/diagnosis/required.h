/* SPDX-License-Identifier: MIT */
#pragma once

/* What a text must contain for a pattern to match it: a conjunction of clauses, each a disjunction of
 * literals, and how far before a literal the match can begin. Derived from the pattern's text; whatever is
 * not understood requires nothing. Case is ignored: literals are in small letters. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* Shorter literals are no help in finding anything; down to the other limit they are of use as a further
 * condition. */
#define REQUIRED_MIN_BYTES ((size_t) 4)
#define REQUIRED_MIN_CONDITION_BYTES ((size_t) 2)
#define REQUIRED_MAX_CLAUSES 2
#define REQUIRED_MAX_LITERALS 64

/* Where there is no bound. */
#define REQUIRED_ANYWHERE SIZE_MAX

struct required_literal {
    char *text;        /* NUL-terminated, ASCII letters small */
    size_t min_before; /* bytes between the start of the match and the literal */
    size_t max_before;
};

struct required_clause {
    struct required_literal *literals;
    size_t n;
};

/* Zero-initialise; required_release() frees. The first clause is the best to look for, its literals
 * have at least REQUIRED_MIN_BYTES. */
struct required {
    struct required_clause clauses[REQUIRED_MAX_CLAUSES];
    size_t n;
    bool at_start; /* matches begin where the text does */
};

/* No clause at all: any text may match. -ENOMEM only. */
must_check int required_parse(const char *pattern, struct required *ret);
void required_release(struct required *r);
#define _cleanup_required_ _cleanup_(required_release)
