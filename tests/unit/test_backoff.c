/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "core/supervision/backoff.h"

#define SEC USEC_PER_SEC

/* random 0 gives the least pause, the greatest random the longest: half and the whole. */
static void test_bounds(void **state unused)
{
    static const struct {
        const char *name;
        usec_t first, max;
        uint64_t n;
        usec_t least, most;
    } rows[] = {
        {"first", 5 * SEC, 300 * SEC, 1, 2500000, 5 * SEC},
        {"second", 5 * SEC, 300 * SEC, 2, 5 * SEC, 10 * SEC},
        {"sixth", 5 * SEC, 300 * SEC, 6, 80 * SEC, 160 * SEC},
        {"seventh meets the limit", 5 * SEC, 300 * SEC, 7, 150 * SEC, 300 * SEC},
        {"hundredth", 5 * SEC, 300 * SEC, 100, 150 * SEC, 300 * SEC},
        {"beyond all counting", 5 * SEC, 300 * SEC, UINT64_MAX, 150 * SEC, 300 * SEC},
        {"none before the first", 5 * SEC, 300 * SEC, 0, 2500000, 5 * SEC},
        {"no pause", 0, 300 * SEC, 50, 0, 0},
        {"no pause, beyond all counting", 0, 300 * SEC, UINT64_MAX, 0, 0},
        {"limit below the first", 10 * SEC, 4 * SEC, 1, 2 * SEC, 4 * SEC},
        {"limit of nothing", 10 * SEC, 0, 3, 0, 0},
        {"odd", 3, 300, 1, 1, 3},
        {"least", 1, 300, 1, 0, 1},
        {"no limit", SEC, USEC_INFINITY, 11, 512 * SEC, 1024 * SEC},
        {"no limit, for ever", SEC, USEC_INFINITY, UINT64_MAX, USEC_INFINITY / 2, USEC_INFINITY},
        {"all infinite", USEC_INFINITY, USEC_INFINITY, 1, USEC_INFINITY / 2, USEC_INFINITY},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_row(rows[i].name,
                   backoff_next(rows[i].first, rows[i].max, rows[i].n, 0) == rows[i].least);
        assert_row(rows[i].name,
                   backoff_next(rows[i].first, rows[i].max, rows[i].n, UINT64_MAX) == rows[i].most);
    }
}

/* Equal parts of the random range give equal parts of the pause. */
static void test_jitter_is_even(void **state unused)
{
    usec_t before = 0;

    assert_int_equal(backoff_next(8 * SEC, 8 * SEC, 1, UINT64_MAX / 4), 5 * SEC);
    assert_int_equal(backoff_next(8 * SEC, 8 * SEC, 1, UINT64_MAX / 2), 6 * SEC);
    assert_int_equal(backoff_next(8 * SEC, 8 * SEC, 1, UINT64_MAX / 4 * 3), 7 * SEC);
    for (uint64_t random = 0; random < UINT64_MAX - UINT64_MAX / 1000;
         random += UINT64_MAX / 1000) {
        usec_t pause = backoff_next(8 * SEC, 8 * SEC, 1, random);

        assert_true(pause >= before);
        before = pause;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_jitter_is_even),
    };

    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
