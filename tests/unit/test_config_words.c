/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/words.h"

/* Words joined by "|", so that a row is one line. */
static char *joined(char *const *words)
{
    char *text = strv_join(words, "|");

    assert_non_null(text);
    return text;
}

static void splits(void unused **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", ""},
        {" \t ", ""},
        {"a", "a"},
        {"  a  b\tc ", "a|b|c"},
        {"\"a b\" 'c d'", "a b|c d"},
        {"\"\" ''", "|"},
        {"A=\"b c\"d'e f'", "A=b cde f"},
        {"\"it's\" '\"x\"'", "it's|\"x\""},
        {"a\\sb \\ta", "a b|\ta"},
        {"\\\\ \\\" \\'", "\\|\"|'"},
        {"'\\n' \"\\t\"", "\n|\t"},
        {"\\a\\b\\f\\r\\v", "\a\b\f\r\v"},
        {"\\x41\\x7a", "Az"},
        {"\\101\\377", "A\377"},
        {"\\u00e9\\U0001f600", "\xc3\xa9\xf0\x9f\x98\x80"},
        {"\\u0041", "A"},
        {"\\u20ac", "\xe2\x82\xac"},
        {"\\u007f\\u0080\\u07ff\\u0800", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80"},
        {"\\uffff\\U00010000\\U0010ffff", "\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {"$HOME ${X} * > ; | #", "$HOME|${X}|*|>|;|||#"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strv_ char **words = NULL;
        _cleanup_free_ char *text = NULL;
        const char *why = NULL;

        assert_row(rows[i].text, words_split(rows[i].text, &words, &why) == 0);
        text = joined(words);
        assert_string_equal(text, rows[i].expected);
        assert_null(why);
    }
}

static void refuses(void unused **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"\"a", "a quote that is not closed"},
        {"a 'b \"c", "a quote that is not closed"},
        {"a\\", "a backslash at the end"},
        {"a \\q", "an unknown escape (a backslash itself is written \\\\)"},
        {"\\x4", "an escape with a number that is no character"},
        {"\\xg1", "an escape with a number that is no character"},
        {"\\x00", "an escape with a number that is no character"},
        {"\\000", "an escape with a number that is no character"},
        {"\\777", "an escape with a number that is no character"},
        {"\\12", "an escape with a number that is no character"},
        {"\\128", "an escape with a number that is no character"},
        {"\\u004", "an escape with a number that is no character"},
        {"\\ud800", "an escape with a number that is no character"},
        {"\\U00110000", "an escape with a number that is no character"},
        {"\\Uffffffff", "an escape with a number that is no character"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char *untouched[] = {NULL}, **words = untouched;
        const char *why = NULL;

        assert_row(rows[i].text, words_split(rows[i].text, &words, &why) == -EINVAL);
        assert_string_equal(why, rows[i].why);
        assert_ptr_equal(words, untouched);
    }
}

static void number_of_words_is_bounded(void unused **state)
{
    struct strbuf text = {};
    _cleanup_free_ char *most = NULL;
    _cleanup_strv_ char **words = NULL;
    const char *why = NULL;

    for (size_t i = 0; i < WORDS_MAX; i++)
        strbuf_append(&text, "a ");
    most = strbuf_steal(&text);
    assert_int_equal(words_split(most, &words, &why), 0);
    assert_int_equal(strv_length(words), WORDS_MAX);

    strbuf_append(&text, most);
    strbuf_append(&text, "a");
    assert_int_equal(words_split(text.data, &words, &why), -EINVAL);
    assert_string_equal(why, "too many words");
    strbuf_release(&text);
}

static void joins_to_what_splits_again(void unused **state)
{
    static const char *const words[] = {
        "plain", "", "a b", "tab\there", "quote\"s", "it's", "back\\slash", "50%", "%i", "\x01\x7f",
        "caf\xc3\xa9", "--json={\"a\": 1}", "$X", "new\nline", NULL,
    };
    static const struct specifiers none = {};
    char *const *v = (char *const *) (uintptr_t) words;
    _cleanup_free_ char *text = words_join(v);
    _cleanup_strv_ char **back = NULL;
    const char *why;
    char bad;

    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    assert_int_equal(words_split(text, &back, &why), 0);
    assert_int_equal(specifiers_expand_words(back, &none, &bad), 0);
    assert_int_equal(strv_length(back), strv_length(v));
    for (size_t i = 0; words[i]; i++)
        assert_string_equal(back[i], words[i]);
}

static const struct specifiers usual = {
    .instance = "k26",
    .data_dir = "/usr/share/coalmine",
    .program = "/opt/bin/vllm",
};

static void expands_specifiers(void unused **state)
{
    static const struct {
        const char *text, *expected;
        char bad;
    } rows[] = {
        {"", "", 0},
        {"plain", "plain", 0},
        {"%i", "k26", 0},
        {"a%i-%i.b", "ak26-k26.b", 0},
        {"%D/probes %p", "/usr/share/coalmine/probes /opt/bin/vllm", 0},
        {"100%%", "100%", 0},
        {"%%i", "%i", 0},
        {"%n", NULL, 'n'},
        {"%i %", NULL, '\0'},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = NULL;
        char bad = 'x';
        int r = specifiers_expand(rows[i].text, &usual, &text, &bad);

        if (rows[i].expected) {
            assert_row(rows[i].text, r == 0);
            assert_string_equal(text, rows[i].expected);
        } else {
            assert_row(rows[i].text, r == -EINVAL && bad == rows[i].bad);
            assert_null(text);
        }
    }
}

static void unknown_here_is_unknown(void unused **state)
{
    static const struct specifiers none = {};
    char *text, bad = 'x';

    assert_int_equal(specifiers_expand("%i", &none, &text, &bad), -EINVAL);
    assert_int_equal(bad, 'i');
}

static int split_and_expand(void unused *data)
{
    _cleanup_strv_ char **words = NULL;
    _cleanup_free_ char *text = NULL;
    const char *why;
    char bad;
    int r = words_split("a 'b c' %i \\x41 a a a a a a a a a a", &words, &why);

    if (r == 0)
        r = specifiers_expand_words(words, &usual, &bad);
    if (r < 0)
        return r;
    text = words_join(words);
    return text ? 0 : -ENOMEM;
}

static void survives_lack_of_memory(void unused **state)
{
    assert_true(chaos_each(split_and_expand, NULL) > 15);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits),
        cmocka_unit_test(refuses),
        cmocka_unit_test(number_of_words_is_bounded),
        cmocka_unit_test(joins_to_what_splits_again),
        cmocka_unit_test(expands_specifiers),
        cmocka_unit_test(unknown_here_is_unknown),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config words", tests, NULL, NULL);
}
