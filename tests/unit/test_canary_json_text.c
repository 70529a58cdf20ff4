/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <malloc.h>

#include "base/str.h"
#include "chaos.h"
#include "core/canary/json_text.h"

/* What the parsed text takes at most, with the text itself. */
#define LIMIT (4 * 1024 * 1024)

static void numbers_that_are_none(void unused **state)
{
    static const struct {
        const char *text, *value; /* NULL: no JSON */
        bool not_finite;
    } rows[] = {
        {"[1]", "[1]", false},
        {"[NaN,1]", "[0,1]", true},
        {"{\"a\":-Infinity}", "{\"a\":0}", true},
        {"[\"NaN\",\"a\\\"Infinity\"]", "[\"NaN\",\"a\\\"Infinity\"]", false},
        {"[\"\\\\\",NaN]", "[\"\\\\\",0]", true},
        {"[Na]", NULL, false},
        {"[NaNs]", NULL, true},
        {"[\"open NaN", NULL, false},
        {"[\"\\", NULL, false},
        {"NaN", NULL, true},
        {"", NULL, false},
        {"7", NULL, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct json_text t = {};
        _cleanup_free_ char *value = NULL;

        assert_int_equal(json_text_load(rows[i].text, strlen(rows[i].text), &t), 0);
        value = t.value ? json_dumps(t.value, JSON_COMPACT) : NULL;
        assert_row(rows[i].text, str_equal(value, rows[i].value));
        assert_row(rows[i].text, t.not_finite == rows[i].not_finite);
        assert_row(rows[i].text, t.value || !str_empty(t.error.text));
        assert_false(t.too_heavy);
        json_text_release(&t);
    }
}

/* n bytes of a text that is made of nothing but repetitions. */
static char *repeated(const char *head, const char *piece, const char *tail, size_t n)
{
    struct strbuf b = {};

    strbuf_append(&b, head);
    while (b.len + strlen(piece) + strlen(tail) < n)
        strbuf_append(&b, piece);
    strbuf_append(&b, tail);
    return strbuf_steal(&b);
}

/* The worst that a mebibyte can hold, of each kind of value, takes a bounded part of memory or is not parsed
 * at all. */
static void memory_is_bounded(void unused **state)
{
    static const struct {
        const char *head, *piece, *tail;
    } rows[] = {
        {"[[]", ",[]", "]"},
        {"[{}", ",{}", "]"},
        {"[{\"a\":0}", ",{\"a\":0}", "]"},
        {"[0", ",0", "]"},
        {"[0.5", ",0.5", "]"},
        {"[\"\"", ",\"\"", "]"},
        {"[\"abcdefghijklmnopqrstuvwx\"", ",\"abcdefghijklmnopqrstuvwx\"", "]"},
        {"[[[[]]]", ",[[[]]]", "]"},
        {"[{\"a\":{\"b\":{}}}", ",{\"a\":{\"b\":{}}}", "]"},
        {"[null", ",null", "]"},
        {"[\"", "\\u0041", "\"]"},
    };
    size_t parsed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        for (size_t n = 1024; n <= 1024 * 1024; n *= 2) {
            _cleanup_free_ char *text = repeated(rows[i].head, rows[i].piece, rows[i].tail, n);
            size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, taken;
            struct json_text t = {};

            assert_int_equal(json_text_load(text, strlen(text), &t), 0);
            taken = mallinfo2().uordblks + mallinfo2().hblkhd - before;
            assert_row(rows[i].piece, t.too_heavy == (t.value == NULL));
            if (taken + n > LIMIT)
                fail_msg("%zu bytes of '%s' take %zu", n, rows[i].piece, taken);
            parsed += t.value != NULL;
            json_text_release(&t);
        }
    }
    assert_true(parsed > 60);
}

/* A vector of 8192 numbers is an honest answer. */
static void honest_answers_are_parsed(void unused **state)
{
    _cleanup_free_ char *vector = repeated("{\"data\":[{\"embedding\":[0.0", ",-0.012345678901", "]}]}",
                                           (size_t) 8192 * 16);
    struct json_text t = {};

    assert_int_equal(json_text_load(vector, strlen(vector), &t), 0);
    assert_non_null(t.value);
    json_text_release(&t);
}

static int load_once(void *data)
{
    struct json_text t = {};
    int r = json_text_load(data, strlen(data), &t);

    assert_true(r == 0 || !t.value);
    json_text_release(&t);
    return r;
}

static void survives_lack_of_memory(void unused **state)
{
    static char plain[] = "{\"a\":[1,\"b\"]}", odd[] = "{\"a\":[NaN,\"b\"]}";

    json_set_alloc_funcs(chaos_malloc, free);
    chaos_each(load_once, plain);
    chaos_each(load_once, odd);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(honest_answers_are_parsed),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("canary json text", tests, NULL, NULL);
}
