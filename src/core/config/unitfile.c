/* SPDX-License-Identifier: MIT */
#include "core/config/unitfile.h"

#include <errno.h>
#include <stdbool.h>

#include "base/str.h"
#include "core/config/words.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct parser {
    const char *file;
    struct unitfile *u;
    struct problems *problems;
    struct strbuf logical;  /* a line with its continuations */
    unsigned line;          /* where `logical` begins */
    bool continued;         /* `logical` waits for more */
    bool overlong;          /* `logical` has grown too large: drop it when it ends */
    bool in_section;        /* a header has been seen, good or bad */
    bool skipping;          /* the header was bad: what stands below it is dropped, once told */
};

static int new_entry(struct unitfile *u, struct unit_entry **ret)
{
    if (u->n == u->allocated) {
        size_t size = MAX((size_t) 16, 2 * u->allocated);
        struct unit_entry *grown = reallocarray(u->entries, size, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        u->entries = grown;
        u->allocated = size;
    }
    *ret = &u->entries[u->n];
    **ret = (struct unit_entry){};
    return 0;
}

/* Splits "Name argument" or "Name" in place. False if it is neither. */
static int split_header(char *header, char **ret_argument, const char **ret_why)
{
    _cleanup_strv_ char **words = NULL;
    size_t n = strcspn(header, " \t");
    int r;

    if (n == 0) {
        *ret_why = "a section without a name";
        return -EINVAL;
    }
    if (header[n] == '\0') {
        *ret_argument = NULL;
        return 0;
    }
    r = words_split(header + n, &words, ret_why);
    if (r < 0)
        return r;
    if (strv_length(words) != 1) {
        *ret_why = "a section with more than one argument; quote one with blanks in it";
        return -EINVAL;
    }
    *ret_argument = steal_pointer(&words[0]);
    header[n] = '\0';
    return 0;
}

int unitfile_add_section(struct unitfile *u, const char *header, const char *file, unsigned line,
                         struct problems *p)
{
    _cleanup_free_ char *copy = strdup(header);
    _cleanup_free_ char *argument = NULL, *section = NULL;
    struct unit_entry *entry;
    const char *why = NULL;
    int r;

    if (!copy)
        return -ENOMEM;
    if (strlen(header) > UNITFILE_MAX_NAME)
        return problems_add(p, file, line, "the section's name is longer than %zu bytes; expected "
                            "[Section] or [Section name]", UNITFILE_MAX_NAME);
    r = split_header(str_strip(copy), &argument, &why);
    if (r == -EINVAL)
        return problems_add(p, file, line, "%s; expected [Section] or [Section name]", why);
    if (r < 0)
        return r;
    section = strdup(str_strip(copy));
    if (!section)
        return -ENOMEM;
    r = new_entry(u, &entry);
    if (r < 0)
        return r;
    entry->section = steal_pointer(&section);
    entry->argument = steal_pointer(&argument);
    entry->file = file;
    entry->line = line;
    u->n++;
    return 0;
}

int unitfile_add(struct unitfile *u, const char *key, const char *value, const char *file, unsigned line)
{
    _cleanup_free_ char *key_copy = strdup(key), *value_copy = strdup(value);
    struct unit_entry *entry;
    int r;

    if (!key_copy || !value_copy)
        return -ENOMEM;
    r = new_entry(u, &entry);
    if (r < 0)
        return r;
    entry->section = u->entries[u->n - 1].section;
    entry->argument = u->entries[u->n - 1].argument;
    entry->key = steal_pointer(&key_copy);
    entry->value = steal_pointer(&value_copy);
    entry->file = file;
    entry->line = line;
    u->n++;
    return 0;
}

static int parse_header(struct parser *s, char *text)
{
    size_t n = strlen(text), known = s->u->n;
    int r;

    s->in_section = true;
    if (text[n - 1] != ']') {
        r = problems_add(s->problems, s->file, s->line,
                         "no ] at the end of the section's header; expected [Section]");
    } else {
        text[n - 1] = '\0';
        r = unitfile_add_section(s->u, text + 1, s->file, s->line, s->problems);
    }
    s->skipping = s->u->n == known;
    return r;
}

/* A message that quotes what was written. */
static int tell_quoted(struct parser *s, const char *text, const char *before, const char *behind)
{
    _cleanup_free_ char *shown = problems_quote(text);

    if (!shown)
        return -ENOMEM;
    return problems_add(s->problems, s->file, s->line, "%s%s%s", before, shown, behind);
}

static int parse_assignment(struct parser *s, char *text)
{
    char *equals = strchr(text, '=');
    char *key;

    if (!equals)
        return tell_quoted(s, text, "\"", "\" is no assignment; expected Key=Value, [Section] or a comment");
    *equals = '\0';
    key = str_strip(text);
    if (*key == '\0')
        return problems_add(s->problems, s->file, s->line, "no key before =; expected Key=Value");
    if (strlen(key) > UNITFILE_MAX_NAME)
        return problems_add(s->problems, s->file, s->line,
                            "a key longer than %zu bytes; expected Key=Value", UNITFILE_MAX_NAME);
    if (!s->in_section)
        return tell_quoted(s, key, "", "= stands before any section; expected [Section] first");
    if (s->skipping)
        return 0;
    return unitfile_add(s->u, key, str_strip(equals + 1), s->file, s->line);
}

/* A whole logical line. */
static int parse_logical(struct parser *s)
{
    char *text;

    s->continued = false;
    if (s->logical.failed)
        return -ENOMEM;
    if (s->overlong) {
        s->overlong = false;
        return problems_add(s->problems, s->file, s->line,
                            "longer than %zu bytes with its continuation lines; expected less",
                            UNITFILE_MAX_LINE);
    }
    text = s->logical.data ? str_strip(s->logical.data) : NULL;
    if (str_empty(text))
        return 0;
    return *text == '[' ? parse_header(s, text) : parse_assignment(s, text);
}

/* An odd number of backslashes at the end: the last one is not itself escaped. */
static bool is_continued(const char *line, size_t n)
{
    size_t backslashes = 0;

    while (backslashes < n && line[n - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2 == 1;
}

static size_t leading_blanks(const char *line, size_t n)
{
    size_t i = 0;

    while (i < n && (line[i] == ' ' || line[i] == '\t'))
        i++;
    return i;
}

static bool is_comment(const char *line, size_t n)
{
    size_t i = leading_blanks(line, n);

    return i < n && (line[i] == '#' || line[i] == ';');
}

/* What keeps a physical line from being text at all; NULL if nothing does. */
static const char *line_defect(const char *line, size_t n)
{
    size_t i = 0;

    if (n > UNITFILE_MAX_LINE)
        return "a line longer than 1 MiB; expected less";
    while (i < n) {
        size_t length = utf8_sequence_length(line + i, n - i);

        if (length == 0)
            return "not valid UTF-8; expected text in UTF-8";
        if (line[i] == '\0')
            return "a NUL byte; expected text";
        i += length;
    }
    return NULL;
}

/* One line of the file, without its end. */
static int feed(struct parser *s, const char *line, size_t n, unsigned number)
{
    const char *defect = line_defect(line, n);
    size_t blanks;
    bool more;

    if (defect) {
        s->continued = false;
        return problems_add(s->problems, s->file, number, "%s", defect);
    }
    if (is_comment(line, n))
        return 0;
    if (!s->continued) {
        s->line = number;
        strbuf_clear(&s->logical);
    }
    more = is_continued(line, n);
    blanks = leading_blanks(line, n);
    line += blanks;
    n -= blanks;
    if (s->logical.len + n > UNITFILE_MAX_LINE) {
        s->overlong = true;
    } else {
        strbuf_append_n(&s->logical, line, more ? n - 1 : n);
        if (more)
            strbuf_append_char(&s->logical, ' ');
    }
    s->continued = more;
    return more ? 0 : parse_logical(s);
}

static int feed_all(struct parser *s, const char *text, size_t n)
{
    const char *end = text + n;

    for (unsigned number = 1; text < end && !problems_full(s->problems); number++) {
        const char *newline = memchr(text, '\n', (size_t) (end - text));
        const char *stop = newline ? newline : end;
        size_t length = (size_t) (stop - text);
        int r;

        if (length > 0 && text[length - 1] == '\r')
            length--;
        r = feed(s, text, length, number);
        if (r < 0)
            return r;
        text = newline ? newline + 1 : end;
    }
    return s->continued ? parse_logical(s) : 0;
}

int unitfile_parse(const char *file, const char *text, size_t n, struct unitfile *u, struct problems *p)
{
    struct parser s = {.file = file, .u = u, .problems = p};
    size_t mark = strlen(BYTE_ORDER_MARK);
    int r;

    if (n > UNITFILE_MAX_BYTES)
        return problems_add(p, file, 0, "larger than %zu MiB; expected less", UNITFILE_MAX_BYTES >> 20);
    if (n >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0) {
        text += mark;
        n -= mark;
    }
    r = feed_all(&s, text, n);
    strbuf_release(&s.logical);
    return r;
}

static void entry_release(struct unit_entry *e)
{
    if (!e->key) {
        free(e->section);
        free(e->argument);
    }
    free(e->key);
    free(e->value);
    strv_free(e->words);
}

void unitfile_release(struct unitfile *u)
{
    for (size_t i = 0; i < u->n; i++)
        entry_release(&u->entries[i]);
    free(u->entries);
    *u = (struct unitfile){};
}
