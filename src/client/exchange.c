/* SPDX-License-Identifier: MIT */
#include "client/exchange.h"

#include <errno.h>

#include "base/str.h"

struct exchange {
    struct client *client;
    const struct canary_config *canary;
    struct judge *judge;
    struct http_transfer *transfer;
    struct loop_timer *timer; /* for the first token */
    usec_t started;
    bool speed;
    exchange_piece_fn piece;
    exchange_fn fn;
    void *userdata;
};

static void exchange_free(struct exchange *e)
{
    if (!e)
        return;
    loop_timer_free(e->timer);
    judge_free(e->judge);
    free(e);
}
DEFINE_CLEANUP(struct exchange *, exchange_free);

static const char *asked_model(const struct exchange *e)
{
    return e->canary->model ? e->canary->model : client_model(e->client);
}

/* What cannot be judged for lack of memory says nothing of the server. */
static void finish(struct exchange *done, const struct http_answer *a)
{
    _cleanup_(exchange_freep) struct exchange *e = done;
    _cleanup_(judgement_release) struct judgement j = {};
    struct judge_facts facts = {
        .asked_model = asked_model(e),
        .known_model = client_known_model(e->client, e->canary->name),
        .speed = e->speed,
    };

    if (judge_end(e->judge, a, &facts, &j) < 0)
        j = (struct judgement){ .verdict = VERDICT_NONE, .total_usec = a->total_usec };
    e->fn(&j, e->userdata);
}

static void on_answer(const struct http_answer *a, void *userdata)
{
    finish(userdata, a);
}

static enum http_want on_chunk(const char *data, size_t n, usec_t at, void *userdata)
{
    struct exchange *e = userdata;
    uint64_t before = judge_pieces(e->judge), pieces;
    int r = judge_feed(e->judge, data, n, usec_sub(at, e->started));

    pieces = judge_pieces(e->judge);
    if (pieces > before && e->piece)
        e->piece(pieces, at, e->userdata);
    if (r < 0)
        return HTTP_OVERFLOW;
    return r > 0 ? HTTP_ENOUGH : HTTP_MORE;
}

/* A token that is not there by now comes too late; a streamed answer that has begun has the whole time. */
static void on_first_token_limit(void *userdata)
{
    struct exchange *e = userdata;
    struct http_answer answer = {
        .outcome = HTTP_TIMEOUT,
        .total_usec = usec_sub(loop_now().monotonic, e->started),
        .detail = "no token within FirstTokenSec=",
    };

    if (judge_pieces(e->judge) > 0)
        return;
    http_cancel(steal_pointer(&e->transfer));
    finish(e, &answer);
}

static int start_timer(struct exchange *e)
{
    usec_t limit = e->canary->first_token_usec;
    int r;

    if (!e->canary->stream || !e->speed || limit == 0)
        return 0;
    r = loop_timer_new(client_loop(e->client), on_first_token_limit, e, &e->timer);
    if (r == 0)
        loop_timer_set(e->timer, usec_add(e->started, limit));
    return r;
}

int exchange_start(struct client *c, const struct exchange_spec *spec, exchange_fn fn, void *userdata,
                   struct exchange **ret, const char **ret_why)
{
    _cleanup_(exchange_freep) struct exchange *e = calloc(1, sizeof *e);
    struct http_request request = {
        .path = spec->request->path,
        .method = spec->request->method,
        .body = spec->request->body,
        .body_len = spec->request->body_len,
        .headers = spec->canary->headers,
        .timeout_usec = spec->timeout_usec,
        .max_bytes = spec->max_bytes,
        .chunk = spec->canary->stream ? on_chunk : NULL,
    };
    int r;

    if (!e)
        return -ENOMEM;
    *e = (struct exchange){
        .client = c,
        .canary = spec->canary,
        .started = loop_now().monotonic,
        .speed = spec->speed,
        .piece = spec->piece,
        .fn = fn,
        .userdata = userdata,
    };
    r = judge_new(spec->canary, &e->judge);
    if (r == 0)
        r = start_timer(e);
    if (r == 0)
        r = client_start(c, NULL, &request, on_answer, e, &e->transfer, ret_why);
    if (r < 0)
        return r;
    *ret = steal_pointer(&e);
    return 0;
}

void exchange_cancel(struct exchange *e)
{
    if (!e)
        return;
    http_cancel(e->transfer);
    exchange_free(e);
}
