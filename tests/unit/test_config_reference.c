/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/config_key.h"
#include "core/config/config_reference.h"

#define PAGE "docs/man/coalmine.conf.5.scd"

static char *read_page(void)
{
    _cleanup_fclose_ FILE *f = fopen(PAGE, "re");
    _cleanup_strbuf_ struct strbuf b = {};
    char buf[4096];
    size_t n;

    if (!f)
        fail_msg("%s cannot be read; run the tests from the top of the tree", PAGE);
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
        strbuf_append_n(&b, buf, n);
    return strbuf_steal(&b);
}

static void page_is_up_to_date(void unused **state)
{
    _cleanup_free_ char *page = read_page(), *reference = config_reference();

    assert_non_null(reference);
    if (!strstr(page, reference))
        fail_msg("%s differs from the table of keys; `make reference` brings it up to date", PAGE);
}

static void every_key_is_described(void unused **state)
{
    _cleanup_free_ char *reference = config_reference();

    for (size_t i = 0; i < n_config_keys; i++) {
        _cleanup_free_ char *heading = str_format("\n*%s=*\n\t", config_keys[i].name);

        assert_row(config_keys[i].name, strstr(reference, heading) != NULL);
    }
}

static void lines_are_short(void unused **state)
{
    _cleanup_free_ char *reference = config_reference();

    for (char *line = strtok(reference, "\n"); line; line = strtok(NULL, "\n"))
        assert_row(line, strlen(line) <= 100);
}

static int write_reference(void unused *data)
{
    _cleanup_free_ char *reference = config_reference();

    return reference ? 0 : -ENOMEM;
}

static void survives_lack_of_memory(void unused **state)
{
    assert_true(chaos_each(write_reference, NULL) > n_config_keys);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_is_up_to_date),
        cmocka_unit_test(every_key_is_described),
        cmocka_unit_test(lines_are_short),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config reference", tests, NULL, NULL);
}
