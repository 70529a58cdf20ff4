/* SPDX-License-Identifier: MIT */
#include "port/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/str.h"
#include "port/cgroup_tree.h"

#define SERVER_PREFIX "server-"
#define SUPERVISOR_NAME "supervisor"
#define PIDS_MAX ((size_t) 65536)
#define SIGNAL_PASSES 16
/* How long leftovers of an earlier supervisor may take to die of SIGKILL. */
#define LEFTOVER_USEC (5 * USEC_PER_SEC)
#define LEFTOVER_LOOK_MSEC 20

struct cgroup_root {
    char *path; /* as /proc/PID/cgroup shows it */
    int fd;
};

struct cgroup {
    struct cgroup_root *root;
    char *name;
    char *path;
    int fd;
    int inotify_fd;
    struct loop_io *events;
    bool told; /* that it is empty */
    cgroup_empty_fn fn;
    void *userdata;
};

/* Finding our own group */

/* The path behind "0::" in /proc/PID/cgroup (cgroups(7)); NULL when there is no cgroup v2. Owned. */
static char *path_of_process(const char *file)
{
    _cleanup_fclose_ FILE *f = fopen(file, "re");
    _cleanup_free_ char *line = NULL;
    size_t allocated = 0;
    ssize_t n;

    while (f && (n = getline(&line, &allocated, f)) > 0) {
        const char *path = str_after(line, "0::");

        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (path)
            return strdup(path);
    }
    return NULL;
}

/* Where cgroup2 is mounted (proc(5), /proc/PID/mountinfo): the fifth field of the line whose file system, behind
 * the dash, it is. Owned. */
static char *find_mount(void)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
    _cleanup_free_ char *line = NULL;
    size_t allocated = 0;

    while (f && getline(&line, &allocated, f) > 0) {
        char *point = NULL;

        if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %ms", &point) == 1)
            return point;
    }
    return NULL;
}

/* systemd marks what it has delegated (systemd's CGROUP_DELEGATION.md). Whoever is PID 1 has the whole tree of
 * its container. */
static bool delegated(int fd)
{
    char value[8];
    ssize_t n = fgetxattr(fd, "trusted.delegate", value, sizeof value);

    if (n < 0)
        n = fgetxattr(fd, "user.delegate", value, sizeof value);
    return getpid() == 1 || (n == 1 && value[0] == '1');
}

static int open_own(struct cgroup_root *r, const char **why)
{
    _cleanup_free_ char *mount = find_mount(), *full = NULL;

    r->path = path_of_process("/proc/self/cgroup");
    if (!mount || !r->path) {
        *why = "this machine has no cgroup v2";
        return -EOPNOTSUPP;
    }
    full = str_format("%s%s", mount, r->path);
    if (!full)
        return -ENOMEM;
    r->fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->fd < 0) {
        *why = "its cgroup cannot be opened";
        return -errno;
    }
    if (!delegated(r->fd)) {
        *why = "the unit has no Delegate=yes";
        return -EACCES;
    }
    return 0;
}

/* Leftovers */

static void kill_group(int fd)
{
    struct pid_list list = {};

    if (cgroup_tree_write(fd, "cgroup.kill", "1") == 0)
        return;
    if (cgroup_tree_pids(fd, PIDS_MAX, &list) == 0)
        for (size_t i = 0; i < list.n; i++)
            (void) kill(list.pids[i], SIGKILL);
    free(list.pids);
}

static void remove_leftover(const struct cgroup_root *r, const char *name)
{
    _cleanup_close_ int fd = openat(r->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    usec_t deadline = usec_add(loop_now().monotonic, LEFTOVER_USEC);

    if (fd < 0)
        return;
    kill_group(fd);
    while (cgroup_tree_number(fd, "cgroup.events", "populated") > 0 && loop_now().monotonic < deadline)
        (void) poll(NULL, 0, LEFTOVER_LOOK_MSEC);
    (void) cgroup_tree_remove(r->fd, name);
}

static void remove_leftovers(const struct cgroup_root *r)
{
    int copy = openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *entry;

    if (!dir) {
        (void) close_fd(copy);
        return;
    }
    while ((entry = readdir(dir)))
        if (str_after(entry->d_name, SERVER_PREFIX))
            remove_leftover(r, entry->d_name);
    (void) closedir(dir);
}

/* A group with processes of its own cannot hand controllers down ("no internal process constraint"): we move
 * out of the way. Which controllers there are is up to the machine. */
static int settle_in(struct cgroup_root *r, const char **why)
{
    _cleanup_close_ int fd = -1;
    int error;

    if (mkdirat(r->fd, SUPERVISOR_NAME, 0755) < 0 && errno != EEXIST) {
        *why = "its cgroup is not writable";
        return -errno;
    }
    fd = openat(r->fd, SUPERVISOR_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = fd < 0 ? -errno : cgroup_tree_write(fd, "cgroup.procs", "0");
    if (error < 0) {
        *why = "a process cannot be moved within its cgroup";
        return error;
    }
    (void) !cgroup_tree_write(r->fd, "cgroup.subtree_control", "+memory");
    (void) !cgroup_tree_write(r->fd, "cgroup.subtree_control", "+pids");
    return 0;
}

int cgroup_root_open(struct cgroup_root **ret, const char **ret_why)
{
    _cleanup_(cgroup_root_freep) struct cgroup_root *r = calloc(1, sizeof *r);
    int error;

    if (!r)
        return -ENOMEM;
    r->fd = -1;
    *ret_why = "out of memory";
    error = open_own(r, ret_why);
    if (error < 0)
        return error;
    remove_leftovers(r);
    error = settle_in(r, ret_why);
    if (error < 0)
        return error;
    *ret = steal_pointer(&r);
    return 0;
}

const char *cgroup_root_path(const struct cgroup_root *r)
{
    return r->path;
}

void cgroup_root_free(struct cgroup_root *r)
{
    if (!r)
        return;
    (void) close_fd(r->fd);
    free(r->path);
    free(r);
}

/* One epoch's group */

/* The kernel modifies cgroup.events at each change, at most every 10 ms and then with the last state: whatever
 * the number of notifications, the file tells the truth after the last one. Before the first process there is no
 * change, so that an event with an empty group means that it was populated. */
static void on_events(int fd, int events unused, void *userdata)
{
    struct cgroup *g = userdata;
    char buf[4096];
    bool populated;

    while (read(fd, buf, sizeof buf) > 0)
        continue;
    populated = cgroup_populated(g);
    if (populated || g->told) {
        g->told = g->told && !populated;
        return;
    }
    g->told = true;
    g->fn(g->userdata);
}

static int watch_events(struct cgroup *g, struct loop *l)
{
    char path[64];

    g->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (g->inotify_fd < 0)
        return -errno;
    (void) snprintf(path, sizeof path, "/proc/self/fd/%d/cgroup.events", g->fd);
    if (inotify_add_watch(g->inotify_fd, path, IN_MODIFY) < 0)
        return -errno;
    return loop_io_new(l, g->inotify_fd, LOOP_READ, on_events, g, &g->events);
}

static int make_group(struct cgroup *g, uint64_t epoch)
{
    g->name = str_format(SERVER_PREFIX "%" PRIu64, epoch);
    if (!g->name)
        return -ENOMEM;
    g->path = str_format("%s/%s", str_equal(g->root->path, "/") ? "" : g->root->path, g->name);
    if (!g->path)
        return -ENOMEM;
    if (mkdirat(g->root->fd, g->name, 0755) < 0 && errno != EEXIST)
        return -errno;
    g->fd = openat(g->root->fd, g->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return g->fd < 0 ? -errno : 0;
}

int cgroup_new(struct cgroup_root *r, struct loop *l, uint64_t epoch, cgroup_empty_fn fn, void *userdata,
               struct cgroup **ret)
{
    _cleanup_(cgroup_freep) struct cgroup *g = calloc(1, sizeof *g);
    int error;

    if (!g)
        return -ENOMEM;
    *g = (struct cgroup){ .root = r, .fd = -1, .inotify_fd = -1, .fn = fn, .userdata = userdata };
    error = make_group(g, epoch);
    if (error == 0)
        error = watch_events(g, l);
    if (error < 0)
        return error;
    *ret = steal_pointer(&g);
    return 0;
}

int cgroup_fd(const struct cgroup *g)
{
    return g->fd;
}

bool cgroup_populated(const struct cgroup *g)
{
    return cgroup_tree_number(g->fd, "cgroup.events", "populated") > 0;
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *) a, y = *(const pid_t *) b;

    return (x > y) - (x < y);
}

/* Signals those of `now` that are not in `before`; returns how many. Both are sorted. */
static size_t signal_new(const struct pid_list *before, const struct pid_list *now, int signo)
{
    size_t fresh = 0;

    for (size_t i = 0; i < now->n; i++) {
        if (before->n > 0 && bsearch(&now->pids[i], before->pids, before->n, sizeof(pid_t), compare_pids))
            continue;
        fresh++;
        (void) kill(now->pids[i], signo);
    }
    return fresh;
}

int cgroup_signal(struct cgroup *g, int signo)
{
    struct pid_list before = {};
    size_t fresh = 1;
    int r = 0;

    for (int pass = 0; r == 0 && fresh > 0 && pass < SIGNAL_PASSES; pass++) {
        struct pid_list now = {};

        r = cgroup_tree_pids(g->fd, PIDS_MAX, &now);
        if (now.n > 0)
            qsort(now.pids, now.n, sizeof(pid_t), compare_pids);
        fresh = signal_new(&before, &now, signo);
        free(before.pids);
        before = now;
    }
    free(before.pids);
    return r;
}

int cgroup_kill(struct cgroup *g)
{
    int r = cgroup_tree_write(g->fd, "cgroup.kill", "1");

    return r == -ENOENT ? cgroup_signal(g, SIGKILL) : r;
}

uint64_t cgroup_oom_kills(const struct cgroup *g)
{
    return cgroup_tree_number(g->fd, "memory.events", "oom_kill");
}

bool cgroup_contains(const struct cgroup *g, pid_t pid)
{
    char file[64];
    _cleanup_free_ char *path = NULL;
    const char *below;

    (void) snprintf(file, sizeof file, "/proc/%d/cgroup", (int) pid);
    path = path_of_process(file);
    below = path ? str_after(path, g->path) : NULL;
    return below && (*below == '\0' || *below == '/');
}

int cgroup_pids(const struct cgroup *g, size_t max, pid_t **ret, size_t *ret_n)
{
    struct pid_list list = {};
    int r = cgroup_tree_pids(g->fd, max, &list);

    if (r < 0) {
        free(list.pids);
        return r;
    }
    *ret = list.pids;
    *ret_n = list.n;
    return 0;
}

void cgroup_free(struct cgroup *g)
{
    if (!g)
        return;
    loop_io_free(g->events);
    (void) close_fd(g->inotify_fd);
    (void) close_fd(g->fd);
    if (g->name)
        (void) cgroup_tree_remove(g->root->fd, g->name);
    free(g->name);
    free(g->path);
    free(g);
}
