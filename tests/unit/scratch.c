/* SPDX-License-Identifier: MIT */
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

char *scratch_new(void)
{
    const char *base = getenv("TMPDIR");
    char *path = NULL;

    assert_true(asprintf(&path, "%s/coalmine-test-XXXXXX", base ? base : "/tmp") > 0);
    assert_non_null(mkdtemp(path));
    return path;
}

static int remove_entry(const char *path, const struct stat *st unused, int type unused,
                        struct FTW *ftw unused)
{
    return remove(path);
}

void scratch_remove(char *path)
{
    assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), 0);
    free(path);
}

void scratch_write(int dir_fd, const char *name, const void *data, size_t len)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    assert_int_equal(close(fd), 0);
}

char *scratch_read(int dir_fd, const char *name, size_t *ret_len)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *content;

    if (fd < 0)
        return NULL;
    assert_int_equal(fstat(fd, &st), 0);
    content = malloc((size_t) st.st_size + 1);
    assert_non_null(content);
    assert_int_equal(read(fd, content, (size_t) st.st_size), st.st_size);
    content[st.st_size] = '\0';
    if (ret_len)
        *ret_len = (size_t) st.st_size;
    assert_int_equal(close(fd), 0);
    return content;
}

bool scratch_exists(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

size_t scratch_count(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(fd);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    assert_int_equal(closedir(dir), 0);
    return n - 2;
}
