/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/template.h"

#include <errno.h>

#include "base/str.h"

/* The length of the name in "{name}" at s, 0 if there is none. */
static size_t name_length(const char *s)
{
    size_t n = *s == '{' ? strspn(s + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;

    return n > 0 && s[n + 1] == '}' ? n : 0;
}

int template_names(const char *text, char ***ret)
{
    _cleanup_strv_ char **names = NULL;

    for (const char *s = text; *s != '\0'; s++) {
        size_t n = name_length(s);
        _cleanup_free_ char *name = NULL;

        if (n == 0)
            continue;
        name = strndup(s + 1, n);
        if (!name || (!strv_contains(names, name) && strv_push(&names, name) < 0))
            return -ENOMEM;
    }
    *ret = steal_pointer(&names);
    return 0;
}

int template_fill(const char *text, template_value_fn value, const void *userdata, char **ret)
{
    _cleanup_strbuf_ struct strbuf filled = {};
    char *result;

    for (const char *s = text; *s != '\0'; s++) {
        size_t n = name_length(s);
        _cleanup_free_ char *name = NULL;
        const char *v;

        if (n == 0) {
            strbuf_append_char(&filled, *s);
            continue;
        }
        name = strndup(s + 1, n);
        if (!name)
            return -ENOMEM;
        v = value(name, userdata);
        if (!v) {
            *ret = NULL;
            return 0;
        }
        strbuf_append(&filled, v);
        s += n + 1;
    }
    result = strbuf_steal(&filled);
    if (!result)
        return -ENOMEM;
    *ret = result;
    return 0;
}
