/* SPDX-License-Identifier: MIT */
#include "port/process_look.h"

#include <errno.h>

#include "base/str.h"
#include "port/process_sockets.h"
#include "port/procinfo.h"

#define PROCESSES_MAX 64
#define THREADS_MAX 512
#define WAITS_MAX 24
#define STACK_MAX_LINES 40
#define STACK_MAX_BYTES 8192
#define CHANNEL_MAX_BYTES 128

/* /proc/PID/task/TID/NAME, cut to what fits. */
static int read_of_thread(pid_t pid, pid_t tid, const char *name, char *buf, size_t size)
{
    char entry[64];

    (void) snprintf(entry, sizeof entry, "task/%d/%s", (int) tid, name);
    return procinfo_read(pid, entry, buf, size);
}

/* Where it waits; "" for "0", which is what the kernel says of one that runs. */
static void read_channel(pid_t pid, pid_t tid, char buf[CHANNEL_MAX_BYTES])
{
    if (read_of_thread(pid, tid, "wchan", buf, CHANNEL_MAX_BYTES) < 0 || str_equal(buf, "0"))
        buf[0] = '\0';
}

/* Lines are "[<0>] function+0x1/0x2"; the address says nothing. */
static int add_stack_line(char ***stack, char *line)
{
    const char *after = strstr(line, "] ");

    return strv_push(stack, after ? after + 2 : line);
}

static int read_stack(pid_t pid, pid_t tid, char ***ret)
{
    _cleanup_strv_ char **stack = NULL;
    char text[STACK_MAX_BYTES];
    char *rest = NULL;
    int r = 0;

    if (read_of_thread(pid, tid, "stack", text, sizeof text) < 0)
        return 0;
    for (char *line = strtok_r(text, "\n", &rest); r == 0 && line && strv_length(stack) < STACK_MAX_LINES;
         line = strtok_r(NULL, "\n", &rest))
        r = add_stack_line(&stack, line);
    if (r == 0)
        *ret = steal_pointer(&stack);
    return r;
}

/* The thread whose stack is the most telling one. */
struct choice {
    pid_t tid;
    bool uninterruptible;
};

static int look_at_thread(struct snapshot_process *p, pid_t tid, struct choice *choice)
{
    char channel[CHANNEL_MAX_BYTES];
    struct procinfo_stat stat;

    if (procinfo_stat_of_thread(p->pid, tid, &stat) < 0)
        return 0;
    read_channel(p->pid, tid, channel);
    if (stat.state == 'D' && !choice->uninterruptible)
        *choice = (struct choice){ .tid = tid, .uninterruptible = true };
    return snapshot_add_wait(p, stat.state, channel, WAITS_MAX);
}

static int look_at_threads(struct snapshot_process *p)
{
    struct choice choice = { .tid = p->pid };
    _cleanup_free_ int *tids = NULL;
    char path[64];
    size_t n = 0;
    int r;

    (void) snprintf(path, sizeof path, "/proc/%d/task", (int) p->pid);
    if (procinfo_numbers(path, THREADS_MAX, &tids, &n) == -ENOMEM)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        r = look_at_thread(p, tids[i], &choice);
        if (r < 0)
            return r;
    }
    return read_stack(p->pid, choice.tid, &p->stack);
}

/* 1: it is in the snapshot now; 0: there is no such process. */
static int look_at(struct snapshot *s, pid_t pid)
{
    struct snapshot_process *p = &s->processes[s->n];
    char name[PROCINFO_COMM_MAX];
    struct procinfo_stat stat;

    if (procinfo_stat(pid, &stat) < 0 || procinfo_comm(pid, name) < 0)
        return 0;
    *p = (struct snapshot_process){
        .pid = pid, .parent = stat.parent, .state = stat.state, .name = strdup(name)
    };
    s->n++;
    if (!p->name)
        return -ENOMEM;
    return look_at_threads(p) < 0 ? -ENOMEM : 1;
}

int process_look(const pid_t *pids, size_t n, struct snapshot *ret)
{
    _cleanup_(snapshot_release) struct snapshot s = {};
    int r = 0;

    s.processes = calloc(MIN(n, (size_t) PROCESSES_MAX) + 1, sizeof *s.processes);
    if (!s.processes)
        return -ENOMEM;
    for (size_t i = 0; i < n && r >= 0; i++) {
        if (s.n == PROCESSES_MAX)
            s.left_out++;
        else
            r = look_at(&s, pids[i]);
    }
    if (r >= 0)
        r = process_sockets(pids, MIN(n, (size_t) PROCESSES_MAX), &s.sockets);
    if (r < 0)
        return r;
    *ret = s;
    s = (struct snapshot){};
    return 0;
}
