/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#define STRBUF_FIRST_SIZE ((size_t) 64)

const char *str_after(const char *s, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

bool str_ends_with(const char *s, const char *suffix)
{
    size_t length = strlen(s), n = strlen(suffix);

    return length >= n && memcmp(s + length - n, suffix, n) == 0;
}

/* Makes room for n more bytes and the NUL. */
static bool strbuf_reserve(struct strbuf *b, size_t n)
{
    size_t needed, size;
    char *data;

    if (b->failed)
        return false;
    if (__builtin_add_overflow(b->len, n, &needed) || needed > SIZE_MAX / 2 - 1) {
        b->failed = true;
        return false;
    }
    if (needed < b->allocated)
        return true;
    size = MAX(needed + 1, 2 * b->allocated);
    size = MAX(size, STRBUF_FIRST_SIZE);
    data = realloc(b->data, size);
    if (!data) {
        b->failed = true;
        return false;
    }
    data[b->len] = '\0';
    b->data = data;
    b->allocated = size;
    return true;
}

void strbuf_append(struct strbuf *b, const char *s)
{
    strbuf_append_n(b, s, strlen(s));
}

void strbuf_append_n(struct strbuf *b, const char *s, size_t n)
{
    if (n == 0 || !strbuf_reserve(b, n))
        return;
    memcpy(b->data + b->len, s, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void strbuf_append_char(struct strbuf *b, char c)
{
    strbuf_append_n(b, &c, 1);
}

void strbuf_appendf(struct strbuf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    strbuf_vappendf(b, fmt, args);
    va_end(args);
}

void strbuf_vappendf(struct strbuf *b, const char *fmt, va_list args)
{
    size_t space = b->allocated - b->len;
    va_list again;
    int n;

    if (b->failed)
        return;
    va_copy(again, args);
    n = vsnprintf(space > 0 ? b->data + b->len : NULL, space, fmt, args);
    if (n < 0) {
        b->failed = true;
    } else if ((size_t) n < space) {
        b->len += (size_t) n;
    } else if (strbuf_reserve(b, (size_t) n)) {
        (void) vsnprintf(b->data + b->len, (size_t) n + 1, fmt, again);
        b->len += (size_t) n;
    }
    if (b->data)
        b->data[b->len] = '\0';
    va_end(again);
}

void strbuf_clear(struct strbuf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

char *strbuf_steal(struct strbuf *b)
{
    char *data = NULL;

    if (!b->failed)
        data = b->data ? steal_pointer(&b->data) : strdup("");
    strbuf_release(b);
    return data;
}

void strbuf_release(struct strbuf *b)
{
    free(b->data);
    *b = (struct strbuf){};
}

char *str_format(const char *fmt, ...)
{
    struct strbuf b = {};
    va_list args;

    va_start(args, fmt);
    strbuf_vappendf(&b, fmt, args);
    va_end(args);
    return strbuf_steal(&b);
}

int str_replace(char **p, const char *s)
{
    char *copy = NULL;

    if (s) {
        copy = strdup(s);
        if (!copy)
            return -ENOMEM;
    }
    free(*p);
    *p = copy;
    return 0;
}
