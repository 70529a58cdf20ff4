/* SPDX-License-Identifier: MIT */
#pragma once

/* Strings: a growing buffer, NULL-terminated string vectors, and small questions about text. */

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* NULL-tolerant comparison. */
static inline bool str_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool str_empty(const char *s)
{
    return !s || *s == '\0';
}

/* What follows `prefix` in s, or NULL. */
const char *str_after(const char *s, const char *prefix);
bool str_ends_with(const char *s, const char *suffix);
/* s, or "" for NULL. */
static inline const char *str_or_empty(const char *s)
{
    return s ? s : "";
}

/* A string that grows. Zero-initialise (`struct strbuf b = {};`), free with strbuf_release().
 * A failed allocation is remembered: later appends do nothing and strbuf_steal() returns NULL,
 * so that a run of appends needs one check at its end. `data` is NULL or NUL-terminated. */
struct strbuf {
    char *data;
    size_t len;
    size_t allocated;
    bool failed;
};

void strbuf_append(struct strbuf *b, const char *s);
void strbuf_append_n(struct strbuf *b, const char *s, size_t n);
void strbuf_append_char(struct strbuf *b, char c);
void strbuf_appendf(struct strbuf *b, const char *fmt, ...) printf_like(2, 3);
void strbuf_vappendf(struct strbuf *b, const char *fmt, va_list args) printf_like(2, 0);
/* Forgets the content, keeps the memory and clears a remembered failure. */
void strbuf_clear(struct strbuf *b);
/* The string, owned by the caller ("" if nothing was appended), or NULL after a failed
 * allocation. The buffer is empty and reusable afterwards. */
must_check char *strbuf_steal(struct strbuf *b);
void strbuf_release(struct strbuf *b);
#define _cleanup_strbuf_ _cleanup_(strbuf_release)

/* A formatted string owned by the caller; NULL when memory is out. */
must_check char *str_format(const char *fmt, ...) printf_like(1, 2);
/* *p becomes a copy of s (NULL for NULL), the old one freed. -ENOMEM leaves *p as it was. */
must_check int str_replace(char **p, const char *s);

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

static inline char ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char) (c - 'a' + 'A') : c;
}

/* String vectors: NULL-terminated, NULL itself being the empty vector. */
void strv_free(char **v);
DEFINE_CLEANUP(char **, strv_free);
#define _cleanup_strv_ _cleanup_(strv_freep)
size_t strv_length(char *const *v);
bool strv_contains(char *const *v, const char *s);
bool strv_equal(char *const *a, char *const *b);
/* Appends a copy of s. -ENOMEM leaves the vector as it was. */
must_check int strv_push(char ***v, const char *s);
/* *ret is a deep copy. */
must_check int strv_copy(char *const *v, char ***ret);
/* Splits at any of `separators`, dropping empty parts. */
must_check int strv_split(const char *s, const char *separators, char ***ret);
/* Joined with separator, owned by the caller; NULL when memory is out. */
must_check char *strv_join(char *const *v, const char *separator);

/* The length of a valid UTF-8 sequence at s (n bytes left), 0 if there is none. */
size_t utf8_sequence_length(const char *s, size_t n);
/* The length of the longest beginning of s (n bytes of valid UTF-8) that has at most max bytes and only
 * whole characters. */
size_t utf8_cut(const char *s, size_t n, size_t max);
/* A copy with every invalid byte (and NUL within n) as U+FFFD; NULL when memory is out. */
must_check char *utf8_sanitize(const char *s, size_t n);

/* Damerau-Levenshtein distance over bytes without case, for "did you mean"; at most 64 bytes of
 * each are looked at. */
size_t str_distance(const char *a, const char *b);
/* Cuts a trailing run and skips a leading run of ASCII white space, in place; returns the start. */
char *str_strip(char *s);
