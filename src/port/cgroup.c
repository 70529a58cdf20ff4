/* SPDX-License-Identifier: MIT */
#include "port/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/str.h"
#include "port/cgroup_find.h"
#include "port/cgroup_fs.h"
#include "port/store.h"

/* A server may make groups of its own (it may manage containers), but not so deep or so many that
 * we could not find and remove them. */
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define DEPTH_MAX TEXT_OF(CGROUP_FS_DEPTH)
#define DESCENDANTS_MAX "1000"

#define PROC_CGROUP_MAX ((size_t) 64 << 10)

struct cgroup {
    char *name; /* in the root's directory */
    char *path;
    int root_fd;
    int fd;
    int inotify_fd;
    struct loop_io *watch;
    bool told_empty; /* nothing was seen in it since `fn` was last called */
    cgroup_empty_fn fn;
    void *userdata;
};

/* The kernel tells of every change of `populated`, but of several within 10 ms only once; what it
 * was in between is lost. So the first notice counts even if it shows an empty group: something was
 * in it, since making the group gives no notice. After that a group must have been seen populated
 * before it is empty again; whatever came and went unseen has left it as it was told last. */
static void on_notice(int fd, int events unused, void *userdata)
{
    struct cgroup *g = userdata;
    char notices[4096];

    while (read(fd, notices, sizeof(notices)) > 0)
        continue;
    if (cgroup_populated(g)) {
        g->told_empty = false;
        return;
    }
    if (g->told_empty)
        return;
    g->told_empty = true;
    if (g->fn)
        g->fn(g->userdata);
}

static int watch(struct cgroup *g, struct loop *l)
{
    char events[64];

    g->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (g->inotify_fd < 0)
        return -errno;
    /* Through the descriptor, whatever the way to the mount is. */
    (void) snprintf(events, sizeof(events), "/proc/self/fd/%d/cgroup.events", g->fd);
    if (inotify_add_watch(g->inotify_fd, events, IN_MODIFY) < 0)
        return -errno;
    return loop_io_new(l, g->inotify_fd, LOOP_READ, on_notice, g, &g->watch);
}

static int make_directory(struct cgroup *g)
{
    int fd;

    /* One of that name is what could not be removed after an earlier epoch. */
    (void) cgroup_fs_remove(g->root_fd, g->name);
    if (mkdirat(g->root_fd, g->name, 0755) < 0)
        return -errno;
    fd = cgroup_fs_open(g->root_fd, g->name);
    if (fd < 0)
        return fd;
    g->fd = fd;
    (void) cgroup_fs_write(fd, "cgroup.max.depth", DEPTH_MAX);
    (void) cgroup_fs_write(fd, "cgroup.max.descendants", DESCENDANTS_MAX);
    return 0;
}

static int set_up(struct cgroup *g, struct cgroup_root *root, struct loop *l, uint64_t epoch)
{
    const char *root_path = cgroup_root_path(root);
    int r;

    g->name = str_format(CGROUP_SERVER_PREFIX "%" PRIu64, epoch);
    if (!g->name)
        return -ENOMEM;
    g->path = str_format("%s/%s", strcmp(root_path, "/") == 0 ? "" : root_path, g->name);
    if (!g->path)
        return -ENOMEM;
    g->root_fd = cgroup_root_fd(root);
    r = make_directory(g);
    return r < 0 ? r : watch(g, l);
}

int cgroup_new(struct cgroup_root *root, struct loop *l, uint64_t epoch, cgroup_empty_fn fn,
               void *userdata, struct cgroup **ret)
{
    _cleanup_(cgroup_freep) struct cgroup *g = calloc(1, sizeof(*g));
    int r;

    if (!g)
        return -ENOMEM;
    *g = (struct cgroup){.root_fd = -1, .fd = -1, .inotify_fd = -1, .fn = fn, .userdata = userdata};
    r = set_up(g, root, l, epoch);
    if (r < 0)
        return r;
    *ret = steal_pointer(&g);
    return 0;
}

int cgroup_fd(const struct cgroup *g)
{
    return g->fd;
}

bool cgroup_populated(const struct cgroup *g)
{
    return cgroup_fs_populated(g->fd);
}

int cgroup_signal(struct cgroup *g, int signo)
{
    return cgroup_fs_signal(g->fd, signo);
}

int cgroup_kill(struct cgroup *g)
{
    return cgroup_fs_kill(g->fd);
}

uint64_t cgroup_oom_kills(const struct cgroup *g)
{
    uint64_t n = 0;

    return cgroup_fs_number(g->fd, "memory.events", "oom_kill", &n) < 0 ? 0 : n;
}

bool cgroup_contains(const struct cgroup *g, pid_t pid)
{
    _cleanup_free_ char *content = NULL, *path = NULL;
    char file[64];
    const char *below;

    (void) snprintf(file, sizeof(file), "/proc/%d/cgroup", (int) pid);
    if (store_read(AT_FDCWD, file, PROC_CGROUP_MAX, &content, NULL) < 0 ||
        cgroup_find_path(content, &path) < 0)
        return false;
    below = str_after(path, g->path);
    return below && (*below == '\0' || *below == '/');
}

int cgroup_pids(const struct cgroup *g, size_t max, pid_t **ret, size_t *ret_n)
{
    _cleanup_(pid_set_release) struct pid_set set = {};
    int r = cgroup_fs_pids(g->fd, max, &set);

    if (r < 0)
        return r;
    *ret_n = set.n;
    *ret = steal_pointer(&set.pids);
    return 0;
}

void cgroup_free(struct cgroup *g)
{
    if (!g)
        return;
    loop_io_free(g->watch);
    close_fd(g->inotify_fd);
    if (g->fd >= 0)
        (void) cgroup_fs_remove(g->root_fd, g->name);
    close_fd(g->fd);
    free(g->path);
    free(g->name);
    free(g);
}
