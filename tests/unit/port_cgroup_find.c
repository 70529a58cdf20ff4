/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "port/cgroup_find.h"

static const struct path_row {
    const char *name;
    const char *content;
    const char *expected; /* NULL: -ENOENT */
} path_rows[] = {
    {"pure v2", "0::/system.slice/coalmine@k26.service\n", "/system.slice/coalmine@k26.service"},
    {"root", "0::/\n", "/"},
    {"hybrid", "9:name=systemd:/a\n4:memory:/b\n0::/c\n", "/c"},
    {"no newline", "0::/c", "/c"},
    {"blank and colon", "0::/a b:c\n", "/a b:c"},
    {"v1 only", "9:name=systemd:/a\n4:memory:/b\n", NULL},
    {"ten is not zero", "10::/a\n", NULL},
    {"outside of the namespace", "0::/../other\n", NULL},
    {"above the namespace", "0::/..\n", NULL},
    {"no path", "0::\n", NULL},
    {"relative", "0::a\n", NULL},
    {"empty", "", NULL},
};

static void paths(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(path_rows); i++) {
        _cleanup_free_ char *path = NULL;
        int r = cgroup_find_path(path_rows[i].content, &path);

        assert_row(path_rows[i].name, r == (path_rows[i].expected ? 0 : -ENOENT));
        assert_row(path_rows[i].name, str_equal(path, path_rows[i].expected));
    }
}

#define PURE "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID "41 32 0:27 / /sys/fs/cgroup/unified rw shared:4 master:2 - cgroup2 cgroup rw\n"
#define OTHERS                                                       \
    "24 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"                 \
    "33 32 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

static const struct directory_row {
    const char *name;
    const char *mountinfo;
    const char *path;
    const char *expected; /* joined with a blank; NULL: none */
} directory_rows[] = {
    {"pure", OTHERS PURE, "/a/b", "/sys/fs/cgroup/a/b"},
    {"hybrid", OTHERS HYBRID, "/a", "/sys/fs/cgroup/unified/a"},
    {"root", PURE, "/", "/sys/fs/cgroup/"},
    {"two mounts", PURE OTHERS HYBRID, "/a", "/sys/fs/cgroup/a /sys/fs/cgroup/unified/a"},
    {"v1", OTHERS, "/a", NULL},
    {"nothing", "", "/a", NULL},
    {"a part is mounted", "30 24 0:26 /docker/x /cg rw - cgroup2 c rw\n", "/docker/x/y", "/cg/y"},
    {"just that part", "30 24 0:26 /docker/x /cg rw - cgroup2 c rw\n", "/docker/x", "/cg"},
    {"another part", "30 24 0:26 /docker/x /cg rw - cgroup2 c rw\n", "/docker/xy", NULL},
    {"a part above our namespace", "30 24 0:26 /../.. /cg rw - cgroup2 c rw\n", "/a", NULL},
    {"escapes", "30 24 0:26 / /a\\040b\\134\\011c rw - cgroup2 c rw\n", "/x", "/a b\\\tc/x"},
    {"no escapes", "30 24 0:26 / /a\\04 rw - cgroup2 c rw\n", "/x", "/a\\04/x"},
    {"name of another type", "30 24 0:26 / /cg rw - cgroup2x c rw\n", "/a", NULL},
    {"the dash decides", "30 24 0:26 / /cg rw - ext4 - cgroup2 rw\n", "/a", NULL},
    {"too short", "30 24 0:26 / - cgroup2 c rw\n - cgroup2 \n\n", "/a", NULL},
};

static void directories(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(directory_rows); i++) {
        const struct directory_row *row = &directory_rows[i];
        _cleanup_strv_ char **found = NULL;
        _cleanup_free_ char *joined = NULL;

        assert_row(row->name, cgroup_find_directories(row->mountinfo, row->path, &found) == 0);
        joined = found ? strv_join(found, " ") : NULL;
        assert_row(row->name, str_equal(joined, row->expected));
    }
}

static int find_both(void unused *data)
{
    _cleanup_strv_ char **found = NULL;
    _cleanup_free_ char *path = NULL;
    int r = cgroup_find_path("0::/a\n", &path);

    return r < 0 ? r : cgroup_find_directories(PURE HYBRID, path, &found);
}

static void memory_runs_out(void unused **state)
{
    assert_int_equal(chaos_each(find_both, NULL), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),
        cmocka_unit_test(directories),
        cmocka_unit_test(memory_runs_out),
    };

    return cmocka_run_group_tests_name("port_cgroup_find", tests, NULL, NULL);
}
