/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/charset.h"

static const unsigned short sets[256] = {
    [' ' ... '"'] = CHARSET_PLAIN,
    ['$' ... '*'] = CHARSET_PLAIN,
    [','] = CHARSET_PLAIN | CHARSET_COMMA,
    [':'] = CHARSET_PLAIN | CHARSET_COLON,
    [';' ... '?'] = CHARSET_PLAIN,
    ['@'] = CHARSET_PLAIN | CHARSET_AT,
    ['`'] = CHARSET_PLAIN,
    [']'] = CHARSET_PLAIN,
    ['{' ... '~'] = CHARSET_PLAIN,
    ['0' ... '9'] = CHARSET_PLAIN | CHARSET_DIGIT,
    ['A' ... 'Z'] = CHARSET_PLAIN | CHARSET_UPPER,
    ['a' ... 'z'] = CHARSET_PLAIN | CHARSET_LOWER,
    ['_'] = CHARSET_PLAIN | CHARSET_UNDERSCORE,
    ['.'] = CHARSET_PLAIN | CHARSET_DOT,
    ['-'] = CHARSET_PLAIN | CHARSET_DASH,
    ['/'] = CHARSET_PLAIN | CHARSET_SLASH_PLUS,
    ['+'] = CHARSET_PLAIN | CHARSET_SLASH_PLUS,
};

bool charset_has(unsigned set, char c)
{
    return sets[(unsigned char) c] & set;
}

size_t charset_span(const char *s, unsigned set)
{
    size_t n = 0;

    while (sets[(unsigned char) s[n]] & set)
        n++;
    return n;
}

size_t charset_span_n(const char *s, size_t n, unsigned set)
{
    size_t i = 0;

    while (i < n && sets[(unsigned char) s[i]] & set)
        i++;
    return i;
}
