/* SPDX-License-Identifier: MIT */
#include "port/cgroup_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/str.h"
#include "port/loop.h"

/* How often the processes are listed again for those that were forked meanwhile. */
#define SIGNAL_PASSES 16
/* More than any of the flat keyed files has. */
#define FILE_MAX 4096

static void close_directory(DIR **d)
{
    if (*d)
        (void) closedir(*d);
}

int cgroup_fs_open(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int cgroup_fs_write(int dir_fd, const char *file, const char *text)
{
    _cleanup_close_ int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);
    ssize_t written;

    if (fd < 0)
        return -errno;
    written = write(fd, text, n);
    if (written < 0)
        return -errno;
    return (size_t) written == n ? 0 : -EIO;
}

static int find_number(char *content, const char *key, uint64_t *ret)
{
    char *rest = content, *line;

    while ((line = strsep(&rest, "\n"))) {
        const char *value = str_after(line, key);

        if (value && *value == ' ')
            return parse_u64(value, ret);
    }
    return -ENOENT;
}

/* Reads from the file's beginning: each read(2) of cgroupfs at offset 0 shows the present state. */
static int read_number(int fd, const char *key, uint64_t *ret)
{
    char content[FILE_MAX];
    ssize_t n = pread(fd, content, sizeof(content) - 1, 0);

    if (n < 0)
        return -errno;
    content[n] = '\0';
    return find_number(content, key, ret);
}

int cgroup_fs_number(int dir_fd, const char *file, const char *key, uint64_t *ret)
{
    _cleanup_close_ int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -errno : read_number(fd, key, ret);
}

bool cgroup_fs_populated(int dir_fd)
{
    uint64_t populated = 0;

    return cgroup_fs_number(dir_fd, "cgroup.events", "populated", &populated) == 0 && populated > 0;
}

/* What a walk through a group does with each process it has not seen yet. */
struct visit {
    struct pid_set *seen;
    size_t max;
    int signo; /* 0: nothing is sent */
    int found;
    int error; /* of a signal that could not be sent */
};

/* 0 is a process of a PID namespace that we cannot see into. Ourselves we never signal: a group
 * that we were moved into by mistake must not end us. */
static int visit_process(struct visit *v, pid_t pid)
{
    int r;

    if (pid <= 0 || v->seen->n >= v->max)
        return 0;
    r = pid_set_add(v->seen, pid);
    if (r <= 0)
        return r;
    v->found++;
    if (v->signo != 0 && pid != getpid() && kill(pid, v->signo) < 0 && errno != ESRCH)
        v->error = -errno;
    return 0;
}

/* The file of a threaded group cannot be read; its processes are listed in a group above it. */
static int visit_group(struct visit *v, int dir_fd)
{
    _cleanup_fclose_ FILE *f = NULL;
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    f = fdopen(fd, "re");
    if (!f) {
        close_fd(fd);
        return -ENOMEM;
    }
    while (getline(&line, &size, f) > 0) {
        int r = visit_process(v, (pid_t) strtol(line, NULL, 10));

        if (r < 0)
            return r;
    }
    return 0;
}

int cgroup_fs_children(int dir_fd, char ***ret)
{
    _cleanup_(close_directory) DIR *d = NULL;
    _cleanup_strv_ char **names = NULL;
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent *entry;

    if (fd < 0)
        return -errno;
    d = fdopendir(fd);
    if (!d) {
        close_fd(fd);
        return -ENOMEM;
    }
    while ((entry = readdir(d))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        if (strv_push(&names, entry->d_name) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&names);
    return 0;
}

/* Errors of a group that was removed while we looked at it. */
static bool is_gone(int error)
{
    return error == -ENOENT || error == -ENODEV;
}

static size_t depth_of(const char *path)
{
    size_t depth = 1;

    for (const char *slash = path; (slash = strchr(slash, '/')); slash++)
        depth++;
    return depth;
}

/* Appends the paths of the groups in `path`, which "." leaves out of theirs. */
static int push_children(int dir_fd, const char *path, char ***paths)
{
    const char *above = str_equal(path, ".") ? "" : path;
    _cleanup_close_ int fd = cgroup_fs_open(dir_fd, path);
    _cleanup_strv_ char **children = NULL;
    int r = fd < 0 ? fd : cgroup_fs_children(fd, &children);

    for (size_t i = 0; r == 0 && children && children[i]; i++) {
        _cleanup_free_ char *child = str_format("%s%s%s", above, *above ? "/" : "", children[i]);

        r = child ? strv_push(paths, child) : -ENOMEM;
    }
    return is_gone(r) ? 0 : r;
}

/* The group (".") and all below it, each before those in it. */
static int list_tree(int dir_fd, char ***ret)
{
    _cleanup_strv_ char **paths = NULL;
    int r = strv_push(&paths, ".");

    for (size_t i = 0; r == 0 && paths[i]; i++) {
        if (i == 0 || depth_of(paths[i]) < CGROUP_FS_DEPTH)
            r = push_children(dir_fd, paths[i], &paths);
    }
    if (r < 0)
        return r;
    *ret = steal_pointer(&paths);
    return 0;
}

static int visit_tree(struct visit *v, int dir_fd)
{
    _cleanup_strv_ char **paths = NULL;
    int r = list_tree(dir_fd, &paths);

    for (size_t i = 0; r == 0 && paths[i]; i++) {
        _cleanup_close_ int fd = cgroup_fs_open(dir_fd, paths[i]);

        r = fd < 0 ? fd : visit_group(v, fd);
        if (is_gone(r))
            r = 0;
    }
    return r;
}

int cgroup_fs_pids(int dir_fd, size_t max, struct pid_set *set)
{
    struct visit v = {.seen = set, .max = max};

    return visit_tree(&v, dir_fd);
}

int cgroup_fs_signal(int dir_fd, int signo)
{
    _cleanup_(pid_set_release) struct pid_set seen = {};
    struct visit v = {.seen = &seen, .max = SIZE_MAX, .signo = signo};
    int r = 0;

    for (int pass = 0; pass < SIGNAL_PASSES && r >= 0; pass++) {
        v.found = 0;
        r = visit_tree(&v, dir_fd);
        if (v.found == 0)
            break;
    }
    return r < 0 ? r : v.error;
}

int cgroup_fs_kill(int dir_fd)
{
    int r = cgroup_fs_write(dir_fd, "cgroup.kill", "1");

    /* Before Linux 5.14 there is no such file, and threaded groups refuse it. */
    return r == -ENOENT || r == -EOPNOTSUPP ? cgroup_fs_signal(dir_fd, SIGKILL) : r;
}

bool cgroup_fs_wait_empty(int dir_fd, usec_t deadline)
{
    _cleanup_close_ int fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLPRI};
        uint64_t populated = 0;
        usec_t left;

        if (fd < 0 || read_number(fd, "populated", &populated) < 0 || populated == 0)
            return true;
        left = usec_sub(deadline, loop_now().monotonic);
        if (left == 0)
            return false;
        (void) poll(&p, 1, (int) MIN(left / USEC_PER_MSEC + 1, (usec_t) INT16_MAX));
    }
}

int cgroup_fs_remove(int parent_fd, const char *name)
{
    _cleanup_strv_ char **paths = NULL;
    _cleanup_close_ int fd = -1;

    if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != EBUSY)
        return -errno;
    /* Most have no groups in them; those that have cannot be removed before these. */
    fd = cgroup_fs_open(parent_fd, name);
    if (fd >= 0 && list_tree(fd, &paths) == 0) {
        for (size_t i = strv_length(paths) - 1; i > 0; i--)
            (void) unlinkat(fd, paths[i], AT_REMOVEDIR);
    }
    return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}
