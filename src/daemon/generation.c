/* SPDX-License-Identifier: MIT */
#include "daemon/generation.h"

#include <errno.h>
#include <unistd.h>

#include "base/str.h"
#include "port/child.h"
#include "port/gpu.h"

/* How long a dump's command may be late, which has a time-out of its own. */
#define DUMP_MARGIN_USEC (5 * USEC_PER_SEC)

int generation_read(const struct generation_source *source, struct generation **ret, char ***ret_errors)
{
    _cleanup_(generation_unrefp) struct generation *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return -ENOMEM;
    g->users = 1;
    r = conf_load(source->paths, source->request, &g->config, ret_errors);
    if (r == 0)
        r = conf_load_catalog(source->paths, &g->catalog, ret_errors);
    if (r < 0)
        return r;
    *ret = steal_pointer(&g);
    return 0;
}

struct generation *generation_ref(struct generation *g)
{
    g->users++;
    return g;
}

void generation_unref(struct generation *g)
{
    if (!g || --g->users > 0)
        return;
    catalog_free(g->catalog);
    config_free(g->config);
    free(g);
}

/* Without probes the preflight is still the place to wait for memory. */
static bool waits_for_gpus(const struct config *c)
{
    _cleanup_strv_ char **environment = NULL;

    return c->restart.gpu_wait_usec > 0 &&
           child_environment(environ, c->server.environment, &environment) == 0 && gpu_has_tool(environment);
}

struct fsm_limits generation_limits(const struct generation *g)
{
    const struct config *c = g->config;

    return (struct fsm_limits){
        .preflight = c->start.preflight || waits_for_gpus(c),
        .mode = c->restart.mode,
        .stall_usec = c->start.stall_usec,
        .load_timeout_usec = c->start.load_timeout_usec,
        .dump_usec = usec_add(c->report.dump_usec, DUMP_MARGIN_USEC),
        .stop_usec = c->server.stop_usec,
        .stable_usec = c->restart.stable_usec,
        .fall = c->live.fall,
        .rise = c->live.rise,
    };
}
