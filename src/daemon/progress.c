/* SPDX-License-Identifier: MIT */
#include "daemon/progress.h"

#include <errno.h>

#include "base/str.h"
#include "port/procinfo.h"

#define LOOKS_PER_STALL 6
#define LOOK_MAX_USEC (10 * USEC_PER_SEC)
#define PROCESSES_MAX 4096
/* Less than this between two looks is the ticking of idle event loops and heartbeats. */
#define WORK_MIN_BYTES ((uint64_t) 256 * 1024)

struct sample {
    uint64_t bytes;
    uint64_t pids; /* a sum that changes when processes come or go */
    bool compiling;
};

struct progress {
    struct loop_timer *timer;
    usec_t pause_usec;
    progress_fn fn;
    void *userdata;
    const struct processes *processes; /* NULL: not looking */
    struct sample last;
};

/* The back ends that do the long silent work of a JIT build, as the kernel names them. */
static bool is_compiler(const char *comm)
{
    static const char *const names[] = { "nvcc", "cicc", "ptxas", "cudafe++", "nvlink", "fatbinary",
                                         "cc1plus", "cc1", "clang", "clang++", "ld", "lld", "ld.lld",
                                         "hipcc", "ninja", "tileiras" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_equal(comm, names[i]))
            return true;
    return false;
}

static void sample_process(struct sample *s, pid_t pid)
{
    char comm[PROCINFO_COMM_MAX];
    uint64_t bytes;

    s->pids += (uint64_t) pid;
    if (procinfo_io(pid, &bytes) == 0)
        s->bytes += bytes;
    if (procinfo_comm(pid, comm) == 0 && is_compiler(comm))
        s->compiling = true;
}

static struct sample take_sample(const struct processes *processes)
{
    _cleanup_free_ pid_t *pids = NULL;
    struct sample s = {};
    size_t n = 0;

    if (processes_pids(processes, PROCESSES_MAX, &pids, &n) < 0)
        return s;
    for (size_t i = 0; i < n; i++)
        sample_process(&s, pids[i]);
    return s;
}

static bool worked(const struct sample *before, const struct sample *now)
{
    uint64_t bytes = now->bytes > before->bytes ? now->bytes - before->bytes : 0;

    return now->compiling || now->pids != before->pids || bytes >= WORK_MIN_BYTES;
}

static void look_again(struct progress *p)
{
    loop_timer_set(p->timer, usec_add(loop_now().monotonic, p->pause_usec));
}

static void on_timer(void *userdata)
{
    struct progress *p = userdata;
    struct sample now = take_sample(p->processes);
    bool work = worked(&p->last, &now);

    p->last = now;
    look_again(p);
    if (work)
        p->fn(p->userdata);
}

void progress_set_stall(struct progress *p, usec_t stall_usec)
{
    p->pause_usec = MIN(stall_usec / LOOKS_PER_STALL, LOOK_MAX_USEC);
}

int progress_new(struct loop *l, usec_t stall_usec, progress_fn fn, void *userdata, struct progress **ret)
{
    _cleanup_(progress_freep) struct progress *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    progress_set_stall(p, stall_usec);
    p->fn = fn;
    p->userdata = userdata;
    r = loop_timer_new(l, on_timer, p, &p->timer);
    if (r < 0)
        return r;
    *ret = steal_pointer(&p);
    return 0;
}

void progress_begin(struct progress *p, const struct processes *processes)
{
    p->processes = processes;
    p->last = take_sample(processes);
    look_again(p);
}

void progress_end(struct progress *p)
{
    p->processes = NULL;
    loop_timer_set(p->timer, USEC_INFINITY);
}

void progress_free(struct progress *p)
{
    if (!p)
        return;
    loop_timer_free(p->timer);
    free(p);
}
