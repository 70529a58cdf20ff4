/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "core/canary/tally.h"

static struct judgement judgement(enum verdict verdict, uint64_t tokens, usec_t first, uint64_t hash,
                                  const char *detail)
{
    return (struct judgement){
        .verdict = verdict,
        .tokens = tokens,
        .total_usec = 5,
        .first_token_usec = first,
        .tokens_per_sec = 3,
        .text_hash = hash,
        .detail = detail ? strdup(detail) : NULL,
    };
}

static void one_stays_as_it_is(void unused **state)
{
    struct judgement j = judgement(VERDICT_SLOW, 7, 2, 9, "slow"), all = {};
    struct tally t = {};

    tally_add(&t, &j);
    assert_int_equal(tally_close(&t, &(struct canary_config){}, 50, &all), 0);
    assert_int_equal(all.verdict, VERDICT_SLOW);
    assert_int_equal(all.tokens, 7);
    assert_int_equal(all.first_token_usec, 2);
    assert_int_equal(all.total_usec, 50);
    assert_true(all.tokens_per_sec > 2.9 && all.tokens_per_sec < 3.1);
    assert_string_equal(all.detail, "slow");
    judgement_release(&all);
}

static void first_failure_speaks_for_all(void unused **state)
{
    static const struct {
        enum verdict verdicts[4];
        const char *details[4];
        enum verdict verdict;
        const char *detail;
    } rows[] = {
        {{VERDICT_GENERATED, VERDICT_GENERATED, VERDICT_GENERATED, VERDICT_GENERATED},
         {"a", "b"}, VERDICT_GENERATED, "a"},
        {{VERDICT_GENERATED, VERDICT_RESET, VERDICT_HTTP_5XX, VERDICT_GENERATED},
         {"a", "b", "c"}, VERDICT_RESET, "2 of 4: b"},
        {{VERDICT_TIMEOUT, VERDICT_TIMEOUT, VERDICT_TIMEOUT, VERDICT_TIMEOUT},
         {}, VERDICT_TIMEOUT, "4 of 4"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct judgement all = {};
        struct tally t = {};

        for (size_t k = 0; k < 4; k++) {
            struct judgement j = judgement(rows[i].verdicts[k], 5, 10 * (4 - k), k, rows[i].details[k]);

            tally_add(&t, &j);
            assert_null(j.detail);
        }
        assert_int_equal(tally_close(&t, &(struct canary_config){}, 2 * USEC_PER_SEC, &all), 0);
        assert_int_equal(all.verdict, rows[i].verdict);
        assert_true(str_equal(all.detail, rows[i].detail));
        assert_int_equal(all.tokens, 20);
        assert_int_equal(all.first_token_usec, 40);
        assert_true(all.tokens_per_sec > 9.99 && all.tokens_per_sec < 10.01);
        judgement_release(&all);
    }
}

static void repetitions(void unused **state)
{
    static const struct {
        uint64_t hashes[3];
        bool expected;
        enum verdict verdict;
    } rows[] = {
        {{7, 7, 7}, true, VERDICT_GENERATED},
        {{7, 7, 8}, true, VERDICT_DEGENERATE},
        {{7, 8, 8}, false, VERDICT_GENERATED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct canary_config c = {.expect_repeatable = rows[i].expected};
        struct judgement all = {};
        struct tally t = {};

        for (size_t k = 0; k < 3; k++) {
            struct judgement j = judgement(VERDICT_GENERATED, 1, 1, rows[i].hashes[k], "x");

            tally_add(&t, &j);
        }
        assert_int_equal(tally_close(&t, &c, 1, &all), 0);
        assert_int_equal(all.verdict, rows[i].verdict);
        judgement_release(&all);
    }
}

static int close_once(void *data)
{
    const struct canary_config c = {.expect_repeatable = true};
    const enum verdict *verdict = data;
    struct judgement a = {.verdict = *verdict, .text_hash = 1}, b = {.verdict = *verdict, .text_hash = 2};
    struct judgement all = {};
    struct tally t = {};
    int r;

    tally_add(&t, &a);
    tally_add(&t, &b);
    r = tally_close(&t, &c, 1, &all);
    judgement_release(&all);
    tally_release(&t);
    return r;
}

static void survives_lack_of_memory(void unused **state)
{
    enum verdict passed = VERDICT_GENERATED, failed = VERDICT_RESET;

    chaos_each(close_once, &passed);
    chaos_each(close_once, &failed);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stays_as_it_is),
        cmocka_unit_test(first_failure_speaks_for_all),
        cmocka_unit_test(repetitions),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("canary tally", tests, NULL, NULL);
}
