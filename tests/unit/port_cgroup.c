/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/str.h"
#include "chaos.h"
#include "port/cgroup.h"
#include "port/cgroup_find.h"
#include "port/cgroup_fs.h"
#include "port/child.h"
#include "port/store.h"
#include "scratch.h"

/* Each test runs in a cgroup of its own, marked as delegated, and goes home afterwards. */
static struct {
    int home; /* -1: no cgroup v2 that we may write to */
    char name[64];
    char *path;
    int fd;
} own = {.home = -1, .fd = -1};

static char *read_proc(const char *file)
{
    char *content = NULL;

    return store_read(AT_FDCWD, file, 1 << 20, &content, NULL) < 0 ? NULL : content;
}

static char *path_now(void)
{
    _cleanup_free_ char *content = read_proc("/proc/self/cgroup");
    char *path = NULL;

    return content && cgroup_find_path(content, &path) == 0 ? path : NULL;
}

/* The directory of our cgroup, -1 if there is none we could use. */
static int open_home(void)
{
    _cleanup_free_ char *mountinfo = read_proc("/proc/self/mountinfo"), *path = path_now();
    _cleanup_strv_ char **directories = NULL;

    if (!mountinfo || !path || cgroup_find_directories(mountinfo, path, &directories) < 0)
        return -1;
    return directories ? open(directories[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static int enter_own(void unused **state)
{
    static int count;
    _cleanup_free_ char *home = path_now();

    own.home = open_home();
    if (own.home < 0)
        return 0;
    (void) snprintf(own.name, sizeof(own.name), "coalmine-unit-%d-%d", (int) getpid(), count++);
    if (mkdirat(own.home, own.name, 0755) < 0) {
        own.home = close_fd(own.home);
        return 0;
    }
    own.fd = cgroup_fs_open(own.home, own.name);
    own.path = str_format("%s/%s", str_equal(home, "/") ? "" : home, own.name);
    if (own.fd < 0 || !own.path || fsetxattr(own.fd, "user.delegate", "1", 1, 0) < 0)
        return -1;
    return cgroup_fs_write(own.fd, "cgroup.procs", "0");
}

static int go_home(void unused **state)
{
    if (own.home < 0)
        return 0;
    if (cgroup_fs_write(own.home, "cgroup.procs", "0") < 0)
        return -1;
    (void) cgroup_fs_kill(own.fd);
    (void) cgroup_fs_wait_empty(own.fd, world_now() + WORLD_LIMIT);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    own.fd = close_fd(own.fd);
    free(steal_pointer(&own.path));
    if (cgroup_fs_remove(own.home, own.name) < 0)
        return -1;
    own.home = close_fd(own.home);
    return 0;
}

static void need_cgroups(void)
{
    if (own.home >= 0)
        return;
    print_message("no cgroup v2 hierarchy that may be written to\n");
    skip();
}

/* A root, a group in it, and what is heard of that. */
struct scene {
    struct loop *loop;
    struct cgroup_root *root;
    struct cgroup *group;
    struct child *child;
    int empties;
    int ends;
};

static void on_empty(void *userdata)
{
    struct scene *s = userdata;

    s->empties++;
    loop_stop(s->loop);
}

static void on_end(const struct child_exit unused *e, void *userdata)
{
    struct scene *s = userdata;

    s->ends++;
}

static struct cgroup_root *open_root(void)
{
    struct cgroup_root *root = NULL;
    const char *why = NULL;
    int r = cgroup_root_open(false, &root, &why);

    if (r < 0)
        fail_msg("%s: %s", strerror(-r), why);
    return root;
}

static void set_scene(struct scene *s)
{
    need_cgroups();
    *s = (struct scene){.loop = world_loop(), .root = open_root()};
    assert_int_equal(cgroup_new(s->root, s->loop, 7, on_empty, s, &s->group), 0);
}

static void clear_scene(struct scene *s)
{
    child_free(s->child);
    cgroup_free(s->group);
    cgroup_root_free(s->root);
    loop_free(s->loop);
}

static void spawn(struct scene *s, const char *script)
{
    struct child_spec spec = world_spec(WORLD_SHELL(script));

    spec.cgroup_fd = cgroup_fd(s->group);
    child_free(s->child);
    s->child = NULL;
    assert_int_equal(child_spawn(s->loop, &spec, on_end, s, &s->child), 0);
}

static size_t count_pids(const struct cgroup *g)
{
    pid_t *pids = NULL;
    size_t n = 0;

    assert_int_equal(cgroup_pids(g, 100000, &pids, &n), 0);
    free(pids);
    return n;
}

static void wait_for_pids(const struct cgroup *g, size_t n)
{
    while (count_pids(g) < n)
        (void) poll(NULL, 0, 1);
}

static bool exists(const char *name)
{
    return faccessat(own.fd, name, F_OK, 0) == 0;
}

static void root_is_found_and_settled(void unused **state)
{
    _cleanup_(cgroup_root_freep) struct cgroup_root *root = NULL;
    _cleanup_free_ char *path = NULL, *expected = NULL;

    need_cgroups();
    root = open_root();
    assert_string_equal(cgroup_root_path(root), own.path);
    path = path_now();
    expected = str_format("%s/supervisor", own.path);
    assert_string_equal(path, expected);

    /* Started again where it already was, as after DelegateSubgroup=supervisor. */
    cgroup_root_free(root);
    root = open_root();
    assert_string_equal(cgroup_root_path(root), own.path);
    cgroup_root_free(NULL);
}

static void one_supervisor_at_a_time(void unused **state)
{
    _cleanup_(cgroup_root_freep) struct cgroup_root *root = NULL;
    struct cgroup_root *second = NULL;
    const char *why = NULL;

    need_cgroups();
    root = open_root();
    assert_int_equal(cgroup_root_open(false, &second, &why), -EBUSY);
    assert_null(second);
    assert_string_equal(why, "another supervisor runs in our cgroup");
}

static void only_what_is_delegated(void unused **state)
{
    struct cgroup_root *root = NULL;
    const char *why = NULL;

    need_cgroups();
    assert_int_equal(fremovexattr(own.fd, "user.delegate"), 0);
    assert_int_equal(cgroup_root_open(false, &root, &why), -EPERM);
    assert_string_equal(why, "the unit has no Delegate=yes");
    assert_false(exists("supervisor"));
    assert_int_equal(fsetxattr(own.fd, "user.delegate", "0", 1, 0), 0);
    assert_int_equal(cgroup_root_open(false, &root, &why), -EPERM);
    assert_null(root);
}

/* A user's service manager may not mark anything. */
static void to_a_users_unit_what_belongs_to_the_user(void unused **state)
{
    struct cgroup_root *root = NULL;
    const char *why = NULL;

    need_cgroups();
    assert_int_equal(fremovexattr(own.fd, "user.delegate"), 0);
    assert_int_equal(fchown(own.fd, 65534, (gid_t) -1), 0);
    assert_int_equal(cgroup_root_open(true, &root, &why), -EPERM);
    assert_int_equal(fchown(own.fd, geteuid(), (gid_t) -1), 0);
    assert_int_equal(cgroup_root_open(true, &root, &why), 0);
    cgroup_root_free(root);
}

static void bystanders_come_along(void unused **state)
{
    _cleanup_(cgroup_root_freep) struct cgroup_root *root = NULL;
    _cleanup_free_ char *content = NULL;
    pid_t pid;

    need_cgroups();
    pid = fork();
    if (pid == 0) {
        (void) pause();
        _exit(0);
    }
    root = open_root();
    assert_int_equal(store_read(own.fd, "cgroup.procs", 1000, &content, NULL), 0);
    assert_string_equal(content, "");
    assert_int_equal(kill(pid, SIGKILL), 0);
}

static void life_of_a_group(void unused **state)
{
    struct scene s;
    pid_t *pids = NULL;
    size_t n = 0;

    set_scene(&s);
    assert_true(exists("server-7"));
    assert_false(cgroup_populated(s.group));
    assert_int_equal(cgroup_pids(s.group, 10, &pids, &n), 0);
    assert_int_equal(n, 0);

    spawn(&s, "exec sleep 1000");
    assert_true(cgroup_populated(s.group));
    assert_true(cgroup_contains(s.group, child_pid(s.child)));
    assert_false(cgroup_contains(s.group, getpid()));
    assert_false(cgroup_contains(s.group, 0x7ffffff0));
    assert_int_equal(cgroup_pids(s.group, 10, &pids, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(pids[0], child_pid(s.child));
    free(pids);
    world_run_quietly(s.loop, 50 * USEC_PER_MSEC);

    assert_int_equal(cgroup_kill(s.group), 0);
    world_run_to_stop(s.loop);
    assert_false(cgroup_populated(s.group));
    world_run_quietly(s.loop, 50 * USEC_PER_MSEC);
    assert_int_equal(s.empties, 1);
    assert_int_equal(s.ends, 1);
    clear_scene(&s);
    assert_false(exists("server-7"));
}

static void similar_names_are_different_groups(void unused **state)
{
    struct scene s;
    struct cgroup *seven, *other = NULL;

    set_scene(&s);
    assert_int_equal(cgroup_new(s.root, s.loop, 77, NULL, NULL, &other), 0);
    spawn(&s, "exec sleep 1000");
    assert_false(cgroup_contains(other, child_pid(s.child)));
    assert_int_equal(child_signal(s.child, SIGKILL), 0);
    world_run_to_stop(s.loop);
    seven = steal_pointer(&s.group);
    s.group = other;
    spawn(&s, "exec sleep 1000");
    assert_true(cgroup_contains(other, child_pid(s.child)));
    assert_false(cgroup_contains(seven, child_pid(s.child)));
    cgroup_free(seven);
    clear_scene(&s);
    assert_true(exists("server-77")); /* somebody lives in it */
    assert_false(exists("server-7"));
}

/* However fast it goes, the end of the last process is told, and told once. */
static void brief_lives_are_told_once(void unused **state)
{
    struct scene s;

    set_scene(&s);
    for (int round = 1; round <= 30; round++) {
        spawn(&s, round % 2 ? "exit 0" : "true & sleep 0.01");
        if (round % 3 == 0)
            (void) poll(NULL, 0, 15); /* all is over before the loop looks */
        world_run_to_stop(s.loop);
        world_run_quietly(s.loop, 25 * USEC_PER_MSEC);
        assert_int_equal(s.empties, 1);
        cgroup_free(s.group);
        s.group = NULL;
        s.empties = 0;
        assert_int_equal(cgroup_new(s.root, s.loop, 7, on_empty, &s, &s.group), 0);
    }
    clear_scene(&s);
}

static void empty_group_is_silent(void unused **state)
{
    struct scene s;

    set_scene(&s);
    assert_int_equal(cgroup_signal(s.group, SIGTERM), 0);
    assert_int_equal(cgroup_kill(s.group), 0);
    world_run_quietly(s.loop, 30 * USEC_PER_MSEC);
    clear_scene(&s);
}

static void refilled_group_is_told_again(void unused **state)
{
    struct scene s;

    set_scene(&s);
    for (int round = 1; round <= 2; round++) {
        spawn(&s, "exec sleep 1000");
        world_run_quietly(s.loop, 50 * USEC_PER_MSEC);
        assert_int_equal(cgroup_signal(s.group, SIGTERM), 0);
        world_run_to_stop(s.loop);
        assert_int_equal(s.empties, round);
    }
    clear_scene(&s);
}

static void on_empty_frees(void *userdata)
{
    struct scene *s = userdata;

    cgroup_free(s->group);
    s->group = NULL;
    loop_stop(s->loop);
}

static void callback_may_free(void unused **state)
{
    struct scene s;

    need_cgroups();
    s = (struct scene){.loop = world_loop(), .root = open_root()};
    assert_int_equal(cgroup_new(s.root, s.loop, 7, on_empty_frees, &s, &s.group), 0);
    spawn(&s, "exit 0");
    world_run_to_stop(s.loop);
    assert_null(s.group);
    assert_false(exists("server-7"));
    clear_scene(&s);
}

/* The processes of a group that the server itself made are the server's. */
static void groups_below(void unused **state)
{
    struct scene s;
    char script[256];
    uint64_t n = 0;
    int fd;

    set_scene(&s);
    (void) snprintf(script, sizeof(script),
                    "cd /proc/%d/fd/%d && mkdir -p a/b c && "
                    "{ sleep 1000 & echo $! >a/b/cgroup.procs; wait; }",
                    (int) getpid(), cgroup_fd(s.group));
    spawn(&s, script);
    fd = cgroup_fd(s.group);
    while (cgroup_fs_number(fd, "a/b/cgroup.events", "populated", &n) < 0 || n == 0)
        (void) poll(NULL, 0, 1);
    assert_int_equal(count_pids(s.group), 2);
    assert_int_equal(cgroup_signal(s.group, SIGTERM), 0);
    world_run_to_stop(s.loop);
    assert_int_equal(s.empties, 1);
    clear_scene(&s);
    assert_false(exists("server-7"));
}

static void too_deep_a_group_is_refused(void unused **state)
{
    _cleanup_strbuf_ struct strbuf path = {};
    struct scene s;
    int r = 0;

    set_scene(&s);
    for (int depth = 0; r == 0 && depth <= CGROUP_FS_DEPTH; depth++) {
        strbuf_appendf(&path, "%sx", depth > 0 ? "/" : "");
        r = mkdirat(cgroup_fd(s.group), path.data, 0755);
    }
    assert_int_equal(r, -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(path.len, 2 * CGROUP_FS_DEPTH + 1);
    clear_scene(&s);
    assert_false(exists("server-7"));
}

/* Whatever is forked between two looks at the group is found by the next. Those that fork are the
 * last to get the signal, since they started after many others. */
static void signal_catches_up_with_forks(void unused **state)
{
    struct scene s;

    set_scene(&s);
    spawn(&s, "i=0; while [ $i -lt 500 ]; do sleep 1000 & i=$((i+1)); done;"
              "for i in 1 2 3 4 5 6 7 8; do { while :; do sleep 1000 & done; } & done; wait");
    wait_for_pids(s.group, 550);
    assert_int_equal(cgroup_signal(s.group, SIGTERM), 0);
    world_run_to_stop(s.loop);
    assert_int_equal(s.empties, 1);
    clear_scene(&s);
}

/* How many of a queued signal come until there is none for a while. */
static int count_signals(const sigset_t *set, int ready_fd)
{
    const struct timespec first = {.tv_sec = 60}, more = {.tv_nsec = 200000000};
    int n = 0;

    if (write(ready_fd, "", 1) != 1)
        return 200;
    while (sigtimedwait(set, NULL, n == 0 ? &first : &more) > 0)
        n++;
    return n;
}

static void signal_is_sent_once(void unused **state)
{
    _cleanup_close_ int reader = -1, writer = -1;
    struct scene s;
    sigset_t set, before;
    int status;
    char ready;
    pid_t pid;

    set_scene(&s);
    world_pipe(&reader, &writer);
    (void) sigemptyset(&set);
    (void) sigaddset(&set, SIGRTMIN);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
    pid = fork();
    if (pid == 0) {
        int r = cgroup_fs_write(cgroup_fd(s.group), "cgroup.procs", "0");

        _exit(r < 0 ? 201 : count_signals(&set, writer));
    }
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(read(reader, &ready, 1), 1);
    assert_int_equal(cgroup_signal(s.group, SIGRTMIN), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    clear_scene(&s);
}

static void pids_are_limited(void unused **state)
{
    struct scene s;
    pid_t *pids = NULL;
    size_t n = 0;

    set_scene(&s);
    spawn(&s, "for i in 1 2 3 4 5; do sleep 1000 & done; wait");
    wait_for_pids(s.group, 6);
    assert_int_equal(cgroup_pids(s.group, 4, &pids, &n), 0);
    assert_int_equal(n, 4);
    for (size_t i = 1; i < n; i++)
        assert_true(pids[i - 1] < pids[i]);
    free(pids);
    clear_scene(&s);
}

static void leftovers_are_killed(void unused **state)
{
    struct scene s;
    pid_t pid;

    set_scene(&s);
    spawn(&s, "trap '' TERM HUP; sleep 1000 & sleep 1000 & wait");
    wait_for_pids(s.group, 3);
    pid = child_pid(s.child);
    assert_int_equal(mkdirat(cgroup_fd(s.group), "below", 0755), 0);
    assert_int_equal(mkdirat(own.fd, "server-empty", 0755), 0);
    assert_int_equal(mkdirat(own.fd, "other", 0755), 0);
    clear_scene(&s);
    assert_true(exists("server-7"));

    cgroup_root_free(open_root());
    assert_false(exists("server-7"));
    assert_false(exists("server-empty"));
    assert_true(exists("other"));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void stale_group_is_replaced(void unused **state)
{
    struct scene s;

    need_cgroups();
    s = (struct scene){.loop = world_loop(), .root = open_root()};
    assert_int_equal(mkdirat(own.fd, "server-3", 0755), 0);
    assert_int_equal(mkdirat(own.fd, "server-3/below", 0755), 0);
    assert_int_equal(cgroup_new(s.root, s.loop, 3, on_empty, &s, &s.group), 0);
    assert_false(exists("server-3/below"));
    clear_scene(&s);
}

/* A group that somebody lives in is not taken over. */
static void occupied_group_is_refused(void unused **state)
{
    struct scene s;
    struct cgroup *twin = NULL;

    set_scene(&s);
    spawn(&s, "exec sleep 1000");
    assert_int_equal(cgroup_new(s.root, s.loop, 7, on_empty, &s, &twin), -EEXIST);
    assert_null(twin);
    assert_int_equal(count_pids(s.group), 1);
    clear_scene(&s);
}

static const struct number_row {
    const char *content;
    const char *key;
    int expected;
    uint64_t number;
} number_rows[] = {
    {"low 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n", "oom_kill", 0, 2},
    {"low 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n", "oom", 0, 3},
    {"populated 1\nfrozen 0\n", "populated", 0, 1},
    {"populated 18446744073709551615", "populated", 0, UINT64_MAX},
    {"populated 1\nfrozen 0\n", "oom_kill", -ENOENT, 0},
    {"unpopulated 1\n", "populated", -ENOENT, 0},
    {"populated\n", "populated", -ENOENT, 0},
    {"populated yes\n", "populated", -EINVAL, 0},
    {"", "populated", -ENOENT, 0},
};

static void numbers_are_read(void unused **state)
{
    char *directory = scratch_new();
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t number = 0;

    assert_int_equal(cgroup_fs_number(fd, "file", "populated", &number), -ENOENT);
    for (size_t i = 0; i < ARRAY_SIZE(number_rows); i++) {
        const struct number_row *row = &number_rows[i];

        number = 0;
        scratch_write(fd, "file", row->content, strlen(row->content));
        assert_row(row->content, cgroup_fs_number(fd, "file", row->key, &number) == row->expected);
        assert_row(row->content, number == row->number);
    }
    close_fd(fd);
    scratch_remove(directory);
}

static void oom_kills_are_counted(void unused **state)
{
    struct scene s;

    set_scene(&s);
    assert_int_equal(cgroup_oom_kills(s.group), 0);
    if (cgroup_fs_write(cgroup_fd(s.group), "memory.max", "16M") < 0) {
        clear_scene(&s);
        print_message("the memory controller is not to be had here\n");
        skip();
    }
    (void) cgroup_fs_write(cgroup_fd(s.group), "memory.swap.max", "0");
    spawn(&s, "exec tail /dev/zero");
    world_run_to_stop(s.loop);
    assert_true(cgroup_oom_kills(s.group) > 0);
    clear_scene(&s);
}

/* For where nothing may be asserted. */
static int open_elsewhere(int expected, const char *expected_why)
{
    struct cgroup_root *root = NULL;
    const char *why = NULL;
    int r = cgroup_root_open(false, &root, &why);

    if (r == expected && str_equal(why, expected_why))
        return 0;
    (void) dprintf(STDERR_FILENO, "%d instead of %d: %s\n", r, expected, str_or_empty(why));
    return 1;
}

/* Mount points of cgroup v2, the last mounted first. */
static int change_mounts(int (*change)(const char *point))
{
    _cleanup_free_ char *mountinfo = read_proc("/proc/self/mountinfo");
    _cleanup_strv_ char **points = NULL;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -1;
    if (!mountinfo || cgroup_find_directories(mountinfo, "", &points) < 0)
        return -1;
    for (size_t i = strv_length(points); i > 0; i--) {
        if (change(points[i - 1]) < 0)
            return -1;
    }
    return 0;
}

static int make_read_only(const char *point)
{
    return mount(NULL, point, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
}

static int unmount(const char *point)
{
    return umount2(point, MNT_DETACH);
}

static int open_read_only(void unused *data)
{
    if (change_mounts(make_read_only) < 0)
        return 77;
    return open_elsewhere(-EROFS, "the cgroup file system is read-only");
}

static int open_unmounted(void unused *data)
{
    if (change_mounts(unmount) < 0)
        return 77;
    return open_elsewhere(-EOPNOTSUPP, "there is no cgroup v2 that we can see");
}

static void in_other_surroundings(int (*fn)(void *))
{
    int r;

    need_cgroups();
    r = world_in_process(fn, NULL);
    if (r == 77) {
        print_message("no right to make namespaces\n");
        skip();
    }
    assert_int_equal(r, 0);
}

static void read_only_hierarchy(void unused **state)
{
    in_other_surroundings(open_read_only);
    assert_false(exists("supervisor"));
}

static void no_hierarchy(void unused **state)
{
    in_other_surroundings(open_unmounted);
}

/* PID 1 with a cgroup namespace and mounts of its own: a container. */
static int open_as_init(void unused *data)
{
    if (mount("proc", "/proc", "proc", 0, NULL) < 0 ||
        mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) < 0)
        return 77;
    return open_elsewhere(0, NULL);
}

static int open_in_container(void unused *data)
{
    if (fremovexattr(own.fd, "user.delegate") < 0)
        return 2;
    if (unshare(CLONE_NEWCGROUP | CLONE_NEWPID | CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    return world_in_process(open_as_init, NULL);
}

static void container_owns_its_tree(void unused **state)
{
    in_other_surroundings(open_in_container);
    assert_true(exists("supervisor"));
}

static int make_group(void *data)
{
    struct scene *s = data;
    _cleanup_(cgroup_freep) struct cgroup *g = NULL;

    return cgroup_new(s->root, s->loop, 8, on_empty, s, &g);
}

static int make_root(void unused *data)
{
    _cleanup_(cgroup_root_freep) struct cgroup_root *root = NULL;
    const char *why = NULL;
    int r = cgroup_root_open(false, &root, &why);

    return r;
}

static void memory_runs_out(void unused **state)
{
    struct scene s;
    size_t fds;

    set_scene(&s);
    fds = world_count_fds();
    assert_int_equal(chaos_each(make_group, &s), 4);
    assert_false(exists("server-8"));
    assert_int_equal(world_count_fds(), fds);
    clear_scene(&s);
}

static void memory_runs_out_while_opening(void unused **state)
{
    need_cgroups();
    chaos_each(make_root, NULL);
}

#define CGROUP_TEST(fn) cmocka_unit_test_setup_teardown(fn, enter_own, go_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CGROUP_TEST(root_is_found_and_settled),
        CGROUP_TEST(one_supervisor_at_a_time),
        CGROUP_TEST(only_what_is_delegated),
        CGROUP_TEST(to_a_users_unit_what_belongs_to_the_user),
        CGROUP_TEST(bystanders_come_along),
        CGROUP_TEST(life_of_a_group),
        CGROUP_TEST(similar_names_are_different_groups),
        CGROUP_TEST(brief_lives_are_told_once),
        CGROUP_TEST(empty_group_is_silent),
        CGROUP_TEST(refilled_group_is_told_again),
        CGROUP_TEST(callback_may_free),
        CGROUP_TEST(groups_below),
        CGROUP_TEST(too_deep_a_group_is_refused),
        CGROUP_TEST(signal_catches_up_with_forks),
        CGROUP_TEST(signal_is_sent_once),
        CGROUP_TEST(pids_are_limited),
        CGROUP_TEST(leftovers_are_killed),
        CGROUP_TEST(stale_group_is_replaced),
        CGROUP_TEST(occupied_group_is_refused),
        cmocka_unit_test(numbers_are_read),
        CGROUP_TEST(oom_kills_are_counted),
        CGROUP_TEST(read_only_hierarchy),
        CGROUP_TEST(no_hierarchy),
        CGROUP_TEST(container_owns_its_tree),
        CGROUP_TEST(memory_runs_out),
        CGROUP_TEST(memory_runs_out_while_opening),
    };

    return world_run_group("port_cgroup", tests);
}
