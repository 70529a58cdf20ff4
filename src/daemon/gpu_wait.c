/* SPDX-License-Identifier: MIT */
#include "daemon/gpu_wait.h"

#include <errno.h>

#include "port/gpu.h"

#define PAUSE_USEC USEC_PER_SEC

struct gpu_wait {
    struct gpu *gpu;
    struct loop_timer *timer; /* the next look */
    const struct gpu_wait_events *events;
    void *userdata;
    char *const *environment;
    usec_t until; /* monotonic */
    struct gpu_state before; /* what is not the server's; without devices until it is known */
};

static void on_timer(void *userdata);

int gpu_wait_new(struct loop *l, const struct gpu_wait_events *events, void *userdata, struct gpu_wait **ret)
{
    _cleanup_(gpu_wait_freep) struct gpu_wait *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return -ENOMEM;
    g->events = events;
    g->userdata = userdata;
    r = gpu_new(l, &g->gpu);
    if (r == 0)
        r = loop_timer_new(l, on_timer, g, &g->timer);
    if (r < 0)
        return r;
    *ret = steal_pointer(&g);
    return 0;
}

static int remember(struct gpu_wait *g, const struct gpu_state *state)
{
    int r = 0;

    for (size_t i = 0; i < state->n_devices && r == 0; i++) {
        const struct gpu_device *d = &state->devices[i];

        r = gpu_add_device(&g->before, d->name, d->uuid, d->used, d->total);
    }
    return r;
}

static void go_on_waiting(struct gpu_wait *g, const struct gpu_state *state)
{
    _cleanup_free_ char *held = gpu_describe_held(&g->before, state);
    usec_t now = loop_now().monotonic;

    if (!held || now >= g->until) {
        g->events->done(held, g->userdata);
        return;
    }
    loop_timer_set(g->timer, MIN(usec_add(now, PAUSE_USEC), g->until));
    g->events->waiting(held, g->userdata);
}

static void on_state(const struct gpu_state *state, void *userdata)
{
    struct gpu_wait *g = userdata;

    if (g->before.n_devices > 0 && !gpu_freed(&g->before, state)) {
        go_on_waiting(g, state);
        return;
    }
    gpu_lower(&g->before, state);
    if (g->before.n_devices == 0 && remember(g, state) < 0)
        gpu_state_release(&g->before);
    g->events->done(NULL, g->userdata);
}

static void on_timer(void *userdata)
{
    struct gpu_wait *g = userdata;

    if (!gpu_has_tool(g->environment) ||
        gpu_ask(g->gpu, g->environment, g->before.n_devices > 0, on_state, g) < 0)
        g->events->done(NULL, g->userdata);
}

void gpu_wait_begin(struct gpu_wait *g, char *const *environment, usec_t limit_usec)
{
    g->environment = environment;
    g->until = usec_add(loop_now().monotonic, limit_usec);
    loop_timer_set(g->timer, 0);
}

void gpu_wait_cancel(struct gpu_wait *g)
{
    gpu_cancel(g->gpu);
    loop_timer_set(g->timer, USEC_INFINITY);
}

void gpu_wait_free(struct gpu_wait *g)
{
    if (!g)
        return;
    gpu_free(g->gpu);
    loop_timer_free(g->timer);
    gpu_state_release(&g->before);
    free(g);
}
