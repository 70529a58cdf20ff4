/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "chaos.h"

static void questions(void unused **state)
{
    assert_true(str_equal("a", "a"));
    assert_true(str_equal(NULL, NULL));
    assert_false(str_equal("a", NULL));
    assert_false(str_equal(NULL, "a"));
    assert_false(str_equal("a", "b"));
    assert_true(str_empty(NULL));
    assert_true(str_empty(""));
    assert_false(str_empty(" "));
    assert_string_equal(str_or_empty(NULL), "");
    assert_string_equal(str_or_empty("x"), "x");

    assert_string_equal(str_after("Server.Command", "Server."), "Command");
    assert_string_equal(str_after("Server.", "Server."), "");
    assert_string_equal(str_after("x", ""), "x");
    assert_null(str_after("Serv", "Server."));
    assert_true(str_ends_with("k26.conf", ".conf"));
    assert_true(str_ends_with("k26", ""));
    assert_true(str_ends_with(".conf", ".conf"));
    assert_false(str_ends_with("conf", ".conf"));
    assert_false(str_ends_with("k26.confx", ".conf"));
}

static void strips_white_space(void unused **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", ""}, {"  ", ""}, {"a", "a"}, {" \t a b \r\n", "a b"}, {"a\v\f", "a"}, {"\xa0", "\xa0"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *s = strdup(rows[i].text);

        assert_string_equal(str_strip(s), rows[i].expected);
    }
}

static void buffer_grows(void unused **state)
{
    _cleanup_strbuf_ struct strbuf b = {};
    char expected[1001];

    for (size_t i = 0; i < 1000; i++) {
        expected[i] = (char) ('a' + i % 26);
        expected[i + 1] = '\0';
        strbuf_append_char(&b, expected[i]);
        assert_int_equal(b.len, i + 1);
        assert_string_equal(b.data, expected);
    }
    strbuf_clear(&b);
    assert_string_equal(b.data, "");
    strbuf_append_n(&b, "abc", 2);
    strbuf_append_n(&b, NULL, 0);
    strbuf_append(&b, "");
    strbuf_appendf(&b, "%s", "");
    strbuf_append(&b, "xyz");
    assert_string_equal(b.data, "abxyz");
}

/* Lengths on both sides of what the buffer has left at first, and of what it gets. */
static void buffer_formats_any_length(void unused **state)
{
    for (int width = 1; width < 300; width++) {
        _cleanup_strbuf_ struct strbuf b = {};

        strbuf_append(&b, "<");
        strbuf_appendf(&b, "%*d", width, 7);
        strbuf_append(&b, ">");
        assert_int_equal(b.len, width + 2);
        assert_int_equal(strlen(b.data), b.len);
        assert_int_equal(b.data[width], '7');
        assert_int_equal(b.data[width + 1], '>');
    }
}

static void buffer_keeps_nul_bytes(void unused **state)
{
    _cleanup_strbuf_ struct strbuf b = {};

    strbuf_append_n(&b, "a\0b", 3);
    strbuf_append_char(&b, '\0');
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.data, "a\0b\0", 5);
}

static void stealing_empties(void unused **state)
{
    struct strbuf b = {};
    _cleanup_free_ char *first = NULL, *second = NULL;

    first = strbuf_steal(&b);
    assert_string_equal(first, "");
    strbuf_append(&b, "x");
    second = strbuf_steal(&b);
    assert_string_equal(second, "x");
    assert_null(b.data);
    assert_int_equal(b.len, 0);
    assert_int_equal(b.allocated, 0);
}

static void failed_buffer_says_so_once(void unused **state)
{
    struct strbuf b = {};

    strbuf_append(&b, "kept");
    chaos_arm(1);
    strbuf_appendf(&b, "%0100d", 1);
    assert_true(chaos_disarm());
    assert_true(b.failed);
    assert_string_equal(b.data, "kept");
    strbuf_append(&b, "no more");
    strbuf_appendf(&b, "%d", 1);
    assert_string_equal(b.data, "kept");
    assert_null(strbuf_steal(&b));

    strbuf_append(&b, "again");
    assert_string_equal(b.data, "again");
    b.failed = true;
    strbuf_clear(&b);
    strbuf_append(&b, "cleared");
    assert_string_equal(b.data, "cleared");
    strbuf_release(&b);
}

static void absurd_length_is_refused(void unused **state)
{
    struct strbuf b = {};

    strbuf_append_n(&b, "x", SIZE_MAX);
    assert_true(b.failed);
    assert_null(strbuf_steal(&b));
    strbuf_append(&b, "x");
    strbuf_append_n(&b, "x", SIZE_MAX / 2);
    assert_null(strbuf_steal(&b));
}

static int build_strings(void unused *data)
{
    _cleanup_free_ char *formatted = NULL, *joined = NULL, *replaced = NULL;
    _cleanup_strv_ char **v = NULL, **copy = NULL;
    size_t before;

    formatted = str_format("%s-%070d", "x", 7);
    if (!formatted)
        return -ENOMEM;
    if (str_replace(&replaced, "old") < 0) {
        assert_null(replaced);
        return -ENOMEM;
    }
    if (str_replace(&replaced, "new") < 0) {
        assert_string_equal(replaced, "old");
        return -ENOMEM;
    }
    if (strv_split(" a  b ", " ", &v) < 0) {
        assert_null(v);
        return -ENOMEM;
    }
    before = strv_length(v);
    if (strv_push(&v, "c") < 0) {
        assert_int_equal(strv_length(v), before);
        return -ENOMEM;
    }
    if (strv_copy(v, &copy) < 0) {
        assert_null(copy);
        return -ENOMEM;
    }
    joined = strv_join(copy, ",");
    if (!joined)
        return -ENOMEM;
    assert_string_equal(joined, "a,b,c");
    return 0;
}

static void survives_lack_of_memory(void unused **state)
{
    assert_int_equal(chaos_each(build_strings, NULL), 1 + 2 + 4 + 2 + 6 + 1);
}

static int sanitize_nothing_and_much(void unused *data)
{
    _cleanup_free_ char *empty = utf8_sanitize("", 0), *much = NULL;
    char bytes[100];

    if (!empty)
        return -ENOMEM;
    memset(bytes, 0xff, sizeof(bytes));
    much = utf8_sanitize(bytes, sizeof(bytes));
    return much ? 0 : -ENOMEM;
}

static void sanitizing_survives_lack_of_memory(void unused **state)
{
    assert_true(chaos_each(sanitize_nothing_and_much, NULL) > 2);
}

static void replacing(void unused **state)
{
    char *s = NULL;

    assert_int_equal(str_replace(&s, NULL), 0);
    assert_null(s);
    assert_int_equal(str_replace(&s, "a"), 0);
    assert_string_equal(s, "a");
    assert_int_equal(str_replace(&s, s), 0);
    assert_string_equal(s, "a");
    assert_int_equal(str_replace(&s, NULL), 0);
    assert_null(s);
}

static void vectors(void unused **state)
{
    _cleanup_strv_ char **v = NULL, **copy = NULL, **none = NULL;
    _cleanup_free_ char *joined = NULL, *nothing = NULL;

    assert_int_equal(strv_length(NULL), 0);
    assert_false(strv_contains(NULL, "a"));
    assert_int_equal(strv_push(&v, "a"), 0);
    assert_int_equal(strv_push(&v, ""), 0);
    assert_int_equal(strv_push(&v, "b c"), 0);
    assert_int_equal(strv_length(v), 3);
    assert_true(strv_contains(v, ""));
    assert_true(strv_contains(v, "b c"));
    assert_false(strv_contains(v, "b"));

    assert_int_equal(strv_copy(v, &copy), 0);
    assert_ptr_not_equal(copy[0], v[0]);
    joined = strv_join(copy, ", ");
    assert_string_equal(joined, "a, , b c");
    nothing = strv_join(NULL, ", ");
    assert_string_equal(nothing, "");
    assert_int_equal(strv_copy(NULL, &none), 0);
    assert_null(none);
}

static void splitting(void unused **state)
{
    static const struct {
        const char *text, *separators, *joined;
        size_t length;
    } rows[] = {
        {"", " ", "", 0},
        {"   ", " ", "", 0},
        {"a", " ", "a", 1},
        {" a\t b ", " \t", "a|b", 2},
        {"a,,b,c", ",", "a|b|c", 3},
        {"a b", "", "a b", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strv_ char **v = NULL;
        _cleanup_free_ char *joined = NULL;

        assert_int_equal(strv_split(rows[i].text, rows[i].separators, &v), 0);
        assert_int_equal(strv_length(v), rows[i].length);
        joined = strv_join(v, "|");
        assert_string_equal(joined, rows[i].joined);
    }
}

static void utf8_lengths(void unused **state)
{
    static const struct {
        const char *bytes;
        size_t n, expected;
    } rows[] = {
        {"", 0, 0},
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\x7f", 1, 1},
        {"\x80", 1, 0},
        {"\xc1\xbf", 2, 0},
        {"\xc2\x80", 2, 2},
        {"\xc2", 1, 0},
        {"\xc2\x41", 2, 0},
        {"\xdf\xbf", 2, 2},
        {"\xe0\x9f\xbf", 3, 0},
        {"\xe0\xa0\x80", 3, 3},
        {"\xed\x9f\xbf", 3, 3},
        {"\xed\xa0\x80", 3, 0},
        {"\xef\xbf\xbf", 3, 3},
        {"\xef\xbf", 2, 0},
        {"\xf0\x8f\xbf\xbf", 4, 0},
        {"\xf0\x90\x80\x80", 4, 4},
        {"\xf4\x8f\xbf\xbf", 4, 4},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\xf5\x80\x80\x80", 4, 0},
        {"\xf0\x90\x80\xc0", 4, 0},
        {"\xff", 1, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(utf8_sequence_length(rows[i].bytes, rows[i].n), rows[i].expected);
}

static void utf8_is_mended(void unused **state)
{
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *bytes;
        size_t n;
        const char *expected;
    } rows[] = {
        {"", 0, ""},
        {"plain", 5, "plain"},
        {"plain", 2, "pl"},
        {"a\0b", 3, "a" BAD "b"},
        {"\xe2\x82\xac", 3, "\xe2\x82\xac"},
        {"\xe2\x82", 2, BAD BAD},
        {"\xe2\x82x", 3, BAD BAD "x"},
        {"\xff\xfe", 2, BAD BAD},
        {"\xed\xa0\x80", 3, BAD BAD BAD},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *clean = utf8_sanitize(rows[i].bytes, rows[i].n);

        assert_string_equal(clean, rows[i].expected);
    }
}

static void distances(void unused **state)
{
    static const struct {
        const char *a, *b;
        size_t expected;
    } rows[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"StallSec", "stallsec", 0},
        {"AMZ@[", "amz`{", 2},
        {"StallSec", "StalSec", 1},
        {"StallSec", "StallsSec", 1},
        {"StallSec", "StallSex", 1},
        {"StallSec", "SatllSec", 1},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3},
        {"abcd", "badc", 2},
    };
    char a[100] = {0}, b[200] = {0};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(str_distance(rows[i].a, rows[i].b), rows[i].expected);
        assert_int_equal(str_distance(rows[i].b, rows[i].a), rows[i].expected);
    }
    memset(a, 'a', sizeof(a) - 1);
    memset(b, 'b', sizeof(b) - 1);
    assert_int_equal(str_distance(a, b), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions),
        cmocka_unit_test(strips_white_space),
        cmocka_unit_test(buffer_grows),
        cmocka_unit_test(buffer_formats_any_length),
        cmocka_unit_test(buffer_keeps_nul_bytes),
        cmocka_unit_test(stealing_empties),
        cmocka_unit_test(failed_buffer_says_so_once),
        cmocka_unit_test(absurd_length_is_refused),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(sanitizing_survives_lack_of_memory),
        cmocka_unit_test(replacing),
        cmocka_unit_test(vectors),
        cmocka_unit_test(splitting),
        cmocka_unit_test(utf8_lengths),
        cmocka_unit_test(utf8_is_mended),
        cmocka_unit_test(distances),
    };

    return cmocka_run_group_tests_name("base_str", tests, NULL, NULL);
}
