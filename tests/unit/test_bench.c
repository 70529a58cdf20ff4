/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "chaos.h"
#include "core/bench/level.h"

static void percentiles_are_nearest_ranks(void unused **state)
{
    static const struct {
        double percent;
        uint64_t value;
    } rows[] = {
        {0, 10}, {10, 10}, {10.1, 20}, {50, 50}, {95, 100}, {99, 100}, {100, 100},
    };
    struct samples s = {};

    assert_int_equal(samples_percentile(&s, 50), 0);
    for (uint64_t i = 10; i > 0; i--)
        assert_int_equal(samples_add(&s, 10 * i), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(samples_percentile(&s, rows[i].percent), rows[i].value);
    assert_int_equal(samples_add(&s, 1), 0);
    assert_int_equal(samples_percentile(&s, 0), 1);
    samples_release(&s);
}

/* Far more values than are kept: memory is bounded, and the picture stays. */
static void too_many_values_are_thinned_out(void unused **state)
{
    const uint64_t n = 5 * (uint64_t) SAMPLES_MAX;
    struct samples s = {};
    uint64_t middle;

    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(samples_add(&s, i), 0);
    assert_true(s.n <= SAMPLES_MAX);
    assert_int_equal(s.seen, n);
    middle = samples_percentile(&s, 50);
    assert_true(middle > n / 2 - n / 100 && middle < n / 2 + n / 100);
    samples_release(&s);
}

static void levels_count_and_tell(void unused **state)
{
    struct judgement good = {.verdict = VERDICT_GENERATED, .tokens = 10, .total_usec = 2000000,
                             .first_token_usec = 500000, .tokens_per_sec = 5};
    struct judgement bad = {.verdict = VERDICT_TIMEOUT, .tokens = 3};
    struct level l = {.concurrency = 2, .wall_usec = 4000000};
    json_t *json = NULL, *errors;

    assert_int_equal(level_add(&l, &good), 0);
    assert_int_equal(level_add(&l, &good), 0);
    assert_int_equal(level_add(&l, &bad), 0);
    assert_int_equal(level_errors(&l), 1);
    assert_true(level_throughput(&l) == 5);
    assert_int_equal(level_json(&l, &json), 0);
    errors = json_object_get(json, "errors");
    assert_int_equal(json_object_size(errors), 1);
    assert_int_equal(json_integer_value(json_object_get(errors, "timeout")), 1);
    assert_true(json_real_value(json_object_get(json_object_get(json, "first_token_sec"), "p50")) == 0.5);
    assert_true(json_is_null(json_object_get(json, "between_pieces_sec")));
    json_decref(json);
    level_release(&l);
}

static void nothing_measured_is_no_throughput(void unused **state)
{
    struct level l = {};

    assert_true(level_throughput(&l) == 0);
    assert_int_equal(level_errors(&l), 0);
}

static int add_three(void unused *data)
{
    struct samples s = {};
    int r = 0;

    for (uint64_t i = 0; r == 0 && i < 3; i++)
        r = samples_add(&s, i);
    samples_release(&s);
    return r;
}

static void memory_runs_out(void unused **state)
{
    assert_int_equal(chaos_each(add_three, NULL), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_nearest_ranks),
        cmocka_unit_test(too_many_values_are_thinned_out),
        cmocka_unit_test(levels_count_and_tell),
        cmocka_unit_test(nothing_measured_is_no_throughput),
        cmocka_unit_test(memory_runs_out),
    };

    return cmocka_run_group_tests_name("test_bench", tests, NULL, NULL);
}
