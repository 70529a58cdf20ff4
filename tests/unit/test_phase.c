/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <string.h>

#include "base/str.h"
#include "core/supervision/phase.h"

/* Programs compare these names, so each must be there and its own. */
#define ASSERT_NAMES(n, name)                                                   \
    do {                                                                        \
        for (unsigned i = 0; i < (n); i++) {                                    \
            assert_false(str_empty(name(i)));                                   \
            for (unsigned j = 0; j < i; j++)                                    \
                assert_string_not_equal(name(i), name(j));                      \
        }                                                                       \
    } while (0)

static void test_names_are_distinct(void **state unused)
{
    ASSERT_NAMES(N_PHASES, phase_name);
    ASSERT_NAMES(N_PHASES, phase_text);
    ASSERT_NAMES(N_UNIT_STATES, unit_state_name);
}

static void test_names(void **state unused)
{
    assert_string_equal(phase_name(PHASE_IDLE), "idle");
    assert_string_equal(phase_name(PHASE_PROVING), "proving");
    assert_string_equal(phase_name(PHASE_FAILED), "failed");
    assert_string_equal(phase_text(PHASE_READY), "serving");
    assert_string_equal(unit_state_name(UNIT_ACTIVATING), "activating");
    assert_string_equal(unit_state_name(UNIT_FAILED), "failed");
}

/* The numbers are a contract with units and scripts. */
static void test_exit_codes(void **state unused)
{
    static const struct {
        int code;
        const char *text;
    } rows[] = {
        {0, "asked to stop, and the server is gone"},
        {70, "internal error of coalmined"},
        {75, "failed, a restart may mend it (only with Restart.Mode=exit)"},
        {78, "configuration not usable; nothing was started"},
        {81, "failure that a restart cannot mend"},
        {82, "restart budget used up"},
        {83, "the server's processes could not be removed"},
        {1, "unknown exit code"},
        {-1, "unknown exit code"},
        {256, "unknown exit code"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(exit_code_text(rows[i].code), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_distinct),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_exit_codes),
    };

    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
