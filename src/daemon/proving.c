/* SPDX-License-Identifier: MIT */
#include "daemon/proving.h"

#include <errno.h>

#include "base/str.h"
#include "client/canary_run.h"
#include "client/models.h"
#include "core/canary/expect.h"
#include "port/netowner.h"

#define KNOCK_TIMEOUT_USEC (2 * USEC_PER_SEC)
/* How often a canary of the suite may come back with what may better itself before the start counts as
 * failed; "not ready" and a closed port do not count. */
#define SUITE_TRIES 5

enum stage { STAGE_NONE, STAGE_PORT, STAGE_MODEL, STAGE_SUITE };

struct proving {
    struct client *client;
    const struct proving_events *events;
    void *userdata;
    const struct processes *processes;
    enum stage stage;
    struct loop_timer *timer;
    struct http_knock *knock;
    struct models *models;
    struct canary_run *run;
    size_t suite_next;
    unsigned tries;
    usec_t pause_usec;
    bool port_seen;
    bool canary_sent;
};

static void on_timer(void *userdata);

int proving_new(struct loop *l, struct client *client, const struct proving_events *events, void *userdata,
                struct proving **ret)
{
    struct proving *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    *p = (struct proving){ .client = client, .events = events, .userdata = userdata };
    r = loop_timer_new(l, on_timer, p, &p->timer);
    if (r < 0)
        free(p);
    else
        *ret = p;
    return r;
}

void proving_free(struct proving *p)
{
    if (!p)
        return;
    proving_end(p);
    loop_timer_free(p->timer);
    free(p);
}

static const struct config *config_of(const struct proving *p)
{
    return client_config(p->client);
}

static const struct canary_config *next_canary(const struct proving *p)
{
    return config_canary(config_of(p), config_of(p)->start.suite[p->suite_next]);
}

static void emit(struct proving *p, enum fsm_event_kind kind)
{
    p->events->event(kind, p->userdata);
}

/* A verdict that no canary came back with. */
static void tell_verdict(struct proving *p, enum verdict verdict, const char *detail)
{
    _cleanup_(judgement_release) struct judgement j = {
        .verdict = verdict,
        .detail = detail ? strdup(detail) : NULL,
    };

    p->events->judged(NULL, &j, false, p->userdata);
}

/* The next look comes after probe_usec at first, then after twice as long each time up to
 * probe_max_usec. */
static void again_later(struct proving *p)
{
    loop_timer_set(p->timer, usec_add(loop_now().monotonic, p->pause_usec));
    p->pause_usec = MIN(usec_mul(p->pause_usec, 2), config_of(p)->start.probe_max_usec);
}

/* Setbacks */

static void fail_suite(struct proving *p)
{
    p->stage = STAGE_NONE;
    emit(p, FSM_SUITE_FAILED);
}

/* What a canary of the suite, or the list of models, makes of the start when it is no pass. */
enum setback { SETBACK_WAIT, SETBACK_COUNT, SETBACK_PORT, SETBACK_FAIL };

/* A canary that was given up before its time-out, for the sake of FirstTokenSec=, may do better next time. */
static enum setback time_out(const struct proving *p, usec_t took)
{
    if (p->stage != STAGE_SUITE)
        return SETBACK_WAIT;
    return took < next_canary(p)->first_timeout_usec ? SETBACK_COUNT : SETBACK_FAIL;
}

static enum setback setback_of(const struct proving *p, enum verdict verdict, usec_t took)
{
    switch (verdict) {
    case VERDICT_REFUSED:
    case VERDICT_RESET:
        return SETBACK_PORT; /* it may be on its way down, or up again: its exit will tell */
    case VERDICT_NOT_READY:
        return SETBACK_WAIT;
    case VERDICT_TIMEOUT:
    case VERDICT_FIRST_TOKEN_TIMEOUT:
        return time_out(p, took);
    case VERDICT_NONE:
    case VERDICT_GENERATED:
    case VERDICT_BUSY:
    case VERDICT_HTTP_5XX:
    case VERDICT_NO_TOKENS:
    case VERDICT_DEGENERATE:
    case VERDICT_SLOW:
    case VERDICT_BAD_JSON:
    case VERDICT_HTTP_4XX:
    case VERDICT_AUTH_REQUIRED:
    case VERDICT_WRONG_MODEL:
    case VERDICT_TOO_LARGE:
    case VERDICT_FOREIGN_LISTENER:
    case VERDICT_TLS:
    case N_VERDICTS:
        break;
    }
    return verdict_may_improve(verdict) ? SETBACK_COUNT : SETBACK_FAIL;
}

/* A server that breaks the connection of every canary and lives on is not waited for either. What a server
 * says of its models before it generates is not held against it; that it cannot be asked is our own fault. */
static bool tried_enough(struct proving *p, enum verdict verdict, enum setback setback)
{
    bool counts = setback == SETBACK_COUNT || verdict == VERDICT_RESET;

    if (p->stage != STAGE_SUITE && verdict != VERDICT_NONE)
        return false;
    return counts && ++p->tries >= SUITE_TRIES;
}

static void suffer(struct proving *p, enum verdict verdict, usec_t took)
{
    enum setback setback = setback_of(p, verdict, took);

    if (setback == SETBACK_FAIL || tried_enough(p, verdict, setback)) {
        fail_suite(p);
        return;
    }
    if (setback == SETBACK_PORT)
        p->stage = STAGE_PORT;
    again_later(p);
}

/* Steps */

/* "PID 4242 (nginx)" when the port's listener is a process that we can see and that is not the server's. What
 * cannot be found out (another network or PID namespace, a remote host, a unix socket) accuses nobody. */
static char *find_stranger(const struct proving *p)
{
    _cleanup_free_ char *host = NULL;
    struct netowner owner;
    uint64_t inode;
    uint16_t port;

    if (!config_of(p)->start.verify_listener || http_endpoint(client_base(p->client), &host, &port) < 0 ||
        netowner_listener(host, port, &inode) <= 0 || netowner_find(inode, &owner) < 0 || owner.pid == 0 ||
        processes_contains(p->processes, owner.pid))
        return NULL;
    return str_format("PID %d (%s)", (int) owner.pid, owner.comm);
}

static void suite_step(struct proving *p);

static void on_canary(struct judgement *j, void *userdata)
{
    struct proving *p = userdata;
    const struct canary_config *c = next_canary(p);
    enum verdict verdict = j->verdict;
    usec_t took = j->total_usec;
    bool let_off = expect_lets_off(c, verdict);

    p->run = NULL;
    p->events->judged(c->name, j, let_off, p->userdata);
    if (verdict != VERDICT_GENERATED && !let_off) {
        suffer(p, verdict, took);
        return;
    }
    emit(p, FSM_PROGRESS);
    p->tries = 0;
    p->pause_usec = config_of(p)->start.probe_usec;
    p->suite_next++;
    suite_step(p);
}

static void suite_step(struct proving *p)
{
    if (!config_of(p)->start.suite[p->suite_next]) {
        p->stage = STAGE_NONE;
        emit(p, FSM_SUITE_PASSED);
        return;
    }
    if (canary_run_start(p->client, next_canary(p), true, on_canary, p, &p->run) < 0) {
        again_later(p);
        return;
    }
    if (!p->canary_sent) {
        p->canary_sent = true;
        emit(p, FSM_CANARY_SENT);
    }
}

static void on_models(enum verdict verdict, const char *detail, void *userdata)
{
    struct proving *p = userdata;

    p->models = NULL;
    if (verdict == VERDICT_GENERATED) {
        p->stage = STAGE_SUITE;
        suite_step(p);
        return;
    }
    tell_verdict(p, verdict, detail);
    suffer(p, verdict, 0);
}

/* A key that cannot be read now may be there in a moment. */
static void find_model(struct proving *p)
{
    const char *why = NULL;
    int r = models_find(p->client, on_models, p, &p->models, &why);

    if (r == -EINVAL)
        on_models(VERDICT_NONE, why, p);
    else if (r < 0)
        again_later(p);
}

static void on_knock(int error, void *userdata)
{
    struct proving *p = userdata;
    _cleanup_free_ char *stranger = NULL;

    http_knock_free(p->knock);
    p->knock = NULL;
    if (error < 0) {
        again_later(p);
        return;
    }
    p->pause_usec = config_of(p)->start.probe_usec;
    stranger = find_stranger(p);
    if (stranger) {
        tell_verdict(p, VERDICT_FOREIGN_LISTENER, stranger);
        fail_suite(p);
        return;
    }
    if (!p->port_seen) {
        p->port_seen = true;
        emit(p, FSM_PORT_OPEN);
    }
    p->stage = client_model(p->client) ? STAGE_SUITE : STAGE_MODEL;
    on_timer(p);
}

static void on_timer(void *userdata)
{
    struct proving *p = userdata;

    switch (p->stage) {
    case STAGE_NONE:
        break;
    case STAGE_PORT:
        if (client_knock(p->client, KNOCK_TIMEOUT_USEC, on_knock, p, &p->knock) < 0)
            again_later(p);
        break;
    case STAGE_MODEL:
        find_model(p);
        break;
    case STAGE_SUITE:
        suite_step(p);
        break;
    }
}

/* From outside */

static void drop(struct proving *p)
{
    canary_run_cancel(steal_pointer(&p->run));
    models_cancel(steal_pointer(&p->models));
    http_knock_free(steal_pointer(&p->knock));
    loop_timer_set(p->timer, USEC_INFINITY);
}

/* From the first canary on, and asking the server anew what its model is. Without memory the model that was
 * known is asked. */
static void start_over(struct proving *p)
{
    drop(p);
    p->suite_next = 0;
    p->stage = STAGE_PORT;
    p->tries = 0;
    p->pause_usec = config_of(p)->start.probe_usec;
    (void) !client_set_model(p->client, NULL);
}

void proving_begin(struct proving *p, const struct processes *processes)
{
    start_over(p);
    p->processes = processes;
    p->port_seen = p->canary_sent = false;
    again_later(p);
}

void proving_again(struct proving *p)
{
    start_over(p);
    loop_timer_set(p->timer, 0);
}

void proving_end(struct proving *p)
{
    drop(p);
    p->stage = STAGE_NONE;
    p->processes = NULL;
}

bool proving_under_way(const struct proving *p)
{
    return p->stage != STAGE_NONE;
}

const char *proving_current(const struct proving *p)
{
    return p->run ? canary_run_name(p->run) : NULL;
}
