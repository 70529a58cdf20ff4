/* SPDX-License-Identifier: MIT */
#include "port/proctree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "port/procinfo.h"

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

static bool read_parent(pid_t pid, pid_t *ret_parent)
{
    struct procinfo_stat stat;

    if (procinfo_stat(pid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X')
        return false;
    *ret_parent = stat.parent;
    return true;
}

static int table_read(struct table *t)
{
    _cleanup_free_ int *pids = NULL;
    size_t n;
    int r = procinfo_numbers("/proc", SIZE_MAX, &pids, &n);

    for (size_t i = 0; r == 0 && i < n; i++) {
        pid_t parent;

        if (read_parent(pids[i], &parent))
            r = table_add(t, pids[i], parent);
    }
    return r;
}

/* What is asked for. */
struct query {
    pid_t root;
    proctree_spare_fn spare;
    const void *userdata;
};

static bool descends(const struct table *t, const struct process *p, const struct query *q)
{
    if (p->parent == q->root)
        return !q->spare || !q->spare(p->pid, q->userdata);
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].pid == p->parent)
            return t->rows[i].descends;
    return false;
}

/* A pass marks the children of what is marked; depth bounds the number of passes. */
static size_t table_mark(struct table *t, const struct query *q)
{
    size_t marked = 0, before;

    do {
        before = marked;
        for (size_t i = 0; i < t->n; i++) {
            struct process *p = &t->rows[i];

            if (!p->descends && descends(t, p, q)) {
                p->descends = true;
                marked++;
            }
        }
    } while (marked != before);
    return marked;
}

int proctree_descendants(pid_t root, proctree_spare_fn spare, const void *userdata, size_t max, pid_t **ret,
                         size_t *ret_n)
{
    struct query q = { .root = root, .spare = spare, .userdata = userdata };
    _cleanup_(table_release) struct table t = {};
    size_t n, filled = 0;
    pid_t *pids;
    int r;

    r = table_read(&t);
    if (r < 0)
        return r;
    n = MIN(table_mark(&t, &q), max);
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
