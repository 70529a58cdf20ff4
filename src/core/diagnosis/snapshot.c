/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/snapshot.h"

#include <errno.h>

#include "base/str.h"

static void process_release(struct snapshot_process *p)
{
    for (size_t i = 0; i < p->n_waits; i++)
        free(p->waits[i].channel);
    free(p->waits);
    free(p->name);
    strv_free(p->stack);
}

void snapshot_release(struct snapshot *s)
{
    for (size_t i = 0; i < s->n; i++)
        process_release(&s->processes[i]);
    free(s->processes);
    strv_free(s->sockets);
    *s = (struct snapshot){};
}

static struct snapshot_wait *find_wait(const struct snapshot_process *p, char state, const char *channel)
{
    for (size_t i = 0; i < p->n_waits; i++) {
        if (p->waits[i].state == state && str_equal(p->waits[i].channel, channel))
            return &p->waits[i];
    }
    return NULL;
}

int snapshot_add_wait(struct snapshot_process *p, char state, const char *channel, size_t max)
{
    struct snapshot_wait *wait = find_wait(p, state, channel), *more;
    char *copy;

    if (wait) {
        wait->threads++;
        return 0;
    }
    if (p->n_waits == max)
        return 0;
    more = reallocarray(p->waits, p->n_waits + 1, sizeof(*more));
    if (!more)
        return -ENOMEM;
    p->waits = more;
    copy = strdup(channel);
    if (!copy)
        return -ENOMEM;
    p->waits[p->n_waits++] = (struct snapshot_wait){.state = state, .channel = copy, .threads = 1};
    return 0;
}

const char *snapshot_state_text(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'D':
        return "in uninterruptible sleep";
    case 'T':
    case 't':
        return "stopped";
    case 'Z':
    case 'X':
        return "dead";
    case 'I':
        return "idle";
    default:
        return "in a state of its own";
    }
}

/* A process with a thread that cannot be interrupted; *ret is where that waits. */
static const struct snapshot_process *find_stuck(const struct snapshot *s, const char **ret_channel)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->processes[i].n_waits; k++) {
            if (s->processes[i].waits[k].state != 'D')
                continue;
            *ret_channel = s->processes[i].waits[k].channel;
            return &s->processes[i];
        }
    }
    return NULL;
}

char *snapshot_describe_stuck(const struct snapshot *s)
{
    const char *channel = NULL;
    const struct snapshot_process *p = find_stuck(s, &channel);
    struct strbuf b = {};

    if (!p && s->n > 0)
        strbuf_appendf(&b, "PID %d (%s) is left", (int) s->processes[0].pid, s->processes[0].name);
    if (!p)
        return strbuf_steal(&b);
    strbuf_appendf(&b, "PID %d (%s) is %s", (int) p->pid, p->name, snapshot_state_text('D'));
    if (!str_empty(channel))
        strbuf_appendf(&b, " in %s", channel);
    return strbuf_steal(&b);
}

static void build_waits(const struct snapshot_process *p, struct build *b, json_t *process)
{
    json_t *array = build_add_array(b, process, "threads");

    for (size_t i = 0; !b->failed && i < p->n_waits; i++) {
        json_t *wait = json_object();

        build_append(b, array, wait);
        if (b->failed)
            return;
        build_set_number(b, wait, "count", p->waits[i].threads);
        build_set_text(b, wait, "state", snapshot_state_text(p->waits[i].state));
        if (!str_empty(p->waits[i].channel))
            build_set_text(b, wait, "wait_channel", p->waits[i].channel);
    }
}

static void build_process(const struct snapshot_process *p, struct build *b, json_t *array)
{
    json_t *process = json_object();

    build_append(b, array, process);
    if (b->failed)
        return;
    build_set_number(b, process, "pid", (uint64_t) p->pid);
    build_set_number(b, process, "parent", (uint64_t) p->parent);
    build_set_text(b, process, "name", p->name);
    build_set_text(b, process, "state", snapshot_state_text(p->state));
    build_waits(p, b, process);
    if (p->stack)
        build_set_texts(b, process, "kernel_stack", p->stack);
}

void snapshot_build(const struct snapshot *s, struct build *b, json_t *object)
{
    json_t *array = build_add_array(b, object, "processes");

    for (size_t i = 0; !b->failed && i < s->n; i++)
        build_process(&s->processes[i], b, array);
    if (s->left_out > 0)
        build_set_number(b, object, "processes_left_out", s->left_out);
    build_set_texts(b, object, "sockets", s->sockets);
}
