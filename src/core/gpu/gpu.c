/* SPDX-License-Identifier: MIT */
#include "core/gpu/gpu.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"

#define DEVICES_MAX 256
#define HOLDERS_MAX 512
#define NAME_MAX_BYTES ((size_t) 64)

/* So much more than before is no server's: contexts of monitors, a display. */
#define SLACK_BYTES (UINT64_C(256) << 20)
#define SLACK_PARTS 100 /* or one of so many parts of the device, if that is more */

#define GIB (UINT64_C(1) << 30)
#define HOLDERS_SHOWN 4

void gpu_state_release(struct gpu_state *s)
{
    for (size_t i = 0; i < s->n_devices; i++) {
        free(s->devices[i].name);
        free(s->devices[i].uuid);
    }
    for (size_t i = 0; i < s->n_holders; i++) {
        free(s->holders[i].process);
        free(s->holders[i].device);
    }
    free(s->devices);
    free(s->holders);
    *s = (struct gpu_state){};
}

int gpu_add_device(struct gpu_state *s, const char *name, const char *uuid, uint64_t used, uint64_t total)
{
    struct gpu_device *more, d = {.used = used, .total = total};

    if (s->n_devices == DEVICES_MAX)
        return 0;
    more = reallocarray(s->devices, s->n_devices + 1, sizeof(*more));
    if (!more)
        return -ENOMEM;
    s->devices = more;
    d.name = strndup(str_or_empty(name), NAME_MAX_BYTES);
    d.uuid = strndup(str_or_empty(uuid), NAME_MAX_BYTES);
    if (!d.name || !d.uuid) {
        free(d.name);
        free(d.uuid);
        return -ENOMEM;
    }
    s->devices[s->n_devices++] = d;
    return 0;
}

/* Arguments may hold secrets and are nobody's business here. */
static char *first_word(const char *name)
{
    return strndup(name, MIN(strcspn(name, " \t"), NAME_MAX_BYTES));
}

int gpu_add_holder(struct gpu_state *s, pid_t pid, const char *process, const char *device, uint64_t used)
{
    struct gpu_holder *more, h = {.pid = pid, .used = used};

    if (s->n_holders == HOLDERS_MAX)
        return 0;
    more = reallocarray(s->holders, s->n_holders + 1, sizeof(*more));
    if (!more)
        return -ENOMEM;
    s->holders = more;
    h.process = first_word(str_or_empty(process));
    h.device = strndup(str_or_empty(device), NAME_MAX_BYTES);
    if (!h.process || !h.device) {
        free(h.process);
        free(h.device);
        return -ENOMEM;
    }
    s->holders[s->n_holders++] = h;
    return 0;
}

uint64_t gpu_used(const struct gpu_state *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n_devices; i++)
        sum = sum > UINT64_MAX - s->devices[i].used ? UINT64_MAX : sum + s->devices[i].used;
    return sum;
}

static struct gpu_device *find(const struct gpu_state *s, const char *name)
{
    for (size_t i = 0; i < s->n_devices; i++) {
        if (str_equal(s->devices[i].name, name))
            return &s->devices[i];
    }
    return NULL;
}

static bool is_held(const struct gpu_state *before, const struct gpu_device *now)
{
    const struct gpu_device *then = find(before, now->name);
    uint64_t slack = MAX(SLACK_BYTES, now->total / SLACK_PARTS);

    return then && now->used > then->used && now->used - then->used > slack;
}

bool gpu_freed(const struct gpu_state *before, const struct gpu_state *now)
{
    for (size_t i = 0; i < now->n_devices; i++) {
        if (is_held(before, &now->devices[i]))
            return false;
    }
    return true;
}

static void append_size(struct strbuf *b, uint64_t bytes)
{
    uint64_t tenths = bytes / GIB * 10 + bytes % GIB * 10 / GIB;

    strbuf_appendf(b, "%" PRIu64 ".%" PRIu64 " GiB", tenths / 10, tenths % 10);
}

static void append_holder(struct strbuf *b, const struct gpu_holder *h)
{
    strbuf_appendf(b, ", PID %d", (int) h->pid);
    if (!str_empty(h->process))
        strbuf_appendf(b, " (%s)", h->process);
    strbuf_append(b, " holds ");
    if (h->used > 0)
        append_size(b, h->used);
    else
        strbuf_append(b, "some of it");
}

static void append_holders(struct strbuf *b, const struct gpu_state *s, const struct gpu_device *d)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < s->n_holders; i++) {
        const struct gpu_holder *h = &s->holders[i];

        if (!str_empty(h->device) && !str_equal(h->device, d->uuid) && !str_equal(h->device, d->name))
            continue;
        if (shown == HOLDERS_SHOWN)
            more++;
        else
            append_holder(b, h);
        shown = MIN(shown + 1, (size_t) HOLDERS_SHOWN);
    }
    if (more > 0)
        strbuf_appendf(b, " and %zu more", more);
    if (shown == 0)
        strbuf_append(b, ", and no process is known to hold it");
}

char *gpu_describe_held(const struct gpu_state *before, const struct gpu_state *now)
{
    struct strbuf b = {};

    for (size_t i = 0; i < now->n_devices; i++) {
        const struct gpu_device *d = &now->devices[i];

        if (!is_held(before, d))
            continue;
        strbuf_appendf(&b, "%sGPU %s: ", b.len > 0 ? "; " : "", d->name);
        append_size(&b, d->used);
        strbuf_append(&b, " in use, ");
        append_size(&b, find(before, d->name)->used);
        strbuf_append(&b, " before");
        append_holders(&b, now, d);
    }
    return strbuf_steal(&b);
}

void gpu_lower(struct gpu_state *before, const struct gpu_state *now)
{
    for (size_t i = 0; i < before->n_devices; i++) {
        const struct gpu_device *d = find(now, before->devices[i].name);

        if (d)
            before->devices[i].used = MIN(before->devices[i].used, d->used);
    }
}
