/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "base/str.h"
#include "port/cgroup.h"
#include "port/cgroup_find.h"
#include "port/cgroup_fs.h"
#include "port/store.h"

/* The supervisor's own part. systemd's DelegateSubgroup=supervisor may have put us there
 * already. */
#define SUPERVISOR "supervisor"
#define PROC_FILE_MAX ((size_t) 16 << 20)
#define LEFTOVERS_USEC (5 * USEC_PER_SEC)

struct cgroup_root {
    char *path;
    int fd;
    int supervisor_fd; /* locked: at most one supervisor in a cgroup */
};

/* systemd marks the cgroups that it hands over (its CGROUP_DELEGATION document); only the superuser
 * can read the trusted one. */
static bool is_delegated(int fd)
{
    static const char *const marks[] = {"user.delegate", "trusted.delegate"};
    char value[2];

    for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
        if (fgetxattr(fd, marks[i], value, sizeof(value)) == 1 && value[0] == '1')
            return true;
    }
    return false;
}

static bool belongs_to_us(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

static int open_writable(const char *directory)
{
    _cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs fs;

    if (fd < 0 || fstatfs(fd, &fs) < 0)
        return -errno;
    if (fs.f_type != CGROUP2_SUPER_MAGIC) /* something else is mounted over it */
        return -EOPNOTSUPP;
    if (faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) < 0)
        return -errno;
    return steal_fd(&fd);
}

static int find_path(char **ret)
{
    _cleanup_free_ char *content = NULL;
    int r = store_read(AT_FDCWD, "/proc/self/cgroup", PROC_FILE_MAX, &content, NULL);

    return r < 0 ? r : cgroup_find_path(content, ret);
}

static int find_directories(const char *path, char ***ret)
{
    _cleanup_free_ char *content = NULL;
    int r = store_read(AT_FDCWD, "/proc/self/mountinfo", PROC_FILE_MAX, &content, NULL);

    return r < 0 ? r : cgroup_find_directories(content, path, ret);
}

/* The group whose child SUPERVISOR we may already be. */
static void cut_own_part(char *path)
{
    if (!str_ends_with(path, "/" SUPERVISOR))
        return;
    *strrchr(path, '/') = '\0';
    if (*path == '\0')
        (void) stpcpy(path, "/");
}

static int locate(struct cgroup_root *root, const char **ret_why)
{
    _cleanup_strv_ char **directories = NULL;
    int r = find_path(&root->path);

    *ret_why = "there is no cgroup v2 that we can see";
    if (r < 0)
        return r == -ENOENT ? -EOPNOTSUPP : r;
    cut_own_part(root->path);
    r = find_directories(root->path, &directories);
    if (r < 0)
        return r;
    root->fd = -EOPNOTSUPP;
    for (size_t i = 0; root->fd < 0 && directories && directories[i]; i++)
        root->fd = open_writable(directories[i]);
    if (root->fd == -EROFS)
        *ret_why = "the cgroup file system is read-only";
    else if (root->fd == -EACCES || root->fd == -EPERM)
        *ret_why = "our cgroup belongs to somebody else";
    return MIN(root->fd, 0);
}

/* The right to write is not enough: the superuser may write anywhere, and whoever owns the tree
 * would undo it. The first process of a container has the whole tree that a cgroup namespace shows;
 * without one of its own it sits in somebody else's. */
static int check_owner(const struct cgroup_root *root, bool users_unit, const char **ret_why)
{
    if (is_delegated(root->fd) || (getpid() == 1 && str_equal(root->path, "/")) ||
        (users_unit && belongs_to_us(root->fd)))
        return 0;
    *ret_why = "the unit has no Delegate=yes";
    return -EPERM;
}

/* The lock ends with the descriptor: with us, however we end. */
static int claim(struct cgroup_root *root, const char **ret_why)
{
    _cleanup_close_ int fd = -1;

    *ret_why = "no group can be made in our cgroup";
    if (mkdirat(root->fd, SUPERVISOR, 0755) < 0 && errno != EEXIST)
        return -errno;
    fd = cgroup_fs_open(root->fd, SUPERVISOR);
    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return -errno;
        *ret_why = "another supervisor runs in our cgroup";
        return -EBUSY;
    }
    root->supervisor_fd = steal_fd(&fd);
    return 0;
}

/* A group that has processes of its own cannot give controllers to the groups in it: whoever is
 * there beside us (a shell that started us) comes along. */
static int move_others(struct cgroup_root *root)
{
    _cleanup_free_ char *content = NULL;
    _cleanup_strv_ char **pids = NULL;
    int r;

    r = store_read(root->fd, "cgroup.procs", PROC_FILE_MAX, &content, NULL);
    if (r < 0)
        return r;
    r = strv_split(content, "\n", &pids);
    for (size_t i = 0; pids && pids[i]; i++)
        (void) cgroup_fs_write(root->supervisor_fd, "cgroup.procs", pids[i]);
    return r;
}

static int settle(struct cgroup_root *root, const char **ret_why)
{
    int r = cgroup_fs_write(root->supervisor_fd, "cgroup.procs", "0");

    *ret_why = "we cannot move into a group of our own";
    if (r == 0)
        r = move_others(root);
    if (r < 0)
        return r;
    /* One at a time: what is missing must not take the other with it. */
    (void) cgroup_fs_write(root->fd, "cgroup.subtree_control", "+memory");
    (void) cgroup_fs_write(root->fd, "cgroup.subtree_control", "+pids");
    return 0;
}

static void kill_leftover(struct cgroup_root *root, const char *name)
{
    _cleanup_close_ int fd = cgroup_fs_open(root->fd, name);

    if (fd >= 0 && cgroup_fs_populated(fd))
        (void) cgroup_fs_kill(fd);
}

static bool remove_leftover(struct cgroup_root *root, const char *name, usec_t deadline)
{
    _cleanup_close_ int fd = cgroup_fs_open(root->fd, name);

    if (fd >= 0 && !cgroup_fs_wait_empty(fd, deadline))
        return false;
    (void) cgroup_fs_remove(root->fd, name);
    return true;
}

static int clear_leftovers(struct cgroup_root *root, const char **ret_why)
{
    _cleanup_strv_ char **names = NULL;
    usec_t deadline = usec_add(loop_now().monotonic, LEFTOVERS_USEC);
    int r = cgroup_fs_children(root->fd, &names);

    *ret_why = "processes of an earlier server cannot be killed";
    for (size_t i = 0; names && names[i]; i++) {
        if (str_after(names[i], CGROUP_SERVER_PREFIX))
            kill_leftover(root, names[i]);
    }
    for (size_t i = 0; names && names[i]; i++) {
        if (str_after(names[i], CGROUP_SERVER_PREFIX) && !remove_leftover(root, names[i], deadline))
            r = -ETIMEDOUT;
    }
    return r;
}

int cgroup_root_open(bool users_unit, struct cgroup_root **ret, const char **ret_why)
{
    _cleanup_(cgroup_root_freep) struct cgroup_root *root = calloc(1, sizeof(*root));
    const char *why = "out of memory";
    int r = -ENOMEM;

    if (root) {
        root->fd = root->supervisor_fd = -1;
        r = locate(root, &why);
    }
    if (r == 0)
        r = check_owner(root, users_unit, &why);
    if (r == 0)
        r = claim(root, &why);
    if (r == 0)
        r = settle(root, &why);
    if (r == 0)
        r = clear_leftovers(root, &why);
    if (r < 0) {
        *ret_why = why;
        return r;
    }
    *ret = steal_pointer(&root);
    return 0;
}

void cgroup_root_free(struct cgroup_root *root)
{
    if (!root)
        return;
    close_fd(root->supervisor_fd);
    close_fd(root->fd);
    free(root->path);
    free(root);
}

const char *cgroup_root_path(const struct cgroup_root *root)
{
    return root->path;
}

int cgroup_root_fd(const struct cgroup_root *root)
{
    return root->fd;
}
