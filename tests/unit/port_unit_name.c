/* SPDX-License-Identifier: MIT */
#include "port/unit_name.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "chaos.h"
#include "unit.h"

static const struct {
    const char *instance;
    const char *unit;
} pairs[] = {
    { "k26", "coalmine@k26.service" },
    { "foo-bar", "coalmine@foo-bar.service" },
    { "a.b_c:d", "coalmine@a.b_c:d.service" },
    { "a@b", "coalmine@a@b.service" },
    { "mod\xc3\xa8le", "coalmine@mod\\xc3\\xa8le.service" },
    { "two words", "coalmine@two\\x20words.service" },
    { "back\\slash", "coalmine@back\\x5cslash.service" },
    { "\\x41", "coalmine@\\x5cx41.service" },
};

static void names_go_into_units(void **state unused)
{
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        _cleanup_free_ char *unit = unit_name_of(pairs[i].instance);

        assert_row(pairs[i].instance, strcmp(unit, pairs[i].unit) == 0);
    }
}

static void and_come_back(void **state unused)
{
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        const char *start = pairs[i].unit + strlen("coalmine@");
        _cleanup_free_ char *escaped = strndup(start, strlen(start) - strlen(".service"));
        _cleanup_free_ char *instance = unit_name_unescape(escaped);

        assert_row(pairs[i].unit, strcmp(instance, pairs[i].instance) == 0);
    }
}

static void what_is_no_escape_stays(void **state unused)
{
    static const char *const texts[] = { "", "\\", "\\x", "\\x4", "\\xg1", "\\x1g", "\\n", "x41", "\\x00" };
    _cleanup_free_ char *dash = unit_name_unescape("foo\\x2Dbar\\x2d");

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_free_ char *same = unit_name_unescape(texts[i]);

        assert_row(texts[i], strcmp(same, texts[i]) == 0);
    }
    assert_string_equal(dash, "foo-bar-");
}

static int there_and_back(void *data unused)
{
    _cleanup_free_ char *unit = unit_name_of("k26");
    _cleanup_free_ char *name = unit ? unit_name_unescape(unit) : NULL;

    return name ? 0 : -ENOMEM;
}

static void memory_may_run_out(void **state unused)
{
    (void) chaos_each(there_and_back, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_into_units),
        cmocka_unit_test(and_come_back),
        cmocka_unit_test(what_is_no_escape_stays),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
