/* SPDX-License-Identifier: MIT */
#include "core/config/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* A cursor over the text, and what has been made of it so far. */
struct splitter {
    const char *p;
    char **words; /* NULL-terminated, grown in steps: strv_push() would be quadratic here */
    size_t n;
    size_t allocated;
    const char *why;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Exactly n digits of the base; moves *p behind them. -1 if they are not there. */
static int64_t read_number(const char **p, size_t n, int base)
{
    int64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        int digit = hex_value((*p)[i]);

        if (digit < 0 || digit >= base)
            return -1;
        value = value * base + digit;
    }
    *p += n;
    return value;
}

static void append_utf8(struct strbuf *b, uint32_t c)
{
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    size_t tail = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

    strbuf_append_char(b, (char) (leads[tail] | (c >> (6 * tail))));
    while (tail-- > 0)
        strbuf_append_char(b, (char) (0x80 | ((c >> (6 * tail)) & 0x3f)));
}

/* \x.. \NNN: any byte but NUL. \u.... \U........: any character but NUL and surrogates. */
static int read_numeric_escape(struct splitter *s, struct strbuf *word)
{
    char kind = *s->p;
    bool wide = kind == 'u' || kind == 'U';
    int64_t value;

    if (kind >= '0' && kind <= '7') {
        value = read_number(&s->p, 3, 8);
    } else {
        s->p++;
        value = read_number(&s->p, kind == 'x' ? 2 : kind == 'u' ? 4 : 8, 16);
    }
    if (value <= 0 || value > (wide ? 0x10ffff : 0xff) || (wide && value >= 0xd800 && value <= 0xdfff)) {
        s->why = "an escape with a number that is no character";
        return -EINVAL;
    }
    if (wide)
        append_utf8(word, (uint32_t) value);
    else
        strbuf_append_char(word, (char) value);
    return 0;
}

/* s->p stands behind the backslash. */
static int read_escape(struct splitter *s, struct strbuf *word)
{
    static const char letters[] = "abfnrtvs\\\"'";
    static const char meanings[] = "\a\b\f\n\r\t\v \\\"'";
    const char *letter;

    if (*s->p == '\0') {
        s->why = "a backslash at the end";
        return -EINVAL;
    }
    letter = strchr(letters, *s->p);
    if (letter) {
        strbuf_append_char(word, meanings[letter - letters]);
        s->p++;
        return 0;
    }
    if (strchr("xuU01234567", *s->p))
        return read_numeric_escape(s, word);
    s->why = "an unknown escape (a backslash itself is written \\\\)";
    return -EINVAL;
}

/* One word from s->p on, which is no blank. */
static int read_word(struct splitter *s, struct strbuf *word)
{
    char quote = '\0';

    for (; *s->p != '\0' && (quote != '\0' || !is_blank(*s->p));) {
        char c = *s->p++;

        if (c == '\\') {
            int r = read_escape(s, word);

            if (r < 0)
                return r;
        } else if (quote != '\0' ? c == quote : c == '"' || c == '\'') {
            quote = quote == '\0' ? c : '\0';
        } else {
            strbuf_append_char(word, c);
        }
    }
    if (quote != '\0') {
        s->why = "a quote that is not closed";
        return -EINVAL;
    }
    return 0;
}

static int keep_word(struct splitter *s, struct strbuf *word)
{
    if (s->n + 1 >= s->allocated) {
        size_t size = MAX((size_t) 8, 2 * s->allocated);
        char **grown = reallocarray(s->words, size, sizeof(char *));

        if (!grown)
            return -ENOMEM;
        s->words = grown;
        s->allocated = size;
    }
    s->words[s->n] = strbuf_steal(word);
    if (!s->words[s->n])
        return -ENOMEM;
    s->words[++s->n] = NULL;
    return 0;
}

static int split(struct splitter *s)
{
    for (;;) {
        _cleanup_strbuf_ struct strbuf word = {};
        int r;

        while (is_blank(*s->p))
            s->p++;
        if (*s->p == '\0')
            return 0;
        if (s->n == WORDS_MAX) {
            s->why = "too many words";
            return -EINVAL;
        }
        r = read_word(s, &word);
        if (r < 0)
            return r;
        r = keep_word(s, &word);
        if (r < 0)
            return r;
    }
}

int words_split(const char *text, char ***ret, const char **ret_why)
{
    struct splitter s = {.p = text};
    int r = split(&s);

    if (r < 0) {
        strv_free(s.words);
        if (r == -EINVAL)
            *ret_why = s.why;
        return r;
    }
    *ret = s.words;
    return 0;
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char) c >= 0x80 || strchr("-_./:=,+@%^~*?[]{}()<>|&;!#$", c) != NULL;
}

static bool needs_quotes(const char *word)
{
    for (const char *c = word; *c != '\0'; c++) {
        if (!is_plain(*c))
            return true;
    }
    return *word == '\0';
}

static void append_quoted_char(struct strbuf *b, char c)
{
    if (c == '"' || c == '\\')
        strbuf_appendf(b, "\\%c", c);
    else if ((unsigned char) c < ' ' || c == '\x7f')
        strbuf_appendf(b, "\\x%02x", (unsigned) c);
    else if (c == '%')
        strbuf_append(b, "%%");
    else
        strbuf_append_char(b, c);
}

char *words_join(char *const *v)
{
    struct strbuf text = {};

    for (size_t i = 0; v && v[i]; i++) {
        const char *quote = needs_quotes(v[i]) ? "\"" : "";

        if (i > 0)
            strbuf_append_char(&text, ' ');
        strbuf_append(&text, quote);
        for (const char *c = v[i]; *c != '\0'; c++)
            append_quoted_char(&text, *c);
        strbuf_append(&text, quote);
    }
    return strbuf_steal(&text);
}

static const char *specifier_value(const struct specifiers *sp, char letter)
{
    switch (letter) {
    case '%':
        return "%";
    case 'i':
        return sp->instance;
    case 'D':
        return sp->data_dir;
    case 'p':
        return sp->program;
    case 'd':
        return sp->credentials;
    default:
        return NULL;
    }
}

int specifiers_expand(const char *s, const struct specifiers *sp, char **ret, char *ret_bad)
{
    _cleanup_strbuf_ struct strbuf text = {};
    char *expanded;

    for (; *s != '\0'; s++) {
        const char *value = *s == '%' ? specifier_value(sp, s[1]) : NULL;

        if (*s != '%') {
            strbuf_append_char(&text, *s);
        } else if (value) {
            strbuf_append(&text, value);
            s++;
        } else {
            *ret_bad = s[1];
            return -EINVAL;
        }
    }
    expanded = strbuf_steal(&text);
    if (!expanded)
        return -ENOMEM;
    *ret = expanded;
    return 0;
}

int specifiers_expand_words(char **v, const struct specifiers *sp, char *ret_bad)
{
    for (size_t i = 0; v && v[i]; i++) {
        char *expanded;
        int r = specifiers_expand(v[i], sp, &expanded, ret_bad);

        if (r < 0)
            return r;
        free(v[i]);
        v[i] = expanded;
    }
    return 0;
}
