/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "base/str.h"

#define REPLACEMENT_CHARACTER "\xef\xbf\xbd"

/* Longer words are compared by their beginnings. */
#define DISTANCE_MAX ((size_t) 64)

static unsigned char byte_at(const char *s, size_t i)
{
    return (unsigned char) s[i];
}

/* The sequence length that the first byte announces, 0 if it cannot begin one. */
static size_t announced_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/* Whether the second byte keeps the code point out of the overlong forms, the surrogates and what
 * lies beyond U+10FFFF. */
static bool second_byte_fits(unsigned char lead, unsigned char second)
{
    switch (lead) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second <= 0x9f;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second <= 0x8f;
    default:
        return true;
    }
}

size_t utf8_sequence_length(const char *s, size_t n)
{
    size_t length = n > 0 ? announced_length(byte_at(s, 0)) : 0;

    if (length > n)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte_at(s, i) & 0xc0) != 0x80)
            return 0;
    }
    if (length > 1 && !second_byte_fits(byte_at(s, 0), byte_at(s, 1)))
        return 0;
    return length;
}

size_t utf8_cut(const char *s, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max > 0 && (byte_at(s, max) & 0xc0) == 0x80)
        max--;
    return max;
}

char *utf8_sanitize(const char *s, size_t n)
{
    struct strbuf clean = {};
    size_t i = 0;

    while (i < n && !clean.failed) {
        size_t length = s[i] == '\0' ? 0 : utf8_sequence_length(s + i, n - i);

        if (length > 0)
            strbuf_append_n(&clean, s + i, length);
        else
            strbuf_append(&clean, REPLACEMENT_CHARACTER);
        i += length > 0 ? length : 1;
    }
    return strbuf_steal(&clean);
}

/* Optimal string alignment: no part is edited twice. `rows` holds the current row of the matrix
 * and the two before it. */
size_t str_distance(const char *a, const char *b)
{
    size_t rows[3][DISTANCE_MAX + 1];
    size_t *row = rows[0], *above = rows[1], *two_above = rows[2];
    size_t la = strnlen(a, DISTANCE_MAX), lb = strnlen(b, DISTANCE_MAX);

    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *oldest = two_above;

        two_above = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            char ca = ascii_lower(a[i - 1]), cb = ascii_lower(b[j - 1]);

            row[j] = MIN(above[j], row[j - 1]) + 1;
            row[j] = MIN(row[j], above[j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == ascii_lower(b[j - 2]) && cb == ascii_lower(a[i - 2]))
                row[j] = MIN(row[j], two_above[j - 2] + 1);
        }
    }
    return row[lb];
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

char *str_strip(char *s)
{
    size_t n;

    while (is_space(*s))
        s++;
    n = strlen(s);
    while (n > 0 && is_space(s[n - 1]))
        n--;
    s[n] = '\0';
    return s;
}
