/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "chaos.h"
#include "port/program.h"

/* dir/tool is executable, dir/text and deeper/tool are not, deeper/sub is a directory. */
static char base[] = "/tmp/coalmine-XXXXXX";

static const char *const files[] = {"dir/tool", "dir/text", "deeper/tool"};
static const char *const directories[] = {"dir", "deeper", "deeper/sub"};

static int make_tree(void unused **state)
{
    if (!mkdtemp(base) || chdir(base) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        if (mkdir(directories[i], 0755) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        close_fd(open(files[i], O_CREAT | O_WRONLY | O_CLOEXEC, i == 0 ? 0755 : 0644));
    return 0;
}

static int remove_tree(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        (void) unlink(files[i]);
    for (size_t i = ARRAY_SIZE(directories); i > 0; i--)
        (void) rmdir(directories[i - 1]);
    return chdir("/") | rmdir(base);
}

static const struct row {
    const char *program;
    const char *path; /* NULL: no PATH */
    const char *expected;
    int error;
} rows[] = {
    {"sh", NULL, "/bin/sh", 0},
    {"sh", "PATH=/nonexistent:/usr/bin:/bin", "/usr/bin/sh", 0},
    {"coalmine-no-such", "PATH=/usr/bin:/bin", NULL, -ENOENT},
    {"", "PATH=/usr/bin", NULL, -ENOENT},
    {"sh", "PATH=", NULL, -ENOENT},
    {"/any/thing", "PATH=/usr/bin", "/any/thing", 0},
    {"./relative", "PATH=/usr/bin", "./relative", 0},
    {"tool", "PATH=dir", "dir/tool", 0},
    {"tool", "PATH=deeper:dir", "dir/tool", 0}, /* goes on after one that is not executable */
    {"tool", "PATH=deeper:nowhere", NULL, -EACCES},
    {"text", "PATH=dir", NULL, -EACCES},
    {"sub", "PATH=deeper", NULL, -EACCES},
    {"tool", "PATH=dir/tool", NULL, -ENOENT}, /* no directory */
    {"tool", "PATHS=dir", NULL, -ENOENT},
};

static void programs(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *found = NULL;
        char **environment = rows[i].path ? WORLD_VECTOR("A=1", rows[i].path) : WORLD_VECTOR("A=1");
        int r = program_find(rows[i].program, environment, AT_FDCWD, &found);

        assert_row(rows[i].path, r == rows[i].error);
        assert_row(rows[i].path, str_equal(found, rows[i].expected));
    }
}

static void current_directory(void unused **state)
{
    static const char *const paths[] = {"PATH=/usr/bin:", "PATH=:/usr/bin", "PATH=/x::/y", "PATH="};
    _cleanup_close_ int fd = open("dir", O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        _cleanup_free_ char *found = NULL;

        assert_int_equal(program_find("tool", WORLD_VECTOR(paths[i]), fd, &found), 0);
        assert_string_equal(found, "./tool");
    }
}

static void no_environment(void unused **state)
{
    _cleanup_free_ char *found = NULL;

    assert_int_equal(program_find("sh", NULL, AT_FDCWD, &found), 0);
    assert_string_equal(found, "/bin/sh");
}

/* A part of PATH that is longer than any path can be is not cut to one that exists. */
static void endless_path(void unused **state)
{
    _cleanup_strbuf_ struct strbuf path = {};
    _cleanup_free_ char *found = NULL;

    strbuf_append(&path, "PATH=");
    for (int i = 0; i < PATH_MAX; i++)
        strbuf_append(&path, "dir/./../");
    strbuf_append(&path, "dir");
    assert_int_equal(program_find("tool", WORLD_VECTOR(path.data), AT_FDCWD, &found), -ENOENT);
    assert_null(found);
}

static int find(void *data)
{
    _cleanup_free_ char *found = NULL;

    return program_find(data, WORLD_VECTOR("PATH=nowhere:dir"), AT_FDCWD, &found);
}

static void memory_runs_out(void unused **state)
{
    char plain[] = "tool", with_slash[] = "dir/tool";

    assert_int_equal(chaos_each(find, plain), 2);
    assert_int_equal(chaos_each(find, with_slash), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs),
        cmocka_unit_test(current_directory),
        cmocka_unit_test(no_environment),
        cmocka_unit_test(endless_path),
        cmocka_unit_test(memory_runs_out),
    };

    return cmocka_run_group_tests_name("port_program", tests, make_tree, remove_tree);
}
