/* SPDX-License-Identifier: MIT */
#include "client/load_run.h"

#include <errno.h>

#include "base/str.h"
#include "client/exchange.h"
#include "core/canary/request.h"

#define ANSWER_MAX_BYTES ((size_t) 4 * 1024 * 1024)
/* So many requests in a row that find nobody, and one for each lane: the server is gone. */
#define GONE_IN_A_ROW 4

struct lane {
    struct load_run *run;
    struct exchange *exchange; /* NULL: idle */
    usec_t last_piece;         /* monotonic; 0 before the first */
};

/* One prompt's request, ready to be sent. */
struct question {
    struct canary_config canary; /* a shallow copy: owns nothing */
    struct canary_request request;
};

struct load_run {
    struct client *client;
    const struct load_spec *spec;
    struct question *questions;
    size_t n_questions;
    struct lane *lanes;
    uint64_t n_lanes;
    struct loop_timer *timer; /* sends from the loop */
    uint64_t sent;
    uint64_t under_way;
    uint64_t nobody;          /* in a row */
    usec_t started;
    struct level level;
    load_progress_fn progress;
    load_fn fn;
    void *userdata;
};

static void run_free(struct load_run *r)
{
    if (!r)
        return;
    for (uint64_t i = 0; i < r->n_lanes; i++)
        exchange_cancel(r->lanes[i].exchange);
    for (size_t i = 0; i < r->n_questions; i++)
        canary_request_release(&r->questions[i].request);
    free(r->lanes);
    free(r->questions);
    loop_timer_free(r->timer);
    level_release(&r->level);
    free(r);
}
DEFINE_CLEANUP(struct load_run *, run_free);

static bool gone(const struct load_run *r)
{
    return r->nobody >= GONE_IN_A_ROW + r->spec->concurrency;
}

static void conclude(struct load_run *done)
{
    _cleanup_(run_freep) struct load_run *r = done;

    r->level.wall_usec = usec_sub(loop_now().monotonic, r->started);
    r->fn(&r->level, r->userdata);
}

/* A piece that cannot be counted for lack of memory is missing from the statistics, no more. */
static void on_piece(uint64_t pieces unused, usec_t now, void *userdata)
{
    struct lane *lane = userdata;

    if (lane->last_piece > 0)
        (void) !samples_add(&lane->run->level.between, usec_sub(now, lane->last_piece));
    lane->last_piece = now;
}

static void on_judged(struct judgement *j, void *userdata)
{
    struct lane *lane = userdata;
    struct load_run *r = lane->run;

    lane->exchange = NULL;
    r->under_way--;
    r->nobody = j->verdict == VERDICT_REFUSED || j->verdict == VERDICT_RESET ? r->nobody + 1 : 0;
    (void) !level_add(&r->level, j);
    r->progress(r->level.requests, r->userdata);
    loop_timer_set(r->timer, 0);
}

static void send_one(struct load_run *r, struct lane *lane)
{
    const struct question *q = &r->questions[r->sent % r->n_questions];
    struct exchange_spec spec = {
        .canary = &q->canary,
        .request = &q->request,
        .timeout_usec = r->spec->timeout_usec,
        .max_bytes = ANSWER_MAX_BYTES,
        .piece = on_piece,
    };
    struct judgement lost = { .verdict = VERDICT_NONE };
    const char *why = NULL;

    r->sent++;
    lane->last_piece = 0;
    if (exchange_start(r->client, &spec, on_judged, lane, &lane->exchange, &why) == 0)
        r->under_way++;
    else
        (void) !level_add(&r->level, &lost);
}

static void fill_lanes(void *userdata)
{
    struct load_run *r = userdata;

    for (uint64_t i = 0; i < r->n_lanes && r->sent < r->spec->requests && !gone(r); i++)
        if (!r->lanes[i].exchange)
            send_one(r, &r->lanes[i]);
    if (r->under_way == 0)
        conclude(r);
}

static int make_questions(struct load_run *r, const char **ret_why)
{
    size_t n = strv_length(r->spec->prompts);
    struct canary_inputs inputs = { .model = client_model(r->client) };

    r->questions = calloc(n ? n : 1, sizeof *r->questions);
    if (!r->questions)
        return -ENOMEM;
    for (; r->n_questions < n; r->n_questions++) {
        struct question *q = &r->questions[r->n_questions];
        int error;

        q->canary = *r->spec->canary;
        q->canary.prompt = r->spec->prompts[r->n_questions];
        error = canary_build(&q->canary, &inputs, &q->request, ret_why);
        if (error < 0)
            return error;
    }
    return n > 0 ? 0 : -EINVAL;
}

static int make_lanes(struct load_run *r)
{
    r->lanes = calloc((size_t) r->spec->concurrency, sizeof *r->lanes);
    if (!r->lanes)
        return -ENOMEM;
    for (; r->n_lanes < r->spec->concurrency; r->n_lanes++)
        r->lanes[r->n_lanes].run = r;
    return loop_timer_new(client_loop(r->client), fill_lanes, r, &r->timer);
}

int load_run_start(struct client *c, const struct load_spec *spec, load_progress_fn progress, load_fn fn,
                   void *userdata, struct load_run **ret, const char **ret_why)
{
    _cleanup_(run_freep) struct load_run *r = calloc(1, sizeof *r);
    int error;

    if (!r)
        return -ENOMEM;
    *r = (struct load_run){
        .client = c,
        .spec = spec,
        .started = loop_now().monotonic,
        .level.concurrency = spec->concurrency,
        .progress = progress,
        .fn = fn,
        .userdata = userdata,
    };
    error = make_questions(r, ret_why);
    if (error == 0)
        error = make_lanes(r);
    if (error < 0)
        return error;
    loop_timer_set(r->timer, 0);
    *ret = steal_pointer(&r);
    return 0;
}

void load_run_cancel(struct load_run *r)
{
    run_free(r);
}
