/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/str.h"
#include "chaos.h"
#include "core/config/directories.h"

#define VECTOR(...) ((char **) (uintptr_t) (const char *const[]){__VA_ARGS__, NULL})

static void expansion(void **state unused)
{
    char **environment = VECTOR("A=/srv/a", "AB=/srv/ab/", "EMPTY=", "REL=x/y", "ROOT=///", "HOMELY=/root",
                                "UP=/srv/../etc");
    static const struct {
        const char *list, *home, *expected;
    } rows[] = {
        {"/x /y/ /x", "/root", "/x|/y"},
        {"~/.cache/flashinfer", "/home/u", "/home/u/.cache/flashinfer"},
        {"~/.cache/flashinfer", NULL, ""},
        {"$A $AB $A/b $AB/c", "/root", "/srv/a|/srv/ab|/srv/a/b|/srv/ab//c"},
        {"$MISSING $MISSING/x $EMPTY $REL $REL/z", "/root", ""},
        {"$EMPTY/etc $ROOT/etc", "/root", ""},
        {"$ROOT $HOMELY", "/root", ""},
        {"$HOMELY/.cache", "/root", "/root/.cache"},
        {"$UP $UP/x", "/root", ""},
        {"/srv/a $A ~/a", "/srv", "/srv/a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strv_ char **list = NULL, **paths = NULL;
        _cleanup_free_ char *got = NULL;

        assert_int_equal(strv_split(rows[i].list, " ", &list), 0);
        assert_int_equal(directories_expand(list, environment, rows[i].home, &paths), 0);
        got = strv_join(paths, "|");
        assert_string_equal(got, rows[i].expected);
    }
}

static int expand_some(void *data unused)
{
    _cleanup_strv_ char **paths = NULL;

    return directories_expand(VECTOR("/a", "~/b", "$C/d"), VECTOR("C=/c"), "/root", &paths);
}

static void out_of_memory(void **state unused)
{
    chaos_each(expand_some, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests_name("config_directories", tests, NULL, NULL);
}
