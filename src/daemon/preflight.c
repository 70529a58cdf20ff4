/* SPDX-License-Identifier: MIT */
#include "daemon/preflight.h"

#include <errno.h>

#include "base/str.h"
#include "daemon/gpu_wait.h"
#include "port/command.h"
#include "port/http.h"
#include "port/netowner.h"

#define PROBE_MAX_OUTPUT ((size_t) 256 * 1024)

struct preflight {
    struct loop *loop;
    const struct preflight_events *events;
    void *userdata;
    const struct config *config;
    char *const *environment;
    struct gpu_wait *gpu_wait;
    struct loop_timer *timer; /* the next step, from the loop */
    struct command *command;
    size_t probe; /* the one under way or next */
};

static void finish(struct preflight *p, const struct preflight_result *r)
{
    p->events->done(r, p->userdata);
}

static void on_probe(const struct command_result *r, void *userdata)
{
    struct preflight *p = userdata;
    int status = r->spawn_error < 0 ? 0 : command_exit_status(r);

    if (status == 0) {
        p->events->progress(p->userdata);
        p->probe++;
        loop_timer_set(p->timer, 0);
        return;
    }
    finish(p, &(struct preflight_result){
                  .probe = p->config->probes[p->probe].name,
                  .exit_status = status,
                  .output = r->output,
                  .output_len = r->output_len,
              });
}

/* Who listens on the port before the server was even started cannot be the server. */
static char *port_owner(const struct preflight *p)
{
    _cleanup_free_ char *host = NULL;
    struct netowner owner;
    uint64_t inode;
    uint16_t port;

    if (!p->config->start.verify_listener || http_endpoint(p->config->server.url, &host, &port) < 0 ||
        netowner_listener(host, port, &inode) <= 0)
        return NULL;
    if (netowner_find(inode, &owner) < 0 || owner.pid == 0)
        return strdup("a process that cannot be seen from here");
    return str_format("PID %d (%s)", (int) owner.pid, owner.comm);
}

static void next_probe(struct preflight *p)
{
    const struct probe_config *probe = &p->config->probes[p->probe];

    command_free(p->command);
    p->command = NULL;
    if (!p->config->start.preflight || p->probe == p->config->n_probes) {
        finish(p, &(struct preflight_result){ .passed = true });
        return;
    }
    if (command_run(p->loop, probe->command, p->environment, probe->timeout_usec, PROBE_MAX_OUTPUT,
                    on_probe, p, &p->command) < 0) {
        p->probe++;
        loop_timer_set(p->timer, 0);
    }
}

static void on_timer(void *userdata)
{
    struct preflight *p = userdata;
    _cleanup_free_ char *owner = p->config->start.preflight && p->probe == 0 ? port_owner(p) : NULL;

    if (owner)
        finish(p, &(struct preflight_result){ .foreign_owner = owner });
    else
        next_probe(p);
}

static void on_gpu_waiting(const char *held, void *userdata)
{
    struct preflight *p = userdata;

    p->events->progress(p->userdata);
    p->events->waiting(held, p->userdata);
}

static void on_gpu_done(const char *held, void *userdata)
{
    struct preflight *p = userdata;

    if (held)
        p->events->held(held, p->userdata);
    p->events->progress(p->userdata);
    loop_timer_set(p->timer, 0);
}

static const struct gpu_wait_events gpu_wait_events = {
    .waiting = on_gpu_waiting,
    .done = on_gpu_done,
};

int preflight_new(struct loop *l, const struct preflight_events *events, void *userdata, struct preflight **ret)
{
    _cleanup_(preflight_freep) struct preflight *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    *p = (struct preflight){ .loop = l, .events = events, .userdata = userdata };
    r = gpu_wait_new(l, &gpu_wait_events, p, &p->gpu_wait);
    if (r == 0)
        r = loop_timer_new(l, on_timer, p, &p->timer);
    if (r < 0)
        return r;
    *ret = steal_pointer(&p);
    return 0;
}

void preflight_begin(struct preflight *p, const struct config *config, char *const *environment)
{
    preflight_cancel(p);
    p->config = config;
    p->environment = environment;
    p->probe = 0;
    if (config->restart.gpu_wait_usec > 0)
        gpu_wait_begin(p->gpu_wait, environment, config->restart.gpu_wait_usec);
    else
        loop_timer_set(p->timer, 0);
}

void preflight_cancel(struct preflight *p)
{
    gpu_wait_cancel(p->gpu_wait);
    loop_timer_set(p->timer, USEC_INFINITY);
    command_free(p->command);
    p->command = NULL;
}

void preflight_free(struct preflight *p)
{
    if (!p)
        return;
    command_free(p->command);
    gpu_wait_free(p->gpu_wait);
    loop_timer_free(p->timer);
    free(p);
}
