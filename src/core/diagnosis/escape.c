/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/escape.h"

#include <stdbool.h>
#include <string.h>

#include "base/macro.h"
#include "core/diagnosis/charset.h"

#define BELL '\a'
#define ESCAPE '\x1b'

/* A title or a link is longer than a colour, but not endless. */
#define STRING_MAX ((size_t) 1024)

size_t escape_plain_length(const char *s, size_t n)
{
    size_t i = charset_span_n(s, n, CHARSET_PLAIN);

    while (i < n && (unsigned char) s[i] >= ' ' && (unsigned char) s[i] < 0x7f && escape_length(s + i, n - i) == 0)
        i += 1 + charset_span_n(s + i + 1, n - i - 1, CHARSET_PLAIN);
    return i;
}

/* The length of the escape character at s in any spelling, 0 if there is none. */
static size_t introducer_length(const char *s, size_t n)
{
    static const char *const spellings[] = {"^[", "#033", "\\x1b", "\\x1B", "\\u001b", "\\u001B", "\\033", "\\e"};

    if (n > 0 && *s == ESCAPE)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        size_t length = strlen(spellings[i]);

        if (n > length && s[length] == '[' && strncmp(s, spellings[i], length) == 0)
            return length;
    }
    return 0;
}

/* "[" parameters, intermediates, final byte. */
static size_t csi_length(const char *s, size_t n)
{
    size_t i = 1;

    while (i < n && s[i] >= 0x20 && s[i] <= 0x3f)
        i++;
    return i < n && s[i] >= 0x40 && s[i] <= 0x7e ? i + 1 : i;
}

/* "]" or "P", text, BEL or ESC "\". */
static size_t string_length(const char *s, size_t n)
{
    for (size_t i = 1; i < MIN(n, STRING_MAX); i++) {
        if (s[i] == BELL)
            return i + 1;
        if (s[i] == ESCAPE)
            return i + 1 < n && s[i + 1] == '\\' ? i + 2 : i;
    }
    return 1;
}

/* "[0;36m" that has lost its escape character. */
static size_t bare_colour_length(const char *s, size_t n)
{
    size_t i = 1;

    while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';'))
        i++;
    return i > 1 && i < n && s[i] == 'm' ? i + 1 : 0;
}

size_t escape_length(const char *s, size_t n)
{
    size_t length = introducer_length(s, n);

    if (length == 0)
        return n > 0 && *s == '[' ? bare_colour_length(s, n) : 0;
    if (length == n)
        return length;
    if (s[length] == '[')
        return length + csi_length(s + length, n - length);
    if (s[length] == ']' || s[length] == 'P')
        return length + string_length(s + length, n - length);
    return (unsigned char) s[length] >= ' ' && (unsigned char) s[length] < 0x7f ? length + 1 : length;
}
