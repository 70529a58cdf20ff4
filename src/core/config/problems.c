/* SPDX-License-Identifier: MIT */
#include "core/config/problems.h"

#include <errno.h>

#include "base/str.h"
#include "core/diagnosis/redact.h"

/* Enough for a path and a sentence; a file of garbage must not make a page of each of its lines. */
#define LINE_MAX_BYTES ((size_t) 600)
#define QUOTE_MAX_BYTES ((size_t) 80)

static size_t kept(const struct problems *p)
{
    return MIN(p->n, (size_t) PROBLEMS_MAX);
}

/* Messages go to terminals and journals: no byte of a hostile file may steer them. */
static void blank_controls(char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char) *s < ' ' || *s == '\x7f')
            *s = '?';
    }
}

static char *clean_line(const struct strbuf *text)
{
    char *line = text->failed ? NULL : utf8_sanitize(text->data, MIN(text->len, LINE_MAX_BYTES));

    if (line)
        blank_controls(line);
    return line;
}

/* Syntax is told before meaning, but people read a file from its top. */
static size_t position_for(const struct problems *p, const char *file, unsigned line)
{
    size_t i = kept(p);

    while (i > 0 && !str_equal(p->items[i - 1].file, file))
        i--;
    if (i == 0)
        return kept(p);
    while (i > 0 && str_equal(p->items[i - 1].file, file) && p->items[i - 1].line > line)
        i--;
    return i;
}

static int keep(struct problems *p, const char *file, unsigned line, const struct strbuf *text)
{
    struct problem problem = {.file = strdup(file), .line = line, .text = clean_line(text)};
    size_t i;

    if (!problem.file || !problem.text) {
        free(problem.file);
        free(problem.text);
        return -ENOMEM;
    }
    i = position_for(p, file, line);
    memmove(&p->items[i + 1], &p->items[i], (p->n - i) * sizeof(problem));
    p->items[i] = problem;
    return 0;
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
        r = keep(p, file, line, &text);
        if (r < 0)
            return r;
    }
    p->n++;
    return 0;
}

char *problems_quote(const char *text)
{
    char *shown = redact_text(text);

    if (shown && strlen(shown) > QUOTE_MAX_BYTES + strlen("..."))
        memcpy(shown + QUOTE_MAX_BYTES, "...", sizeof("..."));
    return shown;
}

bool problems_full(const struct problems *p)
{
    return p->n >= PROBLEMS_MAX;
}

int problems_steal(struct problems *p, char ***ret)
{
    _cleanup_strv_ char **lines = NULL;

    for (size_t i = 0; i < kept(p); i++) {
        if (strv_push(&lines, p->items[i].text) < 0)
            return -ENOMEM;
    }
    if (p->n > PROBLEMS_MAX) {
        _cleanup_free_ char *rest = str_format("and %zu more", p->n - PROBLEMS_MAX);

        if (!rest || strv_push(&lines, rest) < 0)
            return -ENOMEM;
    }
    problems_release(p);
    *ret = steal_pointer(&lines);
    return 0;
}

void problems_release(struct problems *p)
{
    for (size_t i = 0; i < kept(p); i++) {
        free(p->items[i].file);
        free(p->items[i].text);
    }
    *p = (struct problems){};
}
