/* SPDX-License-Identifier: MIT */
#include "core/config/config_reference.h"

#include "base/str.h"
#include "core/config/config_key.h"

#define COLUMNS ((size_t) 90)

/* Text that is no scdoc: what would be a mark is escaped. */
static void append_plain(struct strbuf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("_*\\~", *text))
            strbuf_append_char(b, '\\');
        strbuf_append_char(b, *text);
    }
}

/* At the beginning of a line these would make it a table, a list or a heading. */
static bool may_begin_line(const char *word)
{
    return *word != '\0' && !strchr("[]|#-.;'<", *word);
}

/* A paragraph, broken into lines that begin with `indent`. */
static void append_paragraph(struct strbuf *b, const char *indent, const char *text)
{
    size_t column = strlen(indent);

    strbuf_append(b, indent);
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        const char *next = text + n + (text[n] == ' ');

        strbuf_append_n(b, text, n);
        column += n;
        if (*next != '\0' && column + 1 + strcspn(next, " ") > COLUMNS && may_begin_line(next)) {
            strbuf_appendf(b, "\n%s", indent);
            column = strlen(indent);
        } else if (*next != '\0') {
            strbuf_append_char(b, ' ');
            column++;
        }
        text = next;
    }
    strbuf_append_char(b, '\n');
}

static void append_facts(struct strbuf *b, const struct config_key *k, const char *expectation)
{
    _cleanup_strbuf_ struct strbuf facts = {};

    strbuf_append(&facts, "Value: ");
    append_plain(&facts, expectation);
    if (k->default_text) {
        strbuf_append(&facts, ". Default: ");
        append_plain(&facts, k->default_text);
    } else if (k->required) {
        strbuf_append(&facts, ". Required");
    }
    strbuf_append(&facts, k->needs_restart ? ". A change waits for the next start of the server." : ".");
    if (facts.failed)
        b->failed = true;
    else
        append_paragraph(b, "\t", facts.data);
}

static void append_key(struct strbuf *b, const struct config_key *k)
{
    _cleanup_free_ char *expectation = config_key_expectation(k);

    if (!expectation) {
        b->failed = true;
        return;
    }
    strbuf_appendf(b, "\n*%s=*\n", k->name);
    append_paragraph(b, "\t", k->text);
    strbuf_append_char(b, '\n');
    append_facts(b, k, expectation);
}

static void append_section(struct strbuf *b, const struct config_section *s)
{
    strbuf_appendf(b, "\n# [%s%s]\n\n", s->name, s->named ? " NAME" : "");
    append_paragraph(b, "", s->text);
    for (size_t i = 0; i < n_config_keys; i++) {
        if (config_key_section(&config_keys[i]) == s)
            append_key(b, &config_keys[i]);
    }
}

char *config_reference(void)
{
    struct strbuf b = {};

    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++)
        append_section(&b, &config_sections[i]);
    return strbuf_steal(&b);
}
