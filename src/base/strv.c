/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/str.h"

void strv_free(char **v)
{
    if (!v)
        return;
    for (size_t i = 0; v[i]; i++)
        free(v[i]);
    free(v);
}

size_t strv_length(char *const *v)
{
    size_t n = 0;

    while (v && v[n])
        n++;
    return n;
}

bool strv_contains(char *const *v, const char *s)
{
    for (size_t i = 0; v && v[i]; i++) {
        if (str_equal(v[i], s))
            return true;
    }
    return false;
}

bool strv_equal(char *const *a, char *const *b)
{
    size_t n = strv_length(a);

    if (strv_length(b) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!str_equal(a[i], b[i]))
            return false;
    }
    return true;
}

/* Appends s itself, which the vector then owns; frees it on failure. NULL counts as a failed
 * allocation. */
static int strv_consume(char ***v, char *s)
{
    size_t n = strv_length(*v);
    char **grown;

    if (!s)
        return -ENOMEM;
    grown = reallocarray(*v, n + 2, sizeof(char *));
    if (!grown) {
        free(s);
        return -ENOMEM;
    }
    grown[n] = s;
    grown[n + 1] = NULL;
    *v = grown;
    return 0;
}

int strv_push(char ***v, const char *s)
{
    return strv_consume(v, strdup(s));
}

int strv_copy(char *const *v, char ***ret)
{
    _cleanup_strv_ char **copy = NULL;

    for (size_t i = 0; v && v[i]; i++) {
        if (strv_push(&copy, v[i]) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&copy);
    return 0;
}

int strv_split(const char *s, const char *separators, char ***ret)
{
    _cleanup_strv_ char **parts = NULL;

    for (s += strspn(s, separators); *s != '\0'; s += strspn(s, separators)) {
        size_t n = strcspn(s, separators);

        if (strv_consume(&parts, strndup(s, n)) < 0)
            return -ENOMEM;
        s += n;
    }
    *ret = steal_pointer(&parts);
    return 0;
}

char *strv_join(char *const *v, const char *separator)
{
    struct strbuf joined = {};

    for (size_t i = 0; v && v[i]; i++) {
        if (i > 0)
            strbuf_append(&joined, separator);
        strbuf_append(&joined, v[i]);
    }
    return strbuf_steal(&joined);
}
