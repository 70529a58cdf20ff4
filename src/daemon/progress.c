/* SPDX-License-Identifier: MIT */
#include "daemon/progress.h"

#include <errno.h>

#include "base/str.h"
#include "daemon/growth.h"
#include "port/procinfo.h"

#define LOOKS_PER_STALL 6
#define LOOK_MAX_USEC (10 * USEC_PER_SEC)
/* However long a look at what grows takes, there are two of them within a stall limit. */
#define GROWTH_LOOKS_PER_STALL 2
#define PROCESSES_MAX 4096
/* Less than this between two looks is the ticking of idle event loops and heartbeats. */
#define WORK_MIN_BYTES ((uint64_t) 256 * 1024)

struct sample {
    usec_t at;
    uint64_t bytes;
    uint64_t pids; /* a sum that changes when processes come or go */
    usec_t cpu_usec;
    usec_t compiler_usec;
};

struct progress {
    struct loop_timer *timer;
    struct growth *growth;
    usec_t pause_usec;
    usec_t patience_usec;
    progress_fn fn;
    void *userdata;
    struct progress_target target; /* without processes: not looking */
    struct sample last;
    struct progress_view view;
};

static void sample_process(struct sample *s, pid_t pid, char *const *compilers)
{
    char comm[PROCINFO_COMM_MAX];
    struct procinfo_stat stat;
    uint64_t bytes;

    s->pids += (uint64_t) pid;
    if (procinfo_io(pid, &bytes) == 0)
        s->bytes += bytes;
    if (procinfo_stat(pid, &stat) < 0)
        return;
    s->cpu_usec += stat.cpu_usec;
    if (procinfo_comm(pid, comm) == 0 && strv_contains(compilers, comm))
        s->compiler_usec += stat.cpu_usec;
}

static struct sample take_sample(const struct progress_target *t)
{
    _cleanup_free_ pid_t *pids = NULL;
    struct sample s = { .at = loop_now().monotonic };
    size_t n = 0;

    if (processes_pids(t->processes, PROCESSES_MAX, &pids, &n) < 0)
        return s;
    for (size_t i = 0; i < n; i++)
        sample_process(&s, pids[i], t->compilers);
    return s;
}

/* A compiler that only sits there does not work. */
static enum sign compare(const struct sample *before, const struct sample *now)
{
    uint64_t bytes = now->bytes > before->bytes ? now->bytes - before->bytes : 0;

    if (now->compiler_usec > before->compiler_usec)
        return SIGN_COMPILER;
    if (bytes >= WORK_MIN_BYTES)
        return SIGN_BYTES;
    return now->pids != before->pids ? SIGN_PROCESSES : SIGN_NONE;
}

static unsigned cpu_percent(const struct sample *before, const struct sample *now)
{
    usec_t cpu = usec_sub(now->cpu_usec, before->cpu_usec), time = usec_sub(now->at, before->at);

    return time > 0 ? (unsigned) MIN(usec_mul(cpu, 100) / time, (usec_t) 1000000) : 0;
}

static void look_again(struct progress *p)
{
    loop_timer_set(p->timer, usec_add(loop_now().monotonic, p->pause_usec));
}

static void tell(struct progress *p, enum sign sign)
{
    progress_note(p, sign);
    p->fn(p->userdata);
}

/* Helpers that look at what grows are processes, too: no sample is taken beside them. */
static void on_timer(void *userdata)
{
    struct progress *p = userdata;
    struct sample now = take_sample(&p->target);
    enum sign sign = compare(&p->last, &now);

    p->view.cpu_percent = cpu_percent(&p->last, &now);
    p->last = now;
    if (sign != SIGN_NONE || !growth_look(p->growth, p->patience_usec))
        look_again(p);
    if (sign != SIGN_NONE)
        tell(p, sign);
}

static void on_growth(enum sign sign, void *userdata)
{
    struct progress *p = userdata;

    look_again(p);
    if (sign != SIGN_NONE)
        tell(p, sign);
}

void progress_set_stall(struct progress *p, usec_t stall_usec)
{
    p->pause_usec = MIN(stall_usec / LOOKS_PER_STALL, LOOK_MAX_USEC);
    p->patience_usec = stall_usec / GROWTH_LOOKS_PER_STALL;
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
    r = growth_new(l, on_growth, p, &p->growth);
    if (r == 0)
        r = loop_timer_new(l, on_timer, p, &p->timer);
    if (r < 0)
        return r;
    *ret = steal_pointer(&p);
    return 0;
}

void progress_begin(struct progress *p, const struct progress_target *target)
{
    p->target = *target;
    p->last = take_sample(target);
    p->view = (struct progress_view){ .when = loop_now() };
    growth_begin(p->growth, target->directories, target->environment);
    look_again(p);
}

void progress_note(struct progress *p, enum sign sign)
{
    p->view.sign = sign;
    p->view.when = loop_now();
}

struct progress_view progress_view(const struct progress *p)
{
    return p->view;
}

void progress_end(struct progress *p)
{
    p->target = (struct progress_target){};
    loop_timer_set(p->timer, USEC_INFINITY);
    growth_end(p->growth);
}

void progress_free(struct progress *p)
{
    if (!p)
        return;
    loop_timer_free(p->timer);
    growth_free(p->growth);
    free(p);
}
