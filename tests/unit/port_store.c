/* SPDX-License-Identifier: MIT */
#include "port/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/str.h"
#include "chaos.h"
#include "scratch.h"
#include "unit.h"

struct place {
    char *path;
    int fd;
};

static int setup(void **state)
{
    struct place *p = malloc(sizeof(*p));

    assert_non_null(p);
    p->path = scratch_new();
    p->fd = store_open_dir(p->path);
    assert_true(p->fd >= 0);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;

    close_fd(p->fd);
    scratch_remove(p->path);
    free(p);
    return 0;
}

static void assert_content(int dir_fd, const char *name, const char *expected)
{
    _cleanup_free_ char *content = scratch_read(dir_fd, name, NULL);

    assert_non_null(content);
    assert_string_equal(content, expected);
}

static mode_t mode_of(int dir_fd, const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static int put(int dir_fd, const char *name, const char *text)
{
    return store_write(dir_fd, name, text, strlen(text), 0);
}

static void open_dir_makes_parents(void **state)
{
    struct place *p = *state;
    _cleanup_free_ char *deep = str_format("%s/run/coalmine//k26/", p->path);
    _cleanup_free_ char *under_file = str_format("%s/file/below", p->path);
    int fd = store_open_dir(deep), again = store_open_dir(deep);

    assert_true(fd >= 0 && again >= 0);
    assert_int_equal(put(fd, "a", "1"), 0);
    assert_content(again, "a", "1");
    assert_int_equal(mode_of(p->fd, "run/coalmine"), 0755);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close_fd(fd);
    close_fd(again);

    assert_int_equal(put(p->fd, "file", ""), 0);
    assert_int_equal(store_open_dir(under_file), -ENOTDIR);
    assert_int_equal(store_open_dir(""), -EINVAL);
}

static void write_replaces(void **state)
{
    struct place *p = *state;
    char old[8] = "";
    int reader;

    assert_int_equal(put(p->fd, "status.json", "old"), 0);
    reader = openat(p->fd, "status.json", O_RDONLY | O_CLOEXEC);
    assert_int_equal(store_write(p->fd, "status.json", "new\0er", 6, STORE_DURABLE), 0);
    assert_int_equal(read(reader, old, sizeof(old)), 3);
    assert_string_equal(old, "old");
    close_fd(reader);

    assert_content(p->fd, "status.json", "new");
    assert_int_equal(scratch_count(p->fd), 1);
    assert_int_equal(mode_of(p->fd, "status.json"), 0644);
    assert_int_equal(store_write(p->fd, "report", "x", 1, STORE_PRIVATE), 0);
    assert_int_equal(mode_of(p->fd, "report"), 0640);
    assert_int_equal(store_write(p->fd, "status.json", NULL, 0, 0), 0);
    assert_content(p->fd, "status.json", "");
}

static void names_are_plain(void **state)
{
    static const char *const names[] = {"", ".", "..", "a/b", "/etc/x", "../x"};
    struct place *p = *state;
    char name[NAME_MAX + 1];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_row(names[i], put(p->fd, names[i], "x") == -EINVAL);
        assert_row(names[i], store_link(p->fd, names[i], "x") == -EINVAL);
        assert_row(names[i], store_append_line(p->fd, names[i], "x", 100) == -EINVAL);
    }
    memset(name, 'n', sizeof(name));
    name[NAME_MAX] = '\0';
    assert_int_equal(put(p->fd, name, "x"), -ENAMETOOLONG);
    assert_int_equal(store_link(p->fd, name, "x"), -ENAMETOOLONG);
    assert_int_equal(scratch_count(p->fd), 0);
}

static void write_does_not_follow_links(void **state)
{
    struct place *p = *state;

    assert_int_equal(put(p->fd, "victim", "whole"), 0);
    assert_int_equal(symlinkat("victim", p->fd, "status.json"), 0);
    assert_int_equal(put(p->fd, "status.json", "x"), 0);
    assert_content(p->fd, "victim", "whole");
    assert_content(p->fd, "status.json", "x");

    assert_int_equal(symlinkat("victim", p->fd, "history"), 0);
    assert_int_equal(store_append_line(p->fd, "history", "x", 100), -ELOOP);
    assert_content(p->fd, "victim", "whole");
}

static void write_cannot_replace_a_directory(void **state)
{
    struct place *p = *state;

    assert_int_equal(mkdirat(p->fd, "d", 0755), 0);
    assert_int_equal(put(p->fd, "d", "x"), -EISDIR);
    assert_int_equal(store_link(p->fd, "d", "x"), -EISDIR);
    assert_int_equal(scratch_count(p->fd), 1);
}

/* Files may grow to `bytes` and no further. */
static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void failed_write_changes_nothing(void **state)
{
    struct place *p = *state;
    char big[8192] = "";
    int r, append;

    memset(big, 'x', sizeof(big) - 1);
    assert_int_equal(put(p->fd, "report", "whole"), 0);
    assert_int_equal(put(p->fd, "history", "first\n"), 0);
    (void) signal(SIGXFSZ, SIG_IGN);
    limit_file_size(4096);
    r = store_write(p->fd, "report", big, sizeof(big), STORE_DURABLE);
    append = store_append_line(p->fd, "history", big, 1000000);
    limit_file_size(RLIM_INFINITY);
    (void) signal(SIGXFSZ, SIG_DFL);

    assert_int_equal(r, -EFBIG);
    assert_int_equal(append, -EFBIG);
    assert_content(p->fd, "report", "whole");
    assert_content(p->fd, "history", "first\n");
    assert_int_equal(scratch_count(p->fd), 2);
}

/* A file system of 64 KiB at p->path/full, in a mount namespace of our own. */
static int mount_small(const struct place *p)
{
    _cleanup_free_ char *path = str_format("%s/full", p->path);

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mkdir(path, 0755) < 0 || mount("tmpfs", path, "tmpfs", 0, "size=64k") < 0)
        return -errno;
    return store_open_dir(path);
}

static void unmount_small(const struct place *p)
{
    _cleanup_free_ char *path = str_format("%s/full", p->path);

    assert_int_equal(umount2(path, MNT_DETACH), 0);
}

static void full_disk_changes_nothing(void **state)
{
    struct place *p = *state;
    static char big[48 * 1024];
    int fd = mount_small(p);

    if (fd < 0) {
        print_message("no rights to mount a small file system\n");
        skip();
    }
    memset(big, 'x', sizeof(big) - 1);
    assert_int_equal(store_write(fd, "report", big, sizeof(big), STORE_DURABLE), 0);
    assert_int_equal(store_append_line(fd, "history", "first", 1000000), 0);
    big[0] = 'y';
    assert_int_equal(store_write(fd, "report", big, sizeof(big), STORE_DURABLE), -ENOSPC);
    assert_int_equal(store_append_line(fd, "history", big, 1000000), -ENOSPC);
    assert_int_equal(scratch_count(fd), 2);
    big[0] = 'x';
    assert_content(fd, "report", big);
    assert_content(fd, "history", "first\n");
    close_fd(fd);
    unmount_small(p);
}

static void overwrite_keeps_the_file(void **state)
{
    struct place *p = *state;
    _cleanup_free_ char *path = str_format("%s/message", p->path);
    struct stat before, after;

    assert_int_equal(store_overwrite(path, "a longer message", 16), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(store_overwrite(path, "short", 5), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_content(p->fd, "message", "short");
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(store_overwrite(path, "", 0), 0);
    assert_content(p->fd, "message", "");
}

static void overwrite_waits_for_nobody(void **state)
{
    struct place *p = *state;
    _cleanup_free_ char *path = str_format("%s/pipe", p->path);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(store_overwrite(path, "x", 1), -ENXIO);
    assert_int_equal(store_overwrite(p->path, "x", 1), -EISDIR);
}

static void link_points_to_the_newest(void **state)
{
    struct place *p = *state;
    char target[32] = "";

    assert_int_equal(put(p->fd, "1.json", "one"), 0);
    assert_int_equal(put(p->fd, "2.json", "two"), 0);
    assert_int_equal(store_link(p->fd, "latest.json", "1.json"), 0);
    assert_content(p->fd, "latest.json", "one");
    assert_int_equal(store_link(p->fd, "latest.json", "2.json"), 0);
    assert_content(p->fd, "latest.json", "two");
    assert_int_equal(readlinkat(p->fd, "latest.json", target, sizeof(target) - 1), 6);
    assert_string_equal(target, "2.json");
    assert_int_equal(scratch_count(p->fd), 3);
}

static void append_keeps_lines_apart(void **state)
{
    struct place *p = *state;

    assert_int_equal(store_append_line(p->fd, "h", "one", 1000), 0);
    assert_int_equal(store_append_line(p->fd, "h", "two", 1000), 0);
    assert_content(p->fd, "h", "one\ntwo\n");
    assert_int_equal(mode_of(p->fd, "h"), 0640);

    scratch_write(p->fd, "h", "one\n{\"torn", 10);
    assert_int_equal(store_append_line(p->fd, "h", "two", 1000), 0);
    assert_content(p->fd, "h", "one\n{\"torn\ntwo\n");
    assert_int_equal(store_append_line(p->fd, "h", "a\nb", 1000), -EINVAL);
    assert_content(p->fd, "h", "one\n{\"torn\ntwo\n");
}

static void append_drops_the_older_half(void **state)
{
    static const struct row {
        const char *before;
        const char *line;
        uint64_t max;
        int r;
        const char *after;
    } rows[] = {
        {"aaaa\nbbbb\ncccc\n", "dddd", 21, 0, "aaaa\nbbbb\ncccc\ndddd\n"},
        {"aaaa\nbbbb\ncccc\ndddd\n", "eeee", 20, 0, "dddd\neeee\n"},
        {"aaaa\nbbbb\ncccc\ndddd\n", "eee", 20, 0, "dddd\neee\n"},
        {"aaaa\nbbbb\ncccc\ndddd\n", "", 20, 0, "dddd\n\n"},
        {"aaaa\nbbbb\ncccc\ndd", "eeee", 20, 0, "dd\neeee\n"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "eeee", 20, 0, "eeee\n"},
        {"a\n", "123456789", 20, 0, "a\n123456789\n"},
        {"aaaa\nbbbb\ncccc\n", "123456789", 20, 0, "123456789\n"},
        {"aaaa\n", "1234567890", 20, -EMSGSIZE, "aaaa\n"},
        {"", "x", 0, -EMSGSIZE, ""},
    };
    struct place *p = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *after = NULL;

        scratch_write(p->fd, "h", rows[i].before, strlen(rows[i].before));
        assert_row(rows[i].line, store_append_line(p->fd, "h", rows[i].line, rows[i].max) == rows[i].r);
        after = scratch_read(p->fd, "h", NULL);
        assert_string_equal(after, rows[i].after);
        assert_int_equal(scratch_count(p->fd), 1);
    }
}

static void append_is_bounded_for_ever(void **state)
{
    struct place *p = *state;
    char line[64];
    struct stat st;

    for (int i = 0; i < 500; i++) {
        (void) snprintf(line, sizeof(line), "%0*d", 1 + i % 40, i);
        assert_int_equal(store_append_line(p->fd, "h", line, 256), 0);
        assert_int_equal(fstatat(p->fd, "h", &st, 0), 0);
        assert_true(st.st_size <= 256);
    }
    {
        _cleanup_free_ char *content = scratch_read(p->fd, "h", NULL);
        _cleanup_free_ char *last = str_format("\n%s\n", line);

        assert_true(str_ends_with(content, last));
    }
}

static void read_is_whole_and_bounded(void **state)
{
    struct place *p = *state;
    char *content = NULL;
    size_t len = 77;

    scratch_write(p->fd, "f", "a\0b", 3);
    assert_int_equal(store_read(p->fd, "f", 3, &content, &len), 0);
    assert_int_equal(len, 3);
    assert_memory_equal(content, "a\0b", 4);
    free(content);
    content = NULL;

    len = 77;
    assert_int_equal(store_read(p->fd, "f", 2, &content, &len), -EFBIG);
    assert_int_equal(store_read(p->fd, "absent", 10, &content, &len), -ENOENT);
    assert_null(content);
    assert_int_equal(len, 77);

    assert_int_equal(store_link(p->fd, "l", "f"), 0);
    assert_int_equal(store_read(p->fd, "l", SIZE_MAX, &content, NULL), 0);
    assert_string_equal(content, "a");
    free(content);
}

static void read_refuses_what_is_no_file(void **state)
{
    struct place *p = *state;
    char *content = NULL;

    assert_int_equal(mkfifoat(p->fd, "fifo", 0600), 0);
    assert_int_equal(store_read(p->fd, "fifo", 100, &content, NULL), -EINVAL);
    assert_int_equal(store_read(p->fd, ".", 100, &content, NULL), -EINVAL);
    assert_int_equal(store_read(AT_FDCWD, "/dev/zero", 100, &content, NULL), -EINVAL);
    assert_null(content);
}

/* The size that stat(2) tells of a file in /proc is 0. */
static void read_files_without_a_size(void **state unused)
{
    char *content = NULL;
    size_t len = 0;

    assert_int_equal(store_read(AT_FDCWD, "/proc/self/smaps", 10000000, &content, &len), 0);
    assert_true(len > 4096);
    assert_int_equal(strlen(content), len);
    assert_non_null(strstr(content, "VmFlags:"));
    free(content);
    content = NULL;
    assert_int_equal(store_read(AT_FDCWD, "/proc/self/smaps", 5000, &content, &len), -EFBIG);
    assert_null(content);
}

static void prune_keeps_the_newest(void **state)
{
    static const struct row {
        const char *what;
        uint64_t keep, max;
        const char *left; /* digits of the reports that stay */
    } rows[] = {
        {"all fit", 10, 1000, "12345"},
        {"by count", 2, 1000, "45"},
        {"by size", 10, 35, "345"},
        {"exactly by size", 10, 30, "345"},
        {"the newest is too big", 10, 5, "5"},
        {"none wanted", 0, 1000, "5"},
        {"without bounds", UINT64_MAX, UINT64_MAX, "12345"},
        {"no room", UINT64_MAX, 0, "5"},
    };
    struct place *p = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char name[16];

        for (char c = '1'; c <= '5'; c++) {
            (void) snprintf(name, sizeof(name), "%c.json", c);
            scratch_write(p->fd, name, "0123456789", 10);
        }
        assert_row(rows[i].what, store_prune(p->fd, ".json", NULL, rows[i].keep, rows[i].max) == 0);
        for (char c = '1'; c <= '5'; c++) {
            (void) snprintf(name, sizeof(name), "%c.json", c);
            assert_row(rows[i].what, scratch_exists(p->fd, name) == !!strchr(rows[i].left, c));
        }
    }
}

/* The clock was set back: what has just been written is called like the oldest. */
static void prune_spares_the_newest_whatever_its_name(void **state)
{
    struct place *p = *state;

    assert_int_equal(put(p->fd, "1970.json", "new"), 0);
    assert_int_equal(put(p->fd, "2026a.json", "old"), 0);
    assert_int_equal(put(p->fd, "2026b.json", "old"), 0);
    assert_int_equal(store_prune(p->fd, ".json", "1970.json", 2, 1000), 0);
    assert_content(p->fd, "1970.json", "new");
    assert_content(p->fd, "2026b.json", "old");
    assert_int_equal(faccessat(p->fd, "2026a.json", F_OK, 0), -1);
    assert_int_equal(store_prune(p->fd, ".json", "absent.json", 1, 1000), 0);
    assert_int_equal(faccessat(p->fd, "1970.json", F_OK, 0), -1);
}

static void prune_leaves_others_alone(void **state)
{
    struct place *p = *state;

    for (char c = '1'; c <= '3'; c++)
        scratch_write(p->fd, (char[]){c, '.', 'j', 's', 'o', 'n', '\0'}, "x", 1);
    scratch_write(p->fd, "notes.txt", "x", 1);
    scratch_write(p->fd, ".hidden.json", "x", 1);
    assert_int_equal(mkdirat(p->fd, "0.json", 0755), 0);
    assert_int_equal(store_link(p->fd, "latest.json", "3.json"), 0);
    scratch_write(p->fd, ".3.json.0123456789abcdef.tmp", "torn", 4);
    assert_int_equal(symlinkat("3.json", p->fd, ".latest.json.0123456789abcdef.tmp"), 0);

    assert_int_equal(store_prune(p->fd, ".json", NULL, 1, 1000), 0);
    assert_int_equal(scratch_count(p->fd), 5);
    assert_content(p->fd, "latest.json", "x");
    assert_true(scratch_exists(p->fd, "notes.txt"));
    assert_true(scratch_exists(p->fd, ".hidden.json"));
    assert_true(scratch_exists(p->fd, "0.json"));
}

static void prune_goes_on_after_an_error(void **state)
{
    struct place *p = *state;

    scratch_write(p->fd, "1.json", "x", 1);
    scratch_write(p->fd, "2.json", "x", 1);
    assert_int_equal(mkdirat(p->fd, ".stubborn.tmp", 0755), 0);
    assert_int_equal(store_prune(p->fd, ".json", NULL, 1, 1000), -EISDIR);
    assert_false(scratch_exists(p->fd, "1.json"));
    assert_true(scratch_exists(p->fd, "2.json"));
}

static void prune_of_an_empty_directory(void **state)
{
    struct place *p = *state;

    assert_int_equal(store_prune(p->fd, ".json", NULL, 0, 0), 0);
    assert_int_equal(store_prune(-1, ".json", NULL, 0, 0), -EBADF);
}

static int everything_once(void *data)
{
    const struct place *p = data;
    _cleanup_free_ char *content = NULL;
    _cleanup_free_ char *deep = NULL;
    _cleanup_close_ int deep_fd = -1;
    int r;

    deep = str_format("%s/a/b", p->path);
    if (!deep)
        return -ENOMEM;
    deep_fd = store_open_dir(deep);
    if (deep_fd < 0)
        return deep_fd;
    (void) unlinkat(p->fd, "a/b", AT_REMOVEDIR);
    r = put(p->fd, "1.json", "content");
    if (r == 0)
        r = store_link(p->fd, "latest.json", "1.json");
    if (r == 0)
        r = store_append_line(p->fd, "h", "0123456789", 40);
    if (r == 0)
        r = store_read(p->fd, "latest.json", 100, &content, NULL);
    if (r == 0)
        r = store_prune(p->fd, ".json", NULL, 1, 100);
    return r;
}

static void memory_may_run_out(void **state)
{
    struct place *p = *state;

    assert_true(chaos_each(everything_once, p) > 5);
    assert_content(p->fd, "1.json", "content");
    assert_int_equal(scratch_count(p->fd), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(open_dir_makes_parents, setup, teardown),
        cmocka_unit_test_setup_teardown(write_replaces, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_plain, setup, teardown),
        cmocka_unit_test_setup_teardown(write_does_not_follow_links, setup, teardown),
        cmocka_unit_test_setup_teardown(write_cannot_replace_a_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_write_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(full_disk_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(overwrite_keeps_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(overwrite_waits_for_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(link_points_to_the_newest, setup, teardown),
        cmocka_unit_test_setup_teardown(append_keeps_lines_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(append_drops_the_older_half, setup, teardown),
        cmocka_unit_test_setup_teardown(append_is_bounded_for_ever, setup, teardown),
        cmocka_unit_test_setup_teardown(read_is_whole_and_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(read_refuses_what_is_no_file, setup, teardown),
        cmocka_unit_test(read_files_without_a_size),
        cmocka_unit_test_setup_teardown(prune_keeps_the_newest, setup, teardown),
        cmocka_unit_test_setup_teardown(prune_spares_the_newest_whatever_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(prune_leaves_others_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(prune_goes_on_after_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(prune_of_an_empty_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
