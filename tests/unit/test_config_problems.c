/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/problems.h"

static void lines_stand_as_in_the_files(void unused **state)
{
    static const char *const expected[] = {"b:2: one", "b:5: two", "b:5: three", "a: none", "a:1: four", NULL};
    _cleanup_problems_ struct problems p = {};
    _cleanup_strv_ char **lines = NULL;

    assert_int_equal(problems_add(&p, "b", 5, "two"), 0);
    assert_int_equal(problems_add(&p, "a", 0, "none"), 0);
    assert_int_equal(problems_add(&p, "b", 2, "%s", "one"), 0);
    assert_int_equal(problems_add(&p, "a", 1, "four"), 0);
    assert_int_equal(problems_add(&p, "b", 5, "three"), 0);
    assert_int_equal(p.n, 5);
    assert_int_equal(problems_steal(&p, &lines), 0);
    assert_int_equal(p.n, 0);
    for (size_t i = 0; expected[i]; i++)
        assert_string_equal(lines[i], expected[i]);
    assert_null(lines[5]);
}

static void no_problem_is_an_empty_list(void unused **state)
{
    _cleanup_problems_ struct problems p = {};
    char **lines = (char **) &p;

    assert_int_equal(problems_steal(&p, &lines), 0);
    assert_null(lines);
}

static void number_is_bounded(void unused **state)
{
    _cleanup_problems_ struct problems p = {};
    _cleanup_strv_ char **lines = NULL;

    for (unsigned i = 1; i <= PROBLEMS_MAX + 7; i++) {
        assert_int_equal(problems_full(&p), i > PROBLEMS_MAX);
        assert_int_equal(problems_add(&p, "f", i, "x"), 0);
    }
    assert_int_equal(problems_steal(&p, &lines), 0);
    assert_int_equal(strv_length(lines), PROBLEMS_MAX + 1);
    assert_string_equal(lines[0], "f:1: x");
    assert_string_equal(lines[PROBLEMS_MAX], "and 7 more");
}

static void text_cannot_steer_a_terminal(void unused **state)
{
    _cleanup_problems_ struct problems p = {};

    assert_int_equal(problems_add(&p, "f\x1b[2J", 1, "a\nb\x07\x7f\xff\xc3\xa9"), 0);
    assert_string_equal(p.items[0].text, "f?[2J:1: a?b??\xef\xbf\xbd\xc3\xa9");
}

static void length_is_bounded(void unused **state)
{
    char name[5000];
    _cleanup_problems_ struct problems p = {};

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(problems_add(&p, "f", 1, "%s", name), 0);
    assert_true(strlen(p.items[0].text) < 1000);
}

static void quotes_are_short_and_hold_no_secrets(void unused **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", ""},
        {"MaxTokens=4", "MaxTokens=4"},
        {"--api-key hunter22 --port 1", "--api-key [redacted] --port 1"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890abc",
         "12345678901234567890123456789012345678901234567890123456789012345678901234567890abc"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890abcd",
         "12345678901234567890123456789012345678901234567890123456789012345678901234567890..."},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *shown = problems_quote(rows[i].text);

        assert_string_equal(shown, rows[i].expected);
    }
}

static int add_and_steal(void unused *data)
{
    _cleanup_problems_ struct problems p = {};
    _cleanup_strv_ char **lines = NULL;

    for (unsigned i = PROBLEMS_MAX + 1; i > 0; i--) {
        size_t before = p.n;
        int r = problems_add(&p, "f", i, "number %u", i);

        if (r < 0) {
            assert_int_equal(p.n, before);
            return r;
        }
    }
    return problems_steal(&p, &lines);
}

static void survives_lack_of_memory(void unused **state)
{
    assert_true(chaos_each(add_and_steal, NULL) > 3UL * PROBLEMS_MAX);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_stand_as_in_the_files),
        cmocka_unit_test(no_problem_is_an_empty_list),
        cmocka_unit_test(number_is_bounded),
        cmocka_unit_test(text_cannot_steer_a_terminal),
        cmocka_unit_test(length_is_bounded),
        cmocka_unit_test(quotes_are_short_and_hold_no_secrets),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config problems", tests, NULL, NULL);
}
