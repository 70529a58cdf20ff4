/* SPDX-License-Identifier: MIT */
#include "daemon/prover.h"

#include <errno.h>

#include "base/str.h"
#include "client/client.h"
#include "core/config/config_diff.h"
#include "core/diagnosis/redact.h"
#include "daemon/live.h"
#include "daemon/proving.h"

struct prover {
    const struct config *config;
    const struct prover_events *events;
    void *userdata;
    struct client *client;
    struct proving *proving;
    struct live *live;
    bool serving; /* live canaries are sent */

    struct judgement last;
    char *last_canary;
    usec_t last_realtime;
    bool last_let_off;
    prover_answer_fn answer;
    void *answer_userdata;
};

static void on_event(enum fsm_event_kind kind, void *userdata);
static void on_judged(const char *canary, struct judgement *j, bool let_off, void *userdata);
static void on_live(const char *canary, struct judgement *j, void *userdata);

static const struct proving_events proving_events = {
    .event = on_event,
    .judged = on_judged,
};

static const struct live_events live_events = {
    .judged = on_live,
};

int prover_new(struct loop *l, const struct config *config, const struct prover_events *events,
               void *userdata, struct prover **ret)
{
    _cleanup_(prover_freep) struct prover *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    *p = (struct prover){ .config = config, .events = events, .userdata = userdata };
    r = client_new(l, config, &p->client);
    if (r == 0)
        r = proving_new(l, p->client, &proving_events, p, &p->proving);
    if (r == 0)
        r = live_new(l, p->client, &live_events, p, &p->live);
    if (r < 0)
        return r;
    *ret = steal_pointer(&p);
    return 0;
}

void prover_free(struct prover *p)
{
    if (!p)
        return;
    proving_free(p->proving);
    live_free(p->live);
    client_free(p->client);
    judgement_release(&p->last);
    free(p->last_canary);
    free(p);
}

/* What came of the last canary */

/* A server's words may hold anything, a key that was sent to it too. */
static void redact(struct judgement *j)
{
    char *shown = j->detail ? redact_text(j->detail) : NULL;

    free(j->detail);
    j->detail = shown;
}

/* Takes over what *j owns. */
static void remember(struct prover *p, const char *canary, struct judgement *j, bool let_off)
{
    judgement_release(&p->last);
    p->last = *j;
    *j = (struct judgement){};
    redact(&p->last);
    free(p->last_canary);
    p->last_canary = canary ? strdup(canary) : NULL;
    p->last_realtime = loop_now().realtime;
    p->last_let_off = let_off;
}

static void forget(struct prover *p)
{
    struct judgement nothing = { .verdict = VERDICT_NONE };

    remember(p, NULL, &nothing, false);
}

static void tell_proof(struct prover *p)
{
    struct proof proof = prover_last(p);

    p->events->proof(&proof, p->userdata);
}

static void answer_with(struct prover *p, const struct proof *proof)
{
    prover_answer_fn answer = steal_pointer(&p->answer);

    if (answer)
        answer(proof, p->answer_userdata);
}

static void on_event(enum fsm_event_kind kind, void *userdata)
{
    struct prover *p = userdata;

    p->events->event(kind, p->userdata);
}

/* Of the list of models there is no proof. */
static void on_judged(const char *canary, struct judgement *j, bool let_off, void *userdata)
{
    struct prover *p = userdata;

    remember(p, canary, j, let_off);
    if (canary)
        tell_proof(p);
}

static void on_live(const char *canary, struct judgement *j, void *userdata)
{
    struct prover *p = userdata;
    struct proof proof;

    remember(p, canary, j, false);
    tell_proof(p);
    proof = prover_last(p);
    answer_with(p, &proof);
    if (p->last.verdict == VERDICT_GENERATED)
        on_event(FSM_LIVE_PASSED, p);
    else if (p->last.verdict != VERDICT_BUSY)
        on_event(FSM_LIVE_FAILED, p);
}

/* Another configuration */

static const char *live_name(const struct config *c)
{
    return c->live.canary ? c->live.canary : c->start.suite[0];
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
static void look_anew(struct prover *p)
{
    if (!p->serving) {
        proving_again(p->proving);
        return;
    }
    if (p->config->server.model)
        (void) !client_set_model(p->client, p->config->server.model);
    live_again(p->live);
}

void prover_reconfigure(struct prover *p, const struct config *config)
{
    const struct config *before = p->config;
    bool same = p->serving ? same_live(before, config) : same_suite(before, config);

    p->config = config;
    client_reconfigure(p->client, config);
    if (!same && (p->serving || proving_under_way(p->proving)))
        look_anew(p);
}

/* Steering */

/* Without memory for another address the one before stays. */
void prover_begin(struct prover *p)
{
    prover_quiet(p);
    (void) !client_renew(p->client);
    forget(p);
}

void prover_prove(struct prover *p, const struct processes *processes)
{
    proving_begin(p->proving, processes);
}

void prover_live(struct prover *p)
{
    p->serving = true;
    live_begin(p->live);
}

void prover_now(struct prover *p)
{
    if (p->serving)
        live_now(p->live);
}

int prover_ask(struct prover *p, prover_answer_fn fn, void *userdata)
{
    if (!p->serving)
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
    const struct proof nothing = { .verdict = VERDICT_NONE };

    p->serving = false;
    proving_end(p->proving);
    live_end(p->live);
    answer_with(p, &nothing);
}

/* Looking */

struct proof prover_last(const struct prover *p)
{
    const struct canary_config *c = p->last_canary ? config_canary(p->config, p->last_canary) : NULL;

    return (struct proof){
        .canary = p->last_canary,
        .proves = c ? c->proves : NULL,
        .verdict = p->last.verdict,
        .let_off = p->last_let_off,
        .detail = p->last.detail,
        .tokens = p->last.tokens,
        .total_usec = p->last.total_usec,
        .first_token_usec = p->last.first_token_usec,
        .tokens_per_sec = p->last.tokens_per_sec,
        .ended_realtime = p->last_realtime,
    };
}

const char *prover_current(const struct prover *p)
{
    const char *name = proving_current(p->proving);

    return name ? name : live_current(p->live);
}

const char *prover_foreign_owner(const struct prover *p)
{
    return p->last.verdict == VERDICT_FOREIGN_LISTENER ? p->last.detail : NULL;
}
