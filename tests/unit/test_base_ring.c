/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ring.h"
#include "chaos.h"

static uint64_t push(struct ring *r, const char *line)
{
    uint64_t number = 0;

    assert_int_equal(ring_push(r, line, strlen(line), &number), 0);
    return number;
}

static void assert_line(const struct ring *r, uint64_t number, const char *expected)
{
    const char *line = ring_get(r, number);

    assert_non_null(line);
    assert_string_equal(line, expected);
}

static void needs_room(void unused **state)
{
    struct ring *r = NULL;

    assert_int_equal(ring_new(0, 10, &r), -EINVAL);
    assert_int_equal(ring_new(10, 0, &r), -EINVAL);
    assert_null(r);
    ring_free(NULL);
}

static void empty_ring(void unused **state)
{
    _cleanup_(ring_freep) struct ring *r = NULL;

    assert_int_equal(ring_new(3, 100, &r), 0);
    assert_int_equal(ring_first(r), 0);
    assert_int_equal(ring_last(r), 0);
    assert_null(ring_get(r, 0));
    assert_null(ring_get(r, 1));
    assert_null(ring_get(r, UINT64_MAX));
}

static void oldest_lines_make_room(void unused **state)
{
    _cleanup_(ring_freep) struct ring *r = NULL;

    assert_int_equal(ring_new(3, 100, &r), 0);
    assert_int_equal(push(r, "a"), 1);
    assert_int_equal(push(r, "b"), 2);
    assert_int_equal(push(r, ""), 3);
    assert_int_equal(push(r, "d"), 4);
    assert_int_equal(ring_first(r), 2);
    assert_int_equal(ring_last(r), 4);
    assert_null(ring_get(r, 1));
    assert_line(r, 2, "b");
    assert_line(r, 3, "");
    assert_line(r, 4, "d");
    assert_null(ring_get(r, 5));
}

static void bytes_are_bounded(void unused **state)
{
    _cleanup_(ring_freep) struct ring *r = NULL;

    assert_int_equal(ring_new(100, 10, &r), 0);
    push(r, "12345");
    push(r, "67890");
    assert_int_equal(ring_first(r), 1);
    push(r, "x");
    assert_int_equal(ring_first(r), 2);
    assert_line(r, 2, "67890");
    assert_line(r, 3, "x");
    push(r, "123456789012345");
    assert_int_equal(ring_first(r), 4);
    assert_line(r, 4, "1234567890");
    push(r, "");
    assert_int_equal(ring_first(r), 4);
}

static void lines_are_copied_by_length(void unused **state)
{
    _cleanup_(ring_freep) struct ring *r = NULL;
    char line[] = "abcdef";

    assert_int_equal(ring_new(2, 100, &r), 0);
    assert_int_equal(ring_push(r, line, 3, NULL), 0);
    line[0] = 'X';
    assert_line(r, 1, "abc");
    assert_int_equal(ring_push(r, NULL, 0, NULL), 0);
    assert_line(r, 2, "");
}

static void clearing_starts_anew(void unused **state)
{
    _cleanup_(ring_freep) struct ring *r = NULL;

    assert_int_equal(ring_new(2, 100, &r), 0);
    push(r, "a");
    push(r, "b");
    push(r, "c");
    ring_clear(r);
    assert_int_equal(ring_last(r), 0);
    assert_null(ring_get(r, 3));
    assert_int_equal(push(r, "d"), 1);
    assert_line(r, 1, "d");
}

/* Against a plain array of all lines: whatever the lengths, exactly the newest lines that fit are
 * there. */
static void agrees_with_a_model(void unused **state)
{
    enum { LINES = 2000, MAX_LINES = 7, MAX_BYTES = 64 };
    _cleanup_(ring_freep) struct ring *r = NULL;
    size_t lengths[LINES + 1] = {0};
    uint32_t seed = 1;

    assert_int_equal(ring_new(MAX_LINES, MAX_BYTES, &r), 0);
    for (uint64_t n = 1; n <= LINES; n++) {
        char line[40];
        size_t bytes = 0;
        uint64_t first = n + 1;

        seed = seed * 1664525 + 1013904223;
        (void) snprintf(line, sizeof(line), "%0*u", (int) (seed >> 27) + 1, (unsigned) (n % 10));
        lengths[n] = strlen(line);
        assert_int_equal(push(r, line), n);
        while (first > 1 && n - first + 1 < MAX_LINES && bytes + lengths[first - 1] <= MAX_BYTES)
            bytes += lengths[--first];
        assert_int_equal(ring_first(r), first);
        assert_int_equal(ring_last(r), n);
        for (uint64_t i = first; i <= n; i++)
            assert_int_equal(strlen(ring_get(r, i)), lengths[i]);
        assert_null(ring_get(r, first - 1));
    }
}

static int fill_ring(void unused *data)
{
    _cleanup_(ring_freep) struct ring *r = NULL;
    uint64_t number = 77;
    int result;

    result = ring_new(2, 10, &r);
    if (result < 0) {
        assert_null(r);
        return result;
    }
    for (uint64_t n = 1; n <= 3; n++) {
        uint64_t last = ring_last(r);

        result = ring_push(r, "line", 4, &number);
        if (result < 0) {
            assert_int_equal(ring_last(r), last);
            assert_true(last == 0 || strcmp(ring_get(r, last), "line") == 0);
            assert_int_equal(number, n == 1 ? 77 : n - 1);
            return result;
        }
    }
    return 0;
}

static void survives_lack_of_memory(void unused **state)
{
    assert_int_equal(chaos_each(fill_ring, NULL), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_room),
        cmocka_unit_test(empty_ring),
        cmocka_unit_test(oldest_lines_make_room),
        cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(lines_are_copied_by_length),
        cmocka_unit_test(clearing_starts_anew),
        cmocka_unit_test(agrees_with_a_model),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("base_ring", tests, NULL, NULL);
}
