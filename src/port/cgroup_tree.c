/* SPDX-License-Identifier: MIT */
#include "port/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Deeper trees than these are not walked: nobody nests that far on purpose. */
#define DEPTH_MAX 16

int cgroup_tree_read(int dir_fd, const char *name, char *buf, size_t size)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        return -errno;
    buf[n] = '\0';
    return 0;
}

int cgroup_tree_write(int dir_fd, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return -errno;
    return 0;
}

uint64_t cgroup_tree_number(int dir_fd, const char *name, const char *key)
{
    char text[1024];
    size_t n = strlen(key);

    if (cgroup_tree_read(dir_fd, name, text, sizeof text) < 0)
        return 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, key, n) == 0 && line[n] == ' ')
            return strtoull(line + n, NULL, 10);
    }
    return 0;
}

static int add(struct pid_list *l, pid_t pid)
{
    if (l->n == l->allocated) {
        size_t more = l->allocated ? l->allocated * 2 : 64;
        pid_t *pids = reallocarray(l->pids, more, sizeof *pids);

        if (!pids)
            return -ENOMEM;
        l->pids = pids;
        l->allocated = more;
    }
    l->pids[l->n++] = pid;
    return 0;
}

static int add_own(int dir_fd, size_t max, struct pid_list *l)
{
    int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    _cleanup_fclose_ FILE *f = fd >= 0 ? fdopen(fd, "re") : NULL;
    int pid, r = 0;

    if (!f) {
        (void) close_fd(fd);
        return fd < 0 && errno != ENOENT && errno != ENODEV ? -errno : 0;
    }
    /* 0 stands for a process of another PID namespace, which has no number here. */
    while (r == 0 && l->n < max && fscanf(f, "%d", &pid) == 1)
        r = pid > 0 ? add(l, pid) : 0;
    return r;
}

static void close_dirp(DIR **d)
{
    if (*d)
        (void) closedir(*d);
}

typedef int (*below_fn)(int dir_fd, const char *name, unsigned depth, void *userdata);

/* Calls fn for each group directly below, until it fails. */
static int each_below(int dir_fd, unsigned depth, below_fn fn, void *userdata)
{
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(close_dirp) DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *entry;
    int r = 0;

    if (!dir) {
        (void) close_fd(copy);
        return copy < 0 && errno == ENOENT ? 0 : -errno;
    }
    if (depth == DEPTH_MAX)
        return 0;
    while (r == 0 && (entry = readdir(dir)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            r = fn(dir_fd, entry->d_name, depth + 1, userdata);
    return r;
}

struct collection {
    size_t max;
    struct pid_list *list;
};

static int collect(int dir_fd, unsigned depth, struct collection *c);

static int collect_below(int dir_fd, const char *name, unsigned depth, void *userdata)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? 0 : collect(fd, depth, userdata);
}

static int collect(int dir_fd, unsigned depth, struct collection *c)
{
    int r = add_own(dir_fd, c->max, c->list);

    return r < 0 ? r : each_below(dir_fd, depth, collect_below, c);
}

int cgroup_tree_pids(int dir_fd, size_t max, struct pid_list *list)
{
    return collect(dir_fd, 0, &(struct collection){ .max = max, .list = list });
}

static int remove_below(int dir_fd, const char *name, unsigned depth, void *userdata)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        (void) each_below(fd, depth, remove_below, userdata);
    /* One that cannot go makes the one above it stay, which is told there. */
    (void) unlinkat(dir_fd, name, AT_REMOVEDIR);
    return 0;
}

int cgroup_tree_remove(int parent_fd, const char *name)
{
    (void) remove_below(parent_fd, name, 0, NULL);
    return faccessat(parent_fd, name, F_OK, 0) < 0 && errno == ENOENT ? 0 : -EBUSY;
}
