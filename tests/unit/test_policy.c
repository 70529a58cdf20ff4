/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "chaos.h"
#include "core/supervision/policy.h"

#define SEC USEC_PER_SEC
#define START (100000 * SEC)

static const struct restart_config usual = {
    .mode = RESTART_IN_PLACE,
    .backoff_usec = 5 * SEC,
    .backoff_max_usec = 300 * SEC,
    .budget = 5,
    .budget_usec = USEC_PER_HOUR,
    .stable_usec = 600 * SEC,
};

static const struct policy_failure missing_header = {
    .class_name = "jit_missing_header",
    .class_text = "a JIT build lacks a header",
    .policy = {.retry = RETRY_NEVER, .retry_serving = RETRY_NEVER},
    .fingerprint = "jit_missing_header/curand.h",
};
static const struct policy_failure died = {
    .class_name = "engine_died",
    .class_text = "the engine died",
    .policy = {.retry = RETRY_BACKOFF,
               .retry_serving = RETRY_BACKOFF,
               .repeat_serving = UINT64_MAX},
    .fingerprint = "engine_died/1",
};
static const struct policy_failure died_otherwise = {
    .class_name = "engine_died",
    .policy = {.retry = RETRY_BACKOFF,
               .retry_serving = RETRY_BACKOFF,
               .repeat_serving = UINT64_MAX},
    .fingerprint = "engine_died/2",
};
static const struct policy_failure died_serving = {
    .class_name = "engine_died",
    .policy = {.retry = RETRY_BACKOFF,
               .retry_serving = RETRY_BACKOFF,
               .repeat_serving = UINT64_MAX},
    .fingerprint = "engine_died/1",
    .serving = true,
};
static const struct policy_failure port_taken = {
    .class_name = "port_in_use",
    .policy = {.retry = RETRY_BACKOFF, .repeat = 2},
    .fingerprint = "port_in_use/30001",
};
static const struct policy_failure no_fabric = {
    .class_name = "gpu_fabric",
    .policy = {.retry = RETRY_SLOW, .repeat = UINT64_MAX},
    .fingerprint = "gpu_fabric",
};
static const struct policy_failure stale_lock = {
    .class_name = "jit_lock_stale",
    .policy = {.retry = RETRY_AFTER_CLEANUP, .repeat = UINT64_MAX},
    .fingerprint = "jit_lock_stale/a",
};
static const struct policy_failure other_lock = {
    .class_name = "jit_lock_stale",
    .policy = {.retry = RETRY_AFTER_CLEANUP, .repeat = UINT64_MAX},
    .fingerprint = "jit_lock_stale/b",
};
static const struct policy_failure out_of_memory_serving = {
    .class_name = "gpu_oom",
    .policy = {.retry = RETRY_NEVER, .retry_serving = RETRY_BACKOFF, .repeat_serving = 1},
    .fingerprint = "gpu_oom",
    .serving = true,
};

/* One failure of a story: so much after the one before. `code` is EXIT_RESTART for a restart. */
struct line {
    usec_t after;
    const struct policy_failure *failure;
    enum exit_code code;
    usec_t delay; /* with the longest jitter */
    const char *reason;
};

struct teller {
    struct policy_memory memory;
    struct restart_config limits;
    usec_t now;
};

static struct teller teller(void)
{
    return (struct teller){.limits = usual, .now = START};
}

static void tell(struct teller *t, const char *story, const struct line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct decision d = {};

        t->now += lines[i].after;
        assert_int_equal(
            policy_decide(&t->memory, &t->limits, lines[i].failure, t->now, UINT64_MAX, &d), 0);
        if (d.what.exit_code != lines[i].code || d.what.restart != (lines[i].code == EXIT_RESTART))
            fail_msg("%s, line %zu: %d, \"%s\"", story, i, (int) d.what.exit_code, d.reason);
        if (!str_equal(d.reason, lines[i].reason))
            fail_msg("%s, line %zu: \"%s\"", story, i, d.reason);
        if (d.what.delay_usec != lines[i].delay)
            fail_msg("%s, line %zu: a pause of %llu us", story, i,
                     (unsigned long long) d.what.delay_usec);
        decision_release(&d);
    }
}

#define TELL(t, ...)                                      \
    do {                                                  \
        static const struct line lines[] = {__VA_ARGS__}; \
        tell((t), __func__, lines, ARRAY_SIZE(lines));    \
    } while (0)

#define RESTARTS(after, failure, delay, reason) {after, failure, EXIT_RESTART, delay, reason}
#define ENDS(after, failure, code, reason) {after, failure, code, 0, reason}

static void test_unmendable(void **state unused)
{
    struct teller t = teller();

    TELL(&t, ENDS(0, &missing_header, EXIT_UNMENDABLE,
                  "a JIT build lacks a header (jit_missing_header): a restart of the same server "
                  "cannot mend that"));
    assert_int_equal(t.memory.n_restarts, 0);
    policy_memory_release(&t.memory);
    assert_null(t.memory.last_fingerprint);
}

static void test_class_without_text(void **state unused)
{
    struct policy_failure f = missing_header;
    struct policy_memory m = {};
    struct decision d = {};

    f.class_text = NULL;
    assert_int_equal(policy_decide(&m, &usual, &f, START, 0, &d), 0);
    assert_string_equal(d.reason,
                        "jit_missing_header: a restart of the same server cannot mend that");
    decision_release(&d);
    policy_memory_release(&m);
}

static void test_same_failure_twice(void **state unused)
{
    struct teller t = teller();

    TELL(&t, RESTARTS(0, &died, 5 * SEC, "restart 1 of 5 within 60 min, next start in 5 s"),
         ENDS(60 * SEC, &died, EXIT_UNMENDABLE,
              "the same failure came 2 times in a row (engine_died): another restart would end no "
              "better"));
    policy_memory_release(&t.memory);
}

static void test_different_failures_use_up_the_budget(void **state unused)
{
    struct teller t = teller();

    TELL(&t, RESTARTS(0, &died, 5 * SEC, "restart 1 of 5 within 60 min, next start in 5 s"),
         RESTARTS(SEC, &died_otherwise, 10 * SEC,
                  "restart 2 of 5 within 60 min, next start in 10 s"),
         RESTARTS(SEC, &died, 20 * SEC, "restart 3 of 5 within 60 min, next start in 20 s"),
         RESTARTS(SEC, &died_otherwise, 40 * SEC,
                  "restart 4 of 5 within 60 min, next start in 40 s"),
         RESTARTS(SEC, &died, 80 * SEC, "restart 5 of 5 within 60 min, next start in 80 s"),
         ENDS(SEC, &died_otherwise, EXIT_BUDGET,
              "the budget of 5 restarts within 60 min is used up"));
    policy_memory_release(&t.memory);
}

static void test_budget_window_moves(void **state unused)
{
    struct teller t = teller();

    t.limits.budget = 1;
    TELL(&t, RESTARTS(0, &died, 5 * SEC, "restart 1 of 1 within 60 min, next start in 5 s"),
         ENDS(USEC_PER_HOUR - 1, &died_otherwise, EXIT_BUDGET,
              "the budget of 1 restart within 60 min is used up"),
         RESTARTS(1, &died, 20 * SEC, "restart 1 of 1 within 60 min, next start in 20 s"));
    assert_int_equal(t.memory.n_restarts, 1);
    policy_memory_release(&t.memory);
}

/* Each restart leaves the window an hour after it, and only then. */
static void test_restarts_are_forgotten_one_by_one(void **state unused)
{
    struct teller t = teller();

    t.limits.budget = 2;
    t.limits.backoff_usec = 0;
    TELL(&t, RESTARTS(0, &died, 0, "restart 1 of 2 within 60 min, next start at once"),
         RESTARTS(USEC_PER_HOUR / 2, &died_otherwise, 0,
                  "restart 2 of 2 within 60 min, next start at once"),
         RESTARTS(USEC_PER_HOUR / 2, &died, 0, "restart 2 of 2 within 60 min, next start at once"),
         RESTARTS(USEC_PER_HOUR / 2, &died_otherwise, 0,
                  "restart 2 of 2 within 60 min, next start at once"),
         ENDS(USEC_PER_HOUR / 2 - 1, &died, EXIT_BUDGET,
              "the budget of 2 restarts within 60 min is used up"));
    policy_memory_release(&t.memory);
}

static void test_odd_budgets(void **state unused)
{
    struct teller none = teller(), endless = teller(), huge = teller();

    none.limits.budget = 0;
    TELL(&none, ENDS(0, &died, EXIT_BUDGET, "no restart is allowed (Budget=0)"));
    endless.limits.budget_usec = USEC_INFINITY;
    endless.limits.backoff_usec = 0;
    TELL(&endless, RESTARTS(0, &died, 0, "restart 1 of 5, next start at once"),
         RESTARTS(USEC_PER_DAY, &died_otherwise, 0, "restart 2 of 5, next start at once"));
    huge.limits.budget = UINT64_MAX;
    huge.limits.backoff_usec = 0;
    huge.limits.budget_usec = USEC_INFINITY;
    for (size_t i = 0; i < POLICY_MAX_BUDGET; i++) {
        struct decision d = {};

        assert_int_equal(policy_decide(&huge.memory, &huge.limits, &died_serving, START + i, i, &d),
                         0);
        assert_true(d.what.restart);
        decision_release(&d);
    }
    TELL(&huge, ENDS(0, &died_serving, EXIT_BUDGET, "the budget of 1000 restarts is used up"));
    policy_memory_release(&none.memory);
    policy_memory_release(&endless.memory);
    policy_memory_release(&huge.memory);
}

static void test_repeat_allows_more(void **state unused)
{
    struct teller t = teller();

    TELL(&t, RESTARTS(0, &port_taken, 5 * SEC, "restart 1 of 5 within 60 min, next start in 5 s"),
         RESTARTS(0, &port_taken, 10 * SEC,
                  "restart 2 of 5 within 60 min, though the same failure came 2 times in a row, "
                  "next start in 10 s"),
         RESTARTS(0, &port_taken, 20 * SEC,
                  "restart 3 of 5 within 60 min, though the same failure came 3 times in a row, "
                  "next start in 20 s"),
         ENDS(0, &port_taken, EXIT_UNMENDABLE,
              "the same failure came 4 times in a row (port_in_use): another restart would end no "
              "better"));
    policy_memory_release(&t.memory);
}

/* Another cause in between breaks the row. */
static void test_row_is_broken(void **state unused)
{
    struct teller t = teller();

    TELL(&t, RESTARTS(0, &died, 5 * SEC, "restart 1 of 5 within 60 min, next start in 5 s"),
         RESTARTS(0, &port_taken, 10 * SEC, "restart 2 of 5 within 60 min, next start in 10 s"),
         RESTARTS(0, &died, 20 * SEC, "restart 3 of 5 within 60 min, next start in 20 s"));
    assert_int_equal(t.memory.equal, 1);
    assert_int_equal(t.memory.failures, 3);
    policy_memory_release(&t.memory);
}

static void test_serving_has_its_own_rules(void **state unused)
{
    struct teller t = teller(), oom = teller();

    TELL(&t, RESTARTS(0, &died_serving, 5 * SEC, "restart 1 of 5 within 60 min, next start in 5 s"),
         RESTARTS(0, &died_serving, 10 * SEC,
                  "restart 2 of 5 within 60 min, though the same failure came 2 times in a row, "
                  "next start in 10 s"),
         ENDS(0, &died, EXIT_UNMENDABLE,
              "the same failure came 3 times in a row (engine_died): another restart would end no "
              "better"));
    TELL(&oom,
         RESTARTS(0, &out_of_memory_serving, 5 * SEC,
                  "restart 1 of 5 within 60 min, next start in 5 s"),
         RESTARTS(0, &out_of_memory_serving, 10 * SEC,
                  "restart 2 of 5 within 60 min, though the same failure came 2 times in a row, "
                  "next start in 10 s"),
         ENDS(0, &out_of_memory_serving, EXIT_UNMENDABLE,
              "the same failure came 3 times in a row (gpu_oom): another restart would end no "
              "better"));
    policy_memory_release(&t.memory);
    policy_memory_release(&oom.memory);
}

static void test_slow_begins_at_a_minute(void **state unused)
{
    struct teller t = teller(), short_max = teller();

    TELL(&t, RESTARTS(0, &no_fabric, 60 * SEC, "restart 1 of 5 within 60 min, next start in 60 s"),
         RESTARTS(0, &no_fabric, 120 * SEC,
                  "restart 2 of 5 within 60 min, though the same failure came 2 times in a row, "
                  "next start in 120 s"));
    short_max.limits.backoff_max_usec = SEC;
    TELL(&short_max,
         RESTARTS(0, &no_fabric, 60 * SEC, "restart 1 of 5 within 60 min, next start in 60 s"));
    policy_memory_release(&t.memory);
    policy_memory_release(&short_max.memory);
}

static void test_cleanup_gets_one_restart(void **state unused)
{
    struct teller t = teller();

    TELL(
        &t,
        RESTARTS(0, &stale_lock, 5 * SEC,
                 "restart 1 of 5 within 60 min, the only one after a clean-up, next start in 5 s"),
        RESTARTS(0, &other_lock, 10 * SEC,
                 "restart 2 of 5 within 60 min, the only one after a clean-up, next start in 10 s"),
        ENDS(0, &other_lock, EXIT_UNMENDABLE,
             "a clean-up and a restart have not mended it (jit_lock_stale)"));
    policy_memory_release(&t.memory);
}

static void test_settled(void **state unused)
{
    struct teller t = teller();

    t.limits.budget = 2;
    TELL(&t, RESTARTS(0, &died, 5 * SEC, "restart 1 of 2 within 60 min, next start in 5 s"));
    policy_settled(&t.memory);
    assert_null(t.memory.last_fingerprint);
    assert_int_equal(t.memory.equal, 0);
    assert_int_equal(t.memory.failures, 0);
    TELL(&t, RESTARTS(0, &died, 5 * SEC, "restart 2 of 2 within 60 min, next start in 5 s"));
    policy_settled(&t.memory);
    TELL(&t, ENDS(0, &died, EXIT_BUDGET, "the budget of 2 restarts within 60 min is used up"));
    policy_memory_release(&t.memory);
}

static void test_retry_words(void **state unused)
{
    enum retry r = N_RETRIES;

    for (enum retry i = 0; i < N_RETRIES; i++) {
        assert_int_equal(retry_parse(retry_name(i), &r), 0);
        assert_int_equal(r, i);
    }
    assert_int_equal(retry_parse("after-cleanup", &r), 0);
    assert_int_equal(r, RETRY_AFTER_CLEANUP);
    assert_int_equal(retry_parse("Never", &r), -EINVAL);
    assert_int_equal(retry_parse("", &r), -EINVAL);
    assert_int_equal(retry_parse(NULL, &r), -EINVAL);
    assert_int_equal(r, RETRY_AFTER_CLEANUP);
}

/* A decision that could not be made leaves no trace. */
static int decide_twice(void *data unused)
{
    struct policy_memory m = {};
    struct decision first = {}, second = {};
    int r = policy_decide(&m, &usual, &died, START, 0, &first);

    if (r < 0)
        assert_true(!m.last_fingerprint && m.equal == 0 && m.failures == 0 && m.n_restarts == 0);
    if (r == 0) {
        r = policy_decide(&m, &usual, &died_otherwise, START, 0, &second);
        assert_string_equal(m.last_fingerprint,
                            r < 0 ? died.fingerprint : died_otherwise.fingerprint);
        assert_int_equal(m.failures, r < 0 ? 1 : 2);
        assert_int_equal(m.n_restarts, r < 0 ? 1 : 2);
    }
    assert_true(r == 0 || !second.reason);
    decision_release(&first);
    decision_release(&second);
    policy_memory_release(&m);
    return r;
}

static void test_out_of_memory(void **state unused)
{
    assert_true(chaos_each(decide_twice, NULL) >= 6);
}

static char *word_or_null(char *word)
{
    return word[0] == '\0' ? NULL : word;
}

static void test_instance_changes_its_classes(void **state unused)
{
    static struct {
        char retry[16], retry_serving[16], repeat[16];
        struct class_policy wanted;
    } rows[] = {
        {"", "", "", {RETRY_SLOW, RETRY_NEVER, 3, 4}},
        {"backoff", "", "", {RETRY_BACKOFF, RETRY_NEVER, 3, 4}},
        {"", "after-cleanup", "", {RETRY_SLOW, RETRY_AFTER_CLEANUP, 3, 4}},
        {"", "", "0", {RETRY_SLOW, RETRY_NEVER, 0, 4}},
        {"never", "slow", "infinity", {RETRY_NEVER, RETRY_SLOW, UINT64_MAX, 4}},
    };
    struct class_policy p = {RETRY_SLOW, RETRY_NEVER, 3, 4};

    class_policy_change(&p, NULL);
    assert_true(p.retry == RETRY_SLOW && p.repeat == 3);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct class_policy *w = &rows[i].wanted;
        const struct class_config change = {
            .retry = word_or_null(rows[i].retry),
            .retry_serving = word_or_null(rows[i].retry_serving),
            .repeat = word_or_null(rows[i].repeat),
        };

        p = (struct class_policy){RETRY_SLOW, RETRY_NEVER, 3, 4};
        class_policy_change(&p, &change);
        assert_row(retry_name(w->retry), p.retry == w->retry && p.retry_serving == w->retry_serving);
        assert_row(retry_name(w->retry), p.repeat == w->repeat && p.repeat_serving == w->repeat_serving);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unmendable),
        cmocka_unit_test(test_class_without_text),
        cmocka_unit_test(test_same_failure_twice),
        cmocka_unit_test(test_different_failures_use_up_the_budget),
        cmocka_unit_test(test_budget_window_moves),
        cmocka_unit_test(test_restarts_are_forgotten_one_by_one),
        cmocka_unit_test(test_odd_budgets),
        cmocka_unit_test(test_repeat_allows_more),
        cmocka_unit_test(test_row_is_broken),
        cmocka_unit_test(test_serving_has_its_own_rules),
        cmocka_unit_test(test_slow_begins_at_a_minute),
        cmocka_unit_test(test_cleanup_gets_one_restart),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_retry_words),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_instance_changes_its_classes),
    };

    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
