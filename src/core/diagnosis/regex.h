/* SPDX-License-Identifier: MIT */
#pragma once

/* The syntax of PCRE2's patterns, as far as it must be understood to see what a match must contain. */

#include <stdbool.h>
#include <stddef.h>

/* Deeper groups are not looked into. */
#define REGEX_MAX_DEPTH 32

enum regex_kind {
    REGEX_LITERAL,    /* one character */
    REGEX_CLASS,      /* one of several characters */
    REGEX_NOTHING,    /* matches no character: anchors, boundaries, options */
    REGEX_OPEN,       /* a group begins */
    REGEX_OPEN_ASIDE, /* a group begins that matches no character: lookaround */
    REGEX_CLOSE,
    REGEX_OR,
    REGEX_END,
    REGEX_ALIEN,      /* not understood */
};

struct regex_token {
    enum regex_kind kind;
    char bytes[4];     /* of a literal, UTF-8 */
    size_t n_bytes;
    size_t max_bytes;  /* of a class's characters */
    size_t min_count;  /* the quantifier behind it; 1 and 1 where there is none */
    size_t max_count;  /* SIZE_MAX: no bound */
};

/* What is left to read. */
struct regex {
    const char *s;
    bool caseless; /* from some place on the case of letters beyond ASCII does not count */
};

/* The next token with its quantifier; that of a group stands behind its end, see regex_quantify(). */
struct regex_token regex_next(struct regex *x);
/* Reads the quantifier that stands here, if any, into t. */
void regex_quantify(struct regex *x, struct regex_token *t);
