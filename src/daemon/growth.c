/* SPDX-License-Identifier: MIT */
#include "daemon/growth.h"

#include <errno.h>

#include "base/str.h"
#include "port/disk_usage.h"
#include "port/gpu.h"

/* A look takes a tenth of the time at most. */
#define SPARING 10
#define LOOK_TIMEOUT_USEC USEC_PER_MINUTE
/* Less is the coming and going of other programs' contexts. */
#define GPU_MIN_BYTES (UINT64_C(16) << 20)
/* Less is a log, or a lock. */
#define CACHE_MIN_BYTES (UINT64_C(64) << 10)

/* What a gauge showed when it had grown last, or less if it has shown less since: many small steps are a large one. */
struct gauge {
    uint64_t base;
    bool known;
};

struct growth {
    struct loop *loop;
    struct loop_timer *timer; /* the end of a look, from the loop */
    growth_fn fn;
    void *userdata;
    char *const *directories;
    char *const *environment;
    struct disk_usage *usage;
    struct gpu *gpu;
    bool looking;
    usec_t began;
    usec_t next; /* not before */
    struct gauge caches, gpus;
    enum sign sign;
};

static void on_timer(void *userdata);

int growth_new(struct loop *l, growth_fn fn, void *userdata, struct growth **ret)
{
    _cleanup_(growth_freep) struct growth *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return -ENOMEM;
    *g = (struct growth){ .loop = l, .fn = fn, .userdata = userdata };
    r = gpu_new(l, &g->gpu);
    if (r == 0)
        r = loop_timer_new(l, on_timer, g, &g->timer);
    if (r < 0)
        return r;
    *ret = steal_pointer(&g);
    return 0;
}

static bool has_grown(struct gauge *gauge, uint64_t now, uint64_t least)
{
    bool grown = gauge->known && now > gauge->base && now - gauge->base >= least;

    if (!gauge->known || grown || now < gauge->base)
        gauge->base = now;
    gauge->known = true;
    return grown;
}

static void on_timer(void *userdata)
{
    struct growth *g = userdata;
    usec_t now = loop_now().monotonic;

    disk_usage_free(g->usage);
    g->usage = NULL;
    g->looking = false;
    g->next = usec_add(now, usec_mul(usec_sub(now, g->began), SPARING));
    g->fn(g->sign, g->userdata);
}

static void on_gpus(const struct gpu_state *state, void *userdata)
{
    struct growth *g = userdata;

    if (state->n_devices > 0 && has_grown(&g->gpus, gpu_used(state), GPU_MIN_BYTES))
        g->sign = SIGN_GPU;
    loop_timer_set(g->timer, 0);
}

static void look_at_gpus(struct growth *g)
{
    if (!gpu_has_tool(g->environment) || gpu_ask(g->gpu, g->environment, false, on_gpus, g) < 0)
        loop_timer_set(g->timer, 0);
}

static void on_usage(uint64_t bytes, void *userdata)
{
    struct growth *g = userdata;

    if (bytes > 0 && has_grown(&g->caches, bytes, CACHE_MIN_BYTES))
        g->sign = SIGN_CACHE;
    look_at_gpus(g);
}

static void look_at_caches(struct growth *g)
{
    if (strv_length(g->directories) == 0 ||
        disk_usage_ask(g->loop, g->directories, LOOK_TIMEOUT_USEC, on_usage, g, &g->usage) < 0)
        look_at_gpus(g);
}

void growth_begin(struct growth *g, char *const *directories, char *const *environment)
{
    growth_end(g);
    g->directories = directories;
    g->environment = environment;
    g->caches = g->gpus = (struct gauge){};
    g->next = 0;
}

bool growth_look(struct growth *g, usec_t patience_usec)
{
    usec_t now = loop_now().monotonic;

    if (g->looking)
        return true;
    if (now < g->next && now < usec_add(g->began, patience_usec))
        return false;
    g->looking = true;
    g->began = now;
    g->sign = SIGN_NONE;
    look_at_caches(g);
    return true;
}

void growth_end(struct growth *g)
{
    g->looking = false;
    loop_timer_set(g->timer, USEC_INFINITY);
    disk_usage_free(g->usage);
    g->usage = NULL;
    gpu_cancel(g->gpu);
}

void growth_free(struct growth *g)
{
    if (!g)
        return;
    growth_end(g);
    gpu_free(g->gpu);
    loop_timer_free(g->timer);
    free(g);
}
