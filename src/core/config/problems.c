/* SPDX-License-Identifier: MIT */
#include "core/config/problems.h"

#include <errno.h>

#include "base/str.h"

/* Enough for a path and a sentence; a file of garbage must not make a page of each of its lines. */
#define LINE_MAX_BYTES ((size_t) 600)

/* Messages go to terminals and journals: no byte of a hostile file may steer them. */
static void blank_controls(char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char) *s < ' ' || *s == '\x7f')
            *s = '?';
    }
}

static int keep_line(struct problems *p, const struct strbuf *text)
{
    _cleanup_free_ char *line = NULL;

    if (text->failed)
        return -ENOMEM;
    line = utf8_sanitize(text->data, MIN(text->len, LINE_MAX_BYTES));
    if (!line)
        return -ENOMEM;
    blank_controls(line);
    return strv_push(&p->lines, line);
}

int problems_add(struct problems *p, const char *file, unsigned line, const char *fmt, ...)
{
    _cleanup_strbuf_ struct strbuf text = {};
    va_list args;
    int r;

    if (!problems_full(p)) {
        if (line > 0)
            strbuf_appendf(&text, "%s:%u: ", file, line);
        else
            strbuf_appendf(&text, "%s: ", file);
        va_start(args, fmt);
        strbuf_vappendf(&text, fmt, args);
        va_end(args);
        r = keep_line(p, &text);
        if (r < 0)
            return r;
    }
    p->n++;
    return 0;
}

bool problems_full(const struct problems *p)
{
    return p->n >= PROBLEMS_MAX;
}

int problems_steal(struct problems *p, char ***ret)
{
    if (p->n > PROBLEMS_MAX) {
        _cleanup_free_ char *rest = str_format("and %zu more", p->n - PROBLEMS_MAX);

        if (!rest || strv_push(&p->lines, rest) < 0)
            return -ENOMEM;
    }
    p->n = 0;
    *ret = steal_pointer(&p->lines);
    return 0;
}

void problems_release(struct problems *p)
{
    strv_free(p->lines);
    *p = (struct problems){};
}
