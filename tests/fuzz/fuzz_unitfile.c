/* SPDX-License-Identifier: MIT */
/* Any bytes as a unit file, and their values as words. Whatever the parser takes can be written down
 * again so that it reads as the same. */

#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "core/config/unitfile.h"
#include "core/config/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_entry(const struct unit_entry *e, const struct unit_entry *previous)
{
    assert(e->section && *e->section != '\0' && strlen(e->section) <= UNITFILE_MAX_NAME);
    assert(e->line > 0 && (!previous || e->line > previous->line));
    if (!e->key) {
        assert(!e->value);
        return;
    }
    assert(previous && e->section == previous->section && e->argument == previous->argument);
    assert(*e->key != '\0' && strlen(e->key) <= UNITFILE_MAX_NAME && strlen(e->value) <= UNITFILE_MAX_LINE);
    assert(!strchr(e->key, '=') && !strchr(e->value, '\n'));
}

/* A file with one line for each entry. */
static char *written(const struct unitfile *u)
{
    struct strbuf b = {};

    for (size_t i = 0; i < u->n; i++) {
        const struct unit_entry *e = &u->entries[i];
        char *const argument[] = {e->argument, NULL};
        _cleanup_free_ char *quoted = words_join(argument);

        if (e->key)
            strbuf_appendf(&b, "%s=%s\n", e->key, e->value);
        else
            strbuf_appendf(&b, "[%s %s]\n", e->section, quoted);
    }
    return strbuf_steal(&b);
}

/* What begins or ends with what means something there cannot be written on a line of its own: it came
 * from a line that was continued. A % is doubled for those who expand it, which nobody does in a header. */
static bool is_plain(const struct unitfile *u)
{
    for (size_t i = 0; i < u->n; i++) {
        const struct unit_entry *e = &u->entries[i];

        if (e->key && (strchr("[#;", e->key[0]) || str_ends_with(e->value, "\\")))
            return false;
        if (!e->key && (strchr(e->section, ']') || (e->argument && strchr(e->argument, '%')) ||
                        strlen(e->section) + 8 * strlen(str_or_empty(e->argument)) > UNITFILE_MAX_NAME))
            return false;
    }
    return true;
}

static void check_again(const struct unitfile *u)
{
    _cleanup_unitfile_ struct unitfile again = {};
    _cleanup_problems_ struct problems problems = {};
    _cleanup_free_ char *text = written(u);

    assert(unitfile_parse("again", text, strlen(text), &again, &problems) == 0);
    assert(problems.n == 0 && again.n == u->n);
    for (size_t i = 0; i < u->n; i++) {
        assert(str_equal(again.entries[i].section, u->entries[i].section));
        assert(str_equal(again.entries[i].argument, u->entries[i].argument));
        assert(str_equal(again.entries[i].key, u->entries[i].key));
        assert(str_equal(again.entries[i].value, u->entries[i].value));
    }
}

static void check_words(const char *value)
{
    static const struct specifiers none = {};
    _cleanup_strv_ char **words = NULL, **again = NULL;
    _cleanup_free_ char *text = NULL, *twice = NULL;
    const char *why = NULL;
    char bad;

    if (words_split(value, &words, &why) < 0) {
        assert(why);
        return;
    }
    text = words_join(words);
    assert(words_split(text, &again, &why) == 0);
    assert(specifiers_expand_words(again, &none, &bad) == 0);
    assert(strv_length(again) == strv_length(words));
    for (size_t i = 0; words && words[i]; i++)
        assert(str_equal(words[i], again[i]));
    twice = words_join(again);
    assert(str_equal(text, twice));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    _cleanup_unitfile_ struct unitfile u = {};
    _cleanup_problems_ struct problems problems = {};

    assert(unitfile_parse("fuzz", (const char *) bytes, n, &u, &problems) == 0);
    for (size_t i = 0; i < u.n; i++) {
        check_entry(&u.entries[i], i > 0 ? &u.entries[i - 1] : NULL);
        if (u.entries[i].key)
            check_words(u.entries[i].value);
    }
    if (problems.n == 0 && is_plain(&u))
        check_again(&u);
    return 0;
}
