/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "port/child.h"

/* Joined with spaces; NULL stands for a negative result, which *ret_error then is. */
static char *made(char *const *environment, char *const *extra, int *ret_error)
{
    _cleanup_strv_ char **v = NULL;

    *ret_error = child_environment(environment, extra, &v);
    if (*ret_error < 0) {
        assert_null(v);
        return NULL;
    }
    return strv_join(v, " ");
}

static const struct row {
    const char *name;
    const char *environment;
    const char *extra;
    const char *expected; /* NULL: -EINVAL */
} rows[] = {
    {"nothing", "", "", "LC_MESSAGES=C.UTF-8"},
    {"kept", "A=1 B=", "", "A=1 B= LC_MESSAGES=C.UTF-8"},
    {"the supervisor's own",
     "NOTIFY_SOCKET=/run/x A=1 WATCHDOG_USEC=3 WATCHDOG_PID=1 LISTEN_FDS=1 LISTEN_PID=1 "
     "LISTEN_PIDFDID=1 LISTEN_FDNAMES=x B=2",
     "", "A=1 B=2 LC_MESSAGES=C.UTF-8"},
    {"only those", "NOTIFY_SOCKET_X=1 LISTEN_HOST=h WATCHDOG=1 XNOTIFY_SOCKET=2", "",
     "NOTIFY_SOCKET_X=1 LISTEN_HOST=h WATCHDOG=1 XNOTIFY_SOCKET=2 LC_MESSAGES=C.UTF-8"},
    {"given back", "NOTIFY_SOCKET=/run/x", "NOTIFY_SOCKET=/run/y",
     "NOTIFY_SOCKET=/run/y LC_MESSAGES=C.UTF-8"},
    {"replaced", "A=1 AB=2 B=3", "A=4 C==5", "AB=2 B=3 A=4 C==5 LC_MESSAGES=C.UTF-8"},
    {"the last counts", "A=1", "A=2 B=1 A=3 A=4", "B=1 A=4 LC_MESSAGES=C.UTF-8"},
    {"no variables", "A =B C=1", "", "C=1 LC_MESSAGES=C.UTF-8"},
    {"locale overridden", "LANG=de_DE.UTF-8 LC_MESSAGES=de_DE.UTF-8 LANGUAGE=de LC_TIME=x", "",
     "LANG=de_DE.UTF-8 LC_TIME=x LC_MESSAGES=C.UTF-8"},
    {"messages chosen", "LC_MESSAGES=fr LANGUAGE=fr", "LC_MESSAGES=de",
     "LANGUAGE=fr LC_MESSAGES=de"},
    {"all chosen", "LANGUAGE=fr", "LC_ALL=de", "LANGUAGE=fr LC_ALL=de"},
    {"language chosen", "LC_MESSAGES=fr", "LANG=de", "LC_MESSAGES=fr LANG=de"},
    {"other locale", "", "LC_TIME=de LANGUAGES=x", "LC_TIME=de LANGUAGES=x LC_MESSAGES=C.UTF-8"},
    {"no assignment", "A=1", "B=2 C", NULL},
    {"no name", "A=1", "=2", NULL},
};

static void environments(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strv_ char **environment = NULL, **extra = NULL;
        _cleanup_free_ char *joined = NULL;
        int error;

        assert_int_equal(strv_split(rows[i].environment, " ", &environment), 0);
        assert_int_equal(strv_split(rows[i].extra, " ", &extra), 0);
        joined = made(environment, extra, &error);
        assert_row(rows[i].name, str_equal(joined, rows[i].expected));
        assert_row(rows[i].name, error == (rows[i].expected ? 0 : -EINVAL));
    }
}

static int make(void unused *data)
{
    _cleanup_strv_ char **v = NULL;

    return child_environment(WORLD_VECTOR("A=1", "B=2"), WORLD_VECTOR("A=3", "C=4"), &v);
}

static void memory_runs_out(void unused **state)
{
    assert_int_equal(chaos_each(make, NULL), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environments),
        cmocka_unit_test(memory_runs_out),
    };

    return cmocka_run_group_tests_name("port_environment", tests, NULL, NULL);
}
