/* SPDX-License-Identifier: MIT */
#include "daemon/prover.h"

#include <errno.h>
#include <fcntl.h>

#include "base/str.h"
#include "core/canary/models.h"
#include "core/canary/request.h"
#include "core/config/config_diff.h"
#include "port/netowner.h"
#include "port/random.h"
#include "port/store.h"

/* The list of models is no inference: a server that generates answers it at once. */
#define MODELS_TIMEOUT_USEC (10 * USEC_PER_SEC)
#define KNOCK_TIMEOUT_USEC (2 * USEC_PER_SEC)
#define ANSWER_MAX_BYTES ((size_t) 256 * 1024)
#define API_KEY_MAX_BYTES (64 * 1024)
/* How often a canary of the suite may come back with an error of the server's own before the start counts as
 * failed; "not ready" and a closed port do not count. */
#define SUITE_TRIES 5
/* A failed live canary is repeated soon: a fall, or a false alarm, should be known in seconds. */
#define LIVE_AGAIN_USEC (2 * USEC_PER_SEC)

enum stage { STAGE_QUIET, STAGE_PORT, STAGE_MODEL, STAGE_SUITE, STAGE_LIVE };

struct prover {
    struct loop *loop;
    struct http *http;
    const struct config *config;
    const char *url; /* of the epoch's server */
    const struct prover_events *events;
    void *userdata;

    const struct processes *processes;
    enum stage stage;
    struct loop_timer *timer;
    struct http_knock *knock;
    struct http_transfer *transfer;
    const struct canary_config *canary; /* under way */
    size_t suite_next;
    unsigned tries;
    usec_t pause_usec;
    char *model; /* as the server names it */
    bool port_seen;
    bool canary_sent;

    struct judgement last;
    char *last_canary;
    usec_t last_realtime;
    char *foreign_owner;
    prover_answer_fn answer;
    void *answer_userdata;
};

static void on_timer(void *userdata);
static void send_canary(struct prover *p, const struct canary_config *c, usec_t timeout_usec);

int prover_new(struct loop *l, const struct config *config, const struct prover_events *events, void *userdata,
               struct prover **ret)
{
    _cleanup_(prover_freep) struct prover *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    *p = (struct prover){ .loop = l, .config = config, .events = events, .userdata = userdata };
    r = http_new(l, &p->http);
    if (r == 0)
        r = loop_timer_new(l, on_timer, p, &p->timer);
    if (r < 0)
        return r;
    *ret = steal_pointer(&p);
    return 0;
}

static void emit(struct prover *p, enum fsm_event_kind kind)
{
    p->events->event(kind, p->userdata);
}

static void again_in(struct prover *p, usec_t pause_usec)
{
    loop_timer_set(p->timer, usec_add(loop_now().monotonic, pause_usec));
}

/* The next look comes after probe_usec at first, then after twice as long each time up to
 * probe_max_usec. */
static void again_later(struct prover *p)
{
    again_in(p, p->pause_usec);
    p->pause_usec = MIN(usec_mul(p->pause_usec, 2), p->config->start.probe_max_usec);
}

static void remember(struct prover *p, const char *canary, struct judgement *j)
{
    judgement_release(&p->last);
    p->last = *j;
    *j = (struct judgement){};
    free(p->last_canary);
    p->last_canary = canary ? strdup(canary) : NULL;
    p->last_realtime = loop_now().realtime;
}

/* A verdict that no answer carries: the detail is ours. */
static void remember_verdict(struct prover *p, const char *canary, enum verdict verdict, const char *detail)
{
    struct judgement j = { .verdict = verdict, .detail = detail ? strdup(detail) : NULL };

    remember(p, canary, &j);
}

static void fail_suite(struct prover *p)
{
    p->stage = STAGE_QUIET;
    emit(p, FSM_SUITE_FAILED);
}

/* While starting: what a verdict other than GENERATED makes of the suite. */
static void suite_setback(struct prover *p, enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_REFUSED:
    case VERDICT_RESET:
        p->stage = STAGE_PORT; /* it may be on its way down, or up again: its exit will tell */
        break;
    case VERDICT_NOT_READY:
        break;
    case VERDICT_TIMEOUT:
    case VERDICT_FIRST_TOKEN_TIMEOUT:
    case VERDICT_BUSY:
        if (p->stage == STAGE_SUITE) {
            fail_suite(p);
            return;
        }
        break;
    case VERDICT_HTTP_5XX:
    case VERDICT_NO_TOKENS:
    case VERDICT_DEGENERATE:
    case VERDICT_SLOW:
    case VERDICT_BAD_JSON:
        if (++p->tries >= SUITE_TRIES) {
            fail_suite(p);
            return;
        }
        break;
    case VERDICT_NONE:
    case VERDICT_GENERATED:
    case VERDICT_HTTP_4XX:
    case VERDICT_AUTH_REQUIRED:
    case VERDICT_WRONG_MODEL:
    case VERDICT_TOO_LARGE:
    case VERDICT_FOREIGN_LISTENER:
    case VERDICT_TLS:
    case N_VERDICTS:
        if (!verdict_may_improve(verdict)) {
            fail_suite(p);
            return;
        }
        break;
    }
    again_later(p);
}

/* Fills foreign_owner when the port's listener is a process that we can see and that is not the server's.
 * What cannot be found out (another network or PID namespace, a remote host) accuses nobody. */
static bool listener_is_foreign(struct prover *p)
{
    _cleanup_free_ char *host = NULL;
    struct netowner owner;
    uint64_t inode;
    uint16_t port;

    if (!p->config->start.verify_listener || http_endpoint(p->url, &host, &port) < 0 ||
        netowner_listener(host, port, &inode) <= 0 || netowner_find(inode, &owner) < 0 || owner.pid == 0 ||
        processes_contains(p->processes, owner.pid))
        return false;
    free(p->foreign_owner);
    p->foreign_owner = str_format("PID %d (%s)", (int) owner.pid, owner.comm);
    return true;
}

static void suite_step(struct prover *p)
{
    const struct canary_config *c = config_canary(p->config, p->config->start.suite[p->suite_next]);

    send_canary(p, c, c->first_timeout_usec);
}

static void on_knock(int error, void *userdata)
{
    struct prover *p = userdata;

    http_knock_free(p->knock);
    p->knock = NULL;
    if (error < 0) {
        again_later(p);
        return;
    }
    p->pause_usec = p->config->start.probe_usec;
    if (listener_is_foreign(p)) {
        remember_verdict(p, NULL, VERDICT_FOREIGN_LISTENER, p->foreign_owner);
        fail_suite(p);
        return;
    }
    if (!p->port_seen) {
        p->port_seen = true;
        emit(p, FSM_PORT_OPEN);
    }
    p->stage = p->model ? STAGE_SUITE : STAGE_MODEL;
    on_timer(p);
}

/* The key is read anew each time: it may be rotated while the server runs. */
static char *read_api_key(const struct prover *p)
{
    const char *file = p->config->server.api_key_file;
    char *key = NULL;
    size_t len;

    if (!file || store_read(AT_FDCWD, file, API_KEY_MAX_BYTES, &key, &len) < 0)
        return NULL;
    memmove(key, str_strip(key), strlen(str_strip(key)) + 1);
    return key;
}

static int start_transfer(struct prover *p, const char *path, const char *body, usec_t timeout_usec,
                          http_fn fn)
{
    _cleanup_free_ char *key = read_api_key(p);
    struct http_request request = {
        .base = p->url,
        .path = path,
        .body = body,
        .body_len = strlen(str_or_empty(body)),
        .bearer = key,
        .ca_file = p->config->server.ca_file,
        .timeout_usec = timeout_usec,
        .max_bytes = ANSWER_MAX_BYTES,
    };

    return http_start(p->http, &request, fn, p, &p->transfer);
}

static void on_models(const struct http_answer *answer, void *userdata)
{
    struct prover *p = userdata;
    enum verdict verdict;

    p->transfer = NULL;
    if (canary_pick_model(p->config->server.model, answer, &p->model, &verdict) < 0) {
        again_later(p);
        return;
    }
    /* A server without such a list is asked for no model in particular. */
    if (verdict == VERDICT_GENERATED || verdict == VERDICT_HTTP_4XX) {
        p->stage = STAGE_SUITE;
        p->tries = 0;
        suite_step(p);
        return;
    }
    remember_verdict(p, NULL, verdict, p->config->server.models_path);
    suite_setback(p, verdict);
}

static void suite_verdict(struct prover *p)
{
    if (p->last.verdict != VERDICT_GENERATED) {
        suite_setback(p, p->last.verdict);
        return;
    }
    p->tries = 0;
    p->pause_usec = p->config->start.probe_usec;
    p->suite_next++;
    if (p->config->start.suite[p->suite_next]) {
        suite_step(p);
        return;
    }
    p->stage = STAGE_QUIET;
    emit(p, FSM_SUITE_PASSED);
}

/* A tenth of jitter keeps many instances from asking in step. */
static usec_t live_pause(const struct prover *p)
{
    usec_t interval = p->config->live.interval_usec;

    if (p->last.verdict != VERDICT_GENERATED)
        return MIN(interval, LIVE_AGAIN_USEC);
    return interval - interval / 20 + (interval >= 10 ? random_u64() % (interval / 10) : 0);
}

static void live_verdict(struct prover *p)
{
    prover_answer_fn answer = p->answer;

    p->answer = NULL;
    again_in(p, live_pause(p));
    if (answer) {
        struct proof proof = prover_last(p);

        answer(&proof, p->answer_userdata);
    }
    emit(p, p->last.verdict == VERDICT_GENERATED ? FSM_LIVE_PASSED : FSM_LIVE_FAILED);
}

static void tell_proof(struct prover *p)
{
    struct proof proof = prover_last(p);

    p->events->proof(&proof, p->userdata);
}

static void on_canary(const struct http_answer *answer, void *userdata)
{
    struct prover *p = userdata;
    const struct canary_config *c = p->canary;
    struct judge_facts facts = { .asked_model = p->model };
    _cleanup_(judge_freep) struct judge *judge = NULL;
    struct judgement j;

    p->transfer = NULL;
    p->canary = NULL;
    if (judge_new(c, &judge) < 0 ||
        judge_feed(judge, answer->body, answer->body_len, answer->total_usec) < 0 ||
        judge_end(judge, answer, &facts, &j) < 0) {
        again_later(p);
        return;
    }
    remember(p, c->name, &j);
    tell_proof(p);
    if (p->stage == STAGE_LIVE)
        live_verdict(p);
    else
        suite_verdict(p);
}

static void send_canary(struct prover *p, const struct canary_config *c, usec_t timeout_usec)
{
    struct canary_inputs inputs = { .model = p->model };
    struct canary_request request = {};
    const char *why;
    int r = canary_build(c, &inputs, &request, &why);

    if (r == 0)
        r = start_transfer(p, request.path, request.body, timeout_usec, on_canary);
    canary_request_release(&request);
    if (r < 0) {
        again_later(p);
        return;
    }
    p->canary = c;
    if (p->stage == STAGE_SUITE && !p->canary_sent) {
        p->canary_sent = true;
        emit(p, FSM_CANARY_SENT);
    }
}

static const char *live_name(const struct config *c)
{
    return c->live.canary ? c->live.canary : c->start.suite[0];
}

static void live_step(struct prover *p)
{
    const struct canary_config *c = config_canary(p->config, live_name(p->config));

    send_canary(p, c, c->timeout_usec);
}

static void on_timer(void *userdata)
{
    struct prover *p = userdata;

    switch (p->stage) {
    case STAGE_QUIET:
        break;
    case STAGE_PORT:
        if (http_knock(p->http, p->url, KNOCK_TIMEOUT_USEC, on_knock, p, &p->knock) < 0)
            again_later(p);
        break;
    case STAGE_MODEL:
        if (start_transfer(p, p->config->server.models_path, NULL, MODELS_TIMEOUT_USEC, on_models) < 0)
            again_later(p);
        break;
    case STAGE_SUITE:
        suite_step(p);
        break;
    case STAGE_LIVE:
        live_step(p);
        break;
    }
}

static void enter_stage(struct prover *p, enum stage stage)
{
    p->stage = stage;
    p->tries = 0;
    p->pause_usec = p->config->start.probe_usec;
}

/* From the first canary on, and asking the server anew what its model is. */
static void begin_suite(struct prover *p)
{
    p->suite_next = 0;
    free(p->model);
    p->model = NULL;
    enter_stage(p, STAGE_PORT);
}

/* Nobody waits for an answer any more. */
static void drop_request(struct prover *p)
{
    p->canary = NULL;
    http_cancel(p->transfer);
    p->transfer = NULL;
    http_knock_free(p->knock);
    p->knock = NULL;
}

static bool same_suite(const struct config *a, const struct config *b)
{
    bool same = strv_equal(a->start.suite, b->start.suite) && str_equal(a->server.model, b->server.model);

    for (size_t i = 0; same && a->start.suite[i]; i++)
        same = config_same_section(a, b, SECTION_CANARY, a->start.suite[i]);
    return same;
}

static bool same_live(const struct config *a, const struct config *b)
{
    return config_same_section(a, b, SECTION_LIVE, NULL) && str_equal(a->server.model, b->server.model) &&
           str_equal(live_name(a), live_name(b)) && config_same_section(a, b, SECTION_CANARY, live_name(a));
}

/* While serving, the model that the server has listed counts until another one is named. */
static void rename_model(struct prover *p, const char *name)
{
    char *copy = name ? strdup(name) : NULL;

    if (!copy)
        return;
    free(p->model);
    p->model = copy;
}

static void look_anew(struct prover *p)
{
    drop_request(p);
    if (p->stage == STAGE_LIVE)
        rename_model(p, p->config->server.model);
    else
        begin_suite(p);
    loop_timer_set(p->timer, 0);
}

void prover_reconfigure(struct prover *p, const struct config *config)
{
    const struct config *before = p->config;
    bool same = p->stage == STAGE_LIVE ? same_live(before, config) : same_suite(before, config);

    p->config = config;
    if (p->stage == STAGE_QUIET)
        return;
    if (!same)
        look_anew(p);
    else if (p->canary)
        p->canary = config_canary(config, p->canary->name);
}

void prover_begin(struct prover *p)
{
    prover_quiet(p);
    p->url = p->config->server.url;
    free(p->foreign_owner);
    p->foreign_owner = NULL;
    remember_verdict(p, NULL, VERDICT_NONE, NULL);
}

void prover_prove(struct prover *p, const struct processes *processes)
{
    p->processes = processes;
    p->port_seen = p->canary_sent = false;
    begin_suite(p);
    again_later(p);
}

void prover_live(struct prover *p)
{
    enter_stage(p, STAGE_LIVE);
    again_in(p, live_pause(p));
}

void prover_now(struct prover *p)
{
    if (p->stage == STAGE_LIVE && !p->transfer)
        loop_timer_set(p->timer, 0);
}

int prover_ask(struct prover *p, prover_answer_fn fn, void *userdata)
{
    if (p->stage != STAGE_LIVE)
        return -EAGAIN;
    if (p->answer)
        return -EBUSY;
    p->answer = fn;
    p->answer_userdata = userdata;
    prover_now(p);
    return 0;
}

void prover_quiet(struct prover *p)
{
    prover_answer_fn answer = p->answer;

    p->stage = STAGE_QUIET;
    p->answer = NULL;
    p->processes = NULL;
    loop_timer_set(p->timer, USEC_INFINITY);
    drop_request(p);
    if (answer)
        answer(&(struct proof){ .verdict = VERDICT_NONE }, p->answer_userdata);
}

struct proof prover_last(const struct prover *p)
{
    return (struct proof){
        .canary = p->last_canary,
        .verdict = p->last.verdict,
        .detail = p->last.detail,
        .tokens = p->last.tokens,
        .total_usec = p->last.total_usec,
        .ended_realtime = p->last_realtime,
    };
}

const char *prover_current(const struct prover *p)
{
    return p->canary ? p->canary->name : NULL;
}

const char *prover_foreign_owner(const struct prover *p)
{
    return p->last.verdict == VERDICT_FOREIGN_LISTENER ? p->foreign_owner : NULL;
}

void prover_free(struct prover *p)
{
    if (!p)
        return;
    prover_quiet(p);
    loop_timer_free(p->timer);
    http_free(p->http);
    judgement_release(&p->last);
    free(p->model);
    free(p->last_canary);
    free(p->foreign_owner);
    free(p);
}
