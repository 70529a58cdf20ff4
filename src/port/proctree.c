/* SPDX-License-Identifier: MIT */
#include "port/proctree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

struct process {
    pid_t pid;
    pid_t parent;
    bool descends;
};

struct table {
    struct process *rows;
    size_t n;
    size_t allocated;
};

static void table_release(struct table *t)
{
    free(t->rows);
}

static void close_dirp(DIR **d)
{
    if (*d)
        (void) closedir(*d);
}

static int table_add(struct table *t, pid_t pid, pid_t parent)
{
    if (t->n == t->allocated) {
        size_t more = t->allocated ? t->allocated * 2 : 256;
        struct process *rows = reallocarray(t->rows, more, sizeof *rows);

        if (!rows)
            return -ENOMEM;
        t->rows = rows;
        t->allocated = more;
    }
    t->rows[t->n++] = (struct process){ .pid = pid, .parent = parent };
    return 0;
}

/* The command name stands in parentheses and may itself hold any byte: the last ')' ends it. */
static bool read_parent(int proc_fd, const char *name, pid_t *ret_parent)
{
    char path[300], text[512];
    _cleanup_close_ int fd = -1;
    const char *after;
    ssize_t n;

    (void) snprintf(path, sizeof path, "%s/stat", name);
    fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    after = strrchr(text, ')'); /* ") S PPID ..." */
    if (!after || strlen(after) < strlen(") S 1"))
        return false;
    *ret_parent = (pid_t) strtol(after + strlen(") S "), NULL, 10);
    return after[2] != 'Z' && after[2] != 'X';
}

static int table_read(struct table *t)
{
    _cleanup_(close_dirp) DIR *proc = opendir("/proc");
    struct dirent *entry;

    if (!proc)
        return -errno;
    while ((entry = readdir(proc))) {
        pid_t parent;
        int r;

        if (!isdigit((unsigned char) entry->d_name[0]) || !read_parent(dirfd(proc), entry->d_name, &parent))
            continue;
        r = table_add(t, (pid_t) strtol(entry->d_name, NULL, 10), parent);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool parent_descends(const struct table *t, pid_t parent, pid_t root)
{
    if (parent == root)
        return true;
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].pid == parent)
            return t->rows[i].descends;
    return false;
}

/* A pass marks the children of what is marked; depth bounds the number of passes. */
static size_t table_mark(struct table *t, pid_t root)
{
    size_t marked = 0, before;

    do {
        before = marked;
        for (size_t i = 0; i < t->n; i++) {
            struct process *p = &t->rows[i];

            if (!p->descends && parent_descends(t, p->parent, root)) {
                p->descends = true;
                marked++;
            }
        }
    } while (marked != before);
    return marked;
}

int proctree_descendants(pid_t root, size_t max, pid_t **ret, size_t *ret_n)
{
    _cleanup_(table_release) struct table t = {};
    size_t n, filled = 0;
    pid_t *pids;
    int r;

    r = table_read(&t);
    if (r < 0)
        return r;
    n = MIN(table_mark(&t, root), max);
    pids = calloc(n ? n : 1, sizeof *pids);
    if (!pids)
        return -ENOMEM;
    for (size_t i = 0; i < t.n && filled < n; i++)
        if (t.rows[i].descends)
            pids[filled++] = t.rows[i].pid;
    *ret = pids;
    *ret_n = n;
    return 0;
}
