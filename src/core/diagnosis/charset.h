/* SPDX-License-Identifier: MIT */
#pragma once

/* Sets of ASCII characters, as bits of one table: what strspn() does, without building a table at each call. */

#include <stdbool.h>
#include <stddef.h>

enum charset {
    CHARSET_DIGIT = 1 << 0,
    CHARSET_UPPER = 1 << 1,
    CHARSET_LOWER = 1 << 2,
    CHARSET_UNDERSCORE = 1 << 3,
    CHARSET_DOT = 1 << 4,
    CHARSET_DASH = 1 << 5,
    CHARSET_SLASH_PLUS = 1 << 6,
    CHARSET_COLON = 1 << 7,
    CHARSET_COMMA = 1 << 8,
    CHARSET_AT = 1 << 9,
    CHARSET_PLAIN = 1 << 10, /* printable, and the beginning of no escape sequence in any spelling */

    CHARSET_ALNUM = CHARSET_DIGIT | CHARSET_UPPER | CHARSET_LOWER,
    CHARSET_WORD = CHARSET_ALNUM | CHARSET_UNDERSCORE,
    CHARSET_DOTTED = CHARSET_WORD | CHARSET_DOT,
    CHARSET_HOST = CHARSET_DOTTED | CHARSET_DASH,
    CHARSET_PATH = CHARSET_HOST | CHARSET_SLASH_PLUS,
};

bool charset_has(unsigned set, char c);
/* How many characters at s belong to the set. */
size_t charset_span(const char *s, unsigned set);
/* The same, of at most n. */
size_t charset_span_n(const char *s, size_t n, unsigned set);
