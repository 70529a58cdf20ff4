/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/unitfile.h"

/* Entries as "Section/argument Key=value@line" and headers as "[Section/argument]@line", one a line. */
static char *told(const struct unitfile *u)
{
    struct strbuf b = {};
    char *text;

    for (size_t i = 0; i < u->n; i++) {
        const struct unit_entry *e = &u->entries[i];

        assert_string_equal(e->file, "f");
        if (e->key)
            strbuf_appendf(&b, "%s/%s %s=%s@%u\n", e->section, e->argument ? e->argument : "-", e->key,
                           e->value, e->line);
        else
            strbuf_appendf(&b, "[%s/%s]@%u\n", e->section, e->argument ? e->argument : "-", e->line);
    }
    text = strbuf_steal(&b);
    assert_non_null(text);
    return text;
}

static void parses(void unused **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", ""},
        {"\n\n# c\n; c\n  # c\n", ""},
        {"[A]", "[A/-]@1\n"},
        {"  [A]  \n", "[A/-]@1\n"},
        {"[A b]\nk=v\n", "[A/b]@1\nA/b k=v@2\n"},
        {"[A   \"b c\"]\n[A 'd']\n[A e\\x41]", "[A/b c]@1\n[A/d]@2\n[A/eA]@3\n"},
        {"[A]\nk = v w \n\tk2=\t\n", "[A/-]@1\nA/- k=v w@2\nA/- k2=@3\n"},
        {"[A]\nk=a=b\n", "[A/-]@1\nA/- k=a=b@2\n"},
        {"[A]\nk=[x]\n", "[A/-]@1\nA/- k=[x]@2\n"},
        {"[A]\nk=v # no comment\n", "[A/-]@1\nA/- k=v # no comment@2\n"},
        {"[A]\r\nk=v\r\n", "[A/-]@1\nA/- k=v@2\n"},
        {"[A]\nk=a\\\nb\\\n  c\nd=e\n", "[A/-]@1\nA/- k=a b c@2\nA/- d=e@5\n"},
        {"[A]\nk=a \\\r\n b\r\n", "[A/-]@1\nA/- k=a  b@2\n"},
        {"[A]\nk=a \\\n# c \\\n; c\n b\n", "[A/-]@1\nA/- k=a  b@2\n"},
        {"[A]\nk=a\\\n\nd=e\n", "[A/-]@1\nA/- k=a@2\nA/- d=e@4\n"},
        {"[A]\nk=a\\", "[A/-]@1\nA/- k=a@2\n"},
        {"[A]\nk=a\\\\\nd=e", "[A/-]@1\nA/- k=a\\\\@2\nA/- d=e@3\n"},
        {"[A]\nk=a\\\\\\\nd", "[A/-]@1\nA/- k=a\\\\ d@2\n"},
        {"# c\\\n[A]\n", "[A/-]@2\n"},
        {"[A]\nk=\\bx\\d+\n", "[A/-]@1\nA/- k=\\bx\\d+@2\n"},
        {"\xef\xbb\xbf[A]\nk=\xc3\xa9\n", "[A/-]@1\nA/- k=\xc3\xa9@2\n"},
        {"[A]\nk=v\n[A]\nk=w\n[B]\n[A]\n", "[A/-]@1\nA/- k=v@2\n[A/-]@3\nA/- k=w@4\n[B/-]@5\n[A/-]@6\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_unitfile_ struct unitfile u = {};
        _cleanup_problems_ struct problems p = {};
        _cleanup_free_ char *text = NULL;

        assert_row(rows[i].text, unitfile_parse("f", rows[i].text, strlen(rows[i].text), &u, &p) == 0);
        assert_row(rows[i].text, p.n == 0);
        text = told(&u);
        assert_string_equal(text, rows[i].expected);
    }
}

/* What is wrong is told, what is right beside it is kept. */
static void tells_mistakes(void unused **state)
{
    static const struct {
        const char *text, *entries, *problem;
    } rows[] = {
        {"k=v\n[A]\nk=v", "[A/-]@2\nA/- k=v@3\n",
         "f:1: k= stands before any section; expected [Section] first"},
        {"[A]\nnonsense\nk=v\n", "[A/-]@1\nA/- k=v@3\n",
         "f:2: \"nonsense\" is no assignment; expected Key=Value, [Section] or a comment"},
        {"[A]\n = v\n", "[A/-]@1\n", "f:2: no key before =; expected Key=Value"},
        {"[A\nk=v\n[B]\n", "[B/-]@3\n",
         "f:1: no ] at the end of the section's header; expected [Section]"},
        {"[A] x\n", "", "f:1: no ] at the end of the section's header; expected [Section]"},
        {"[", "", "f:1: no ] at the end of the section's header; expected [Section]"},
        {"[]\n", "", "f:1: a section without a name; expected [Section] or [Section name]"},
        {"[ ]\n", "", "f:1: a section without a name; expected [Section] or [Section name]"},
        {"[A b c]\n", "",
         "f:1: a section with more than one argument; quote one with blanks in it; expected [Section] or "
         "[Section name]"},
        {"[A \"b]\n", "", "f:1: a quote that is not closed; expected [Section] or [Section name]"},
        {"[A]\nk=\xff\nl=v\n", "[A/-]@1\nA/- l=v@3\n",
         "f:2: not valid UTF-8; expected text in UTF-8"},
        {"[A]\nk=a\\\n\xff\nl=v\n", "[A/-]@1\nA/- l=v@4\n",
         "f:3: not valid UTF-8; expected text in UTF-8"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_unitfile_ struct unitfile u = {};
        _cleanup_problems_ struct problems p = {};
        _cleanup_strv_ char **lines = NULL;
        _cleanup_free_ char *text = NULL;

        assert_row(rows[i].text, unitfile_parse("f", rows[i].text, strlen(rows[i].text), &u, &p) == 0);
        assert_row(rows[i].text, p.n == 1);
        assert_int_equal(problems_steal(&p, &lines), 0);
        assert_string_equal(lines[0], rows[i].problem);
        text = told(&u);
        assert_string_equal(text, rows[i].entries);
    }
}

static void nul_bytes_are_a_mistake(void unused **state)
{
    static const char text[] = "[A]\nk=a\0b\nl=v";
    _cleanup_unitfile_ struct unitfile u = {};
    _cleanup_problems_ struct problems p = {};
    _cleanup_free_ char *entries = NULL;

    assert_int_equal(unitfile_parse("f", text, sizeof(text) - 1, &u, &p), 0);
    assert_int_equal(p.n, 1);
    assert_string_equal(p.items[0].text, "f:2: a NUL byte; expected text");
    entries = told(&u);
    assert_string_equal(entries, "[A/-]@1\nA/- l=v@3\n");
}

/* `n` bytes of `c` between two texts. */
static char *padded(const char *before, char c, size_t n, const char *after, size_t *ret_len)
{
    struct strbuf b = {};
    char *text;

    strbuf_append(&b, before);
    for (size_t i = 0; i < n; i++)
        strbuf_append_char(&b, c);
    strbuf_append(&b, after);
    *ret_len = b.len;
    text = strbuf_steal(&b);
    assert_non_null(text);
    return text;
}

static void sizes_are_bounded(void unused **state)
{
    static const struct {
        const char *before;
        char c;
        size_t n;
        const char *after, *problem;
    } rows[] = {
        {"[A]\nk=", 'v', UNITFILE_MAX_LINE - 2, "\n", NULL},
        {"[A]\nk=", 'v', UNITFILE_MAX_LINE - 1, "\n", "f:2: a line longer than 1 MiB; expected less"},
        {"[A]\nk=a\\\n", 'v', UNITFILE_MAX_LINE - 4, "\n", NULL},
        {"[A]\nk=a\\\n", 'v', UNITFILE_MAX_LINE - 3, "\nl=w\n",
         "f:2: longer than 1048576 bytes with its continuation lines; expected less"},
        {"[A]\n", 'k', UNITFILE_MAX_NAME, "=v", NULL},
        {"[A]\n", 'k', UNITFILE_MAX_NAME + 1, "=v", "f:2: a key longer than 255 bytes; expected Key=Value"},
        {"[", 'A', UNITFILE_MAX_NAME, "]", NULL},
        {"[", 'A', UNITFILE_MAX_NAME + 1, "]",
         "f:1: the section's name is longer than 255 bytes; expected [Section] or [Section name]"},
        {"", '\n', UNITFILE_MAX_BYTES, "", NULL},
        {"", '\n', UNITFILE_MAX_BYTES + 1, "", "f: larger than 4 MiB; expected less"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_unitfile_ struct unitfile u = {};
        _cleanup_problems_ struct problems p = {};
        size_t len;
        _cleanup_free_ char *text = padded(rows[i].before, rows[i].c, rows[i].n, rows[i].after, &len);

        assert_int_equal(unitfile_parse("f", text, len, &u, &p), 0);
        assert_int_equal(p.n, rows[i].problem ? 1 : 0);
        if (rows[i].problem)
            assert_string_equal(p.items[0].text, rows[i].problem);
    }
}

/* A file of garbage costs no more than its first problems. */
static void stops_after_many_mistakes(void unused **state)
{
    _cleanup_unitfile_ struct unitfile u = {};
    _cleanup_problems_ struct problems p = {};
    struct strbuf b = {};
    _cleanup_free_ char *text = NULL;

    for (size_t i = 0; i < 10 * PROBLEMS_MAX; i++)
        strbuf_append(&b, "nonsense\n");
    strbuf_append(&b, "[A]\n");
    text = strbuf_steal(&b);
    assert_int_equal(unitfile_parse("f", text, strlen(text), &u, &p), 0);
    assert_int_equal(p.n, PROBLEMS_MAX);
    assert_int_equal(u.n, 0);
}

static void several_texts_make_one_list(void unused **state)
{
    _cleanup_unitfile_ struct unitfile u = {};
    _cleanup_problems_ struct problems p = {};
    _cleanup_free_ char *text = NULL;

    assert_int_equal(unitfile_parse("f", "[A]\nk=v\\", 8, &u, &p), 0);
    assert_int_equal(unitfile_parse("f", "[B c]\nk=w", 9, &u, &p), 0);
    assert_int_equal(unitfile_add_section(&u, " D  'e f' ", "f", 7, &p), 0);
    assert_int_equal(unitfile_add(&u, "l", "x", "f", 8), 0);
    assert_int_equal(p.n, 0);
    text = told(&u);
    assert_string_equal(text, "[A/-]@1\nA/- k=v@2\n[B/c]@1\nB/c k=w@2\n[D/e f]@7\nD/e f l=x@8\n");
}

static int parse_all(void unused *data)
{
    static const char text[] = "k=v\n[A]\nk=v\\\nw\n[B \"c d\"]\nl=m\n[C\nnonsense\n=\n[D e f]\n";
    _cleanup_unitfile_ struct unitfile u = {};
    _cleanup_problems_ struct problems p = {};

    return unitfile_parse("f", text, strlen(text), &u, &p);
}

static void survives_lack_of_memory(void unused **state)
{
    assert_true(chaos_each(parse_all, NULL) > 20);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(tells_mistakes),
        cmocka_unit_test(nul_bytes_are_a_mistake),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(stops_after_many_mistakes),
        cmocka_unit_test(several_texts_make_one_list),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config unitfile", tests, NULL, NULL);
}
