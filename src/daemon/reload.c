/* SPDX-License-Identifier: MIT */
#include "daemon/reload.h"

#include <errno.h>

#include "base/str.h"
#include "core/config/config_diff.h"
#include "daemon/supervisor.h"

/* A server that is started, or is about to be, keeps what it was started with. */
static bool server_under_way(const struct supervisor *s)
{
    return s->fsm.phase >= PHASE_PREFLIGHT && s->fsm.phase <= PHASE_DEGRADED;
}

/* The keys of `next` that the server at hand was not started with. */
static int find_pending(const struct supervisor *s, const struct generation *next, char ***ret)
{
    _cleanup_config_diff_ struct config_diff diff = {};
    int r;

    *ret = NULL;
    if (!server_under_way(s))
        return 0;
    r = config_diff(s->epoch.generation->config, next->config, &diff);
    return r < 0 ? r : config_diff_names(&diff, true, ret);
}

static int find_changes(const struct supervisor *s, const struct generation *next, char ***ret)
{
    _cleanup_config_diff_ struct config_diff diff = {};
    int r = config_diff(s->config, next->config, &diff);

    return r < 0 ? r : config_diff_names(&diff, false, ret);
}

int reload_watcher(struct supervisor *s, struct generation *g, char ***ret_errors)
{
    int r = watcher_reconfigure(s->watcher, g->catalog, g->config, ret_errors);

    if (r < 0)
        return r;
    generation_unref(s->watched);
    s->watched = generation_ref(g);
    return 0;
}

/* Another engine's signatures and phases do not fit the server at hand: they wait for the next one. */
static int watch_by(struct supervisor *s, struct generation *next, char ***ret_errors)
{
    const char *engine = server_under_way(s) ? s->epoch.generation->config->server.profile
                                             : next->config->server.profile;

    if (!str_equal(engine, next->config->server.profile))
        return 0;
    return reload_watcher(s, next, ret_errors);
}

static bool same_timing(const struct fsm_limits *a, const struct fsm_limits *b)
{
    return a->stall_usec == b->stall_usec && a->load_timeout_usec == b->load_timeout_usec &&
           a->stable_usec == b->stable_usec;
}

static void take_limits(struct supervisor *s, const struct generation *next)
{
    struct fsm_limits limits = generation_limits(next);

    if (!same_timing(&limits, &s->limits))
        supervisor_post(s, FSM_LIMITS);
    s->limits = limits;
    progress_set_stall(s->progress, limits.stall_usec);
}

/* Nothing here can fail. Whoever borrows from the generation before is turned to the next one first. */
static void take_over(struct supervisor *s, struct generation *next)
{
    bool moved = !str_equal(s->config->http.listen, next->config->http.listen);

    prover_reconfigure(s->prover, next->config);
    take_limits(s, next);
    generation_unref(s->generation);
    s->generation = generation_ref(next);
    s->config = next->config;
    s->catalog = next->catalog;
    if (moved)
        publisher_listen(s->publisher);
}

static void tell_success(struct supervisor *s, char *const *changes)
{
    _cleanup_free_ char *changed = strv_join(changes, ", "), *pending = strv_join(s->epoch.pending, ", ");
    _cleanup_free_ char *message = NULL;
    struct log_field fields[] = {
        { "COALMINE_CHANGED", changed },
        { "COALMINE_PENDING", pending },
    };

    message = str_format("Reloaded%s%s%s%s", str_empty(changed) ? "" : ": ", str_or_empty(changed),
                         str_empty(pending) ? "" : "; waiting for the next start of the server: ",
                         str_or_empty(pending));
    log_record(s->log, LOG_NOTICE, LOG_RELOAD, fields, ARRAY_SIZE(fields), message ? message : "Reloaded");
}

static void tell_failure(struct supervisor *s, int error, char *const *errors)
{
    for (size_t i = 0; errors && errors[i]; i++)
        log_say(s->log, LOG_ERR, "Not reloaded, everything stays as it was: %s", errors[i]);
    if (!errors || !errors[0])
        log_say(s->log, LOG_ERR, "Not reloaded, everything stays as it was: %s", strerror(-error));
}

static int try_reload(struct supervisor *s, char ***ret_errors)
{
    _cleanup_(generation_unrefp) struct generation *next = NULL;
    _cleanup_strv_ char **pending = NULL, **changes = NULL;
    int r = generation_read(s->source, &next, ret_errors);

    if (r == 0)
        r = find_pending(s, next, &pending);
    if (r == 0)
        r = find_changes(s, next, &changes);
    if (r == 0)
        r = watch_by(s, next, ret_errors);
    if (r < 0)
        return r;
    take_over(s, next);
    strv_free(s->epoch.pending);
    s->epoch.pending = steal_pointer(&pending);
    tell_success(s, changes);
    publisher_reloaded(s->publisher);
    return 0;
}

int reload(struct supervisor *s, char ***ret_errors)
{
    int r = try_reload(s, ret_errors);

    if (r < 0)
        tell_failure(s, r, *ret_errors);
    return r;
}
