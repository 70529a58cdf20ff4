/* SPDX-License-Identifier: MIT */
#include "client/canary_run.h"

#include <errno.h>
#include <fcntl.h>

#include "base/str.h"
#include "client/exchange.h"
#include "core/canary/tally.h"
#include "port/store.h"

#define BODY_MAX_BYTES ((size_t) 16 * 1024 * 1024)
/* What all answers of a round may take together, and one at least and at most. */
#define ROUND_MAX_BYTES ((size_t) 1024 * 1024)
#define ANSWER_MIN_BYTES ((size_t) 32 * 1024)
#define ANSWER_MAX_BYTES ((size_t) 256 * 1024)

struct canary_run;

/* One of the requests of a round. */
struct lane {
    struct canary_run *run;
    struct exchange *exchange;
};

struct canary_run {
    struct client *client;
    struct canary_config *canary;
    struct canary_request request;
    struct loop_timer *timer; /* begins a round from the loop */
    struct lane *lanes;
    size_t under_way;
    uint64_t round, rounds;
    bool first;
    usec_t started;
    struct tally tally;
    canary_run_fn fn;
    void *userdata;
};

static void run_free(struct canary_run *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->lanes && i < r->canary->parallel; i++)
        exchange_cancel(r->lanes[i].exchange);
    free(r->lanes);
    loop_timer_free(r->timer);
    canary_request_release(&r->request);
    tally_release(&r->tally);
    config_free_canary(r->canary);
    free(r);
}
DEFINE_CLEANUP(struct canary_run *, run_free);

static void tell(struct canary_run *done, struct judgement *j)
{
    _cleanup_(run_freep) struct canary_run *r = done;

    r->fn(j, r->userdata);
    judgement_release(j);
}

/* What went wrong before the server was asked: `why` is static, or NULL where the error says it. */
static void give_up(struct canary_run *r, int error, const char *why)
{
    struct judgement j = { .verdict = VERDICT_NONE };

    j.detail = strdup(why && error == -EINVAL ? why : strerrordesc_np(-error));
    tell(r, &j);
}

static usec_t elapsed(const struct canary_run *r)
{
    return usec_sub(loop_now().monotonic, r->started);
}

static void conclude(struct canary_run *r)
{
    struct judgement j = {};

    if (tally_close(&r->tally, r->canary, elapsed(r), &j) < 0) {
        give_up(r, -ENOMEM, NULL);
        return;
    }
    /* Without it, the next answer may have another name. */
    if (j.verdict == VERDICT_GENERATED && j.model)
        (void) !client_know_model(r->client, r->canary->name, j.model);
    tell(r, &j);
}

/* Rounds */

static bool expects_speed(const struct canary_config *c)
{
    return c->first_token_usec > 0 || c->min_tokens_per_sec > 0;
}

/* The first round after a start may have to wait for kernels. */
static bool warms_up(const struct canary_run *r)
{
    return r->first && r->round == 0;
}

static void end_round(struct canary_run *r)
{
    bool warm_up = warms_up(r);

    r->round++;
    if (r->tally.failed > 0 || r->round == r->rounds) {
        conclude(r);
        return;
    }
    if (warm_up && expects_speed(r->canary)) {
        tally_release(&r->tally);
        r->started = loop_now().monotonic;
    }
    loop_timer_set(r->timer, 0);
}

static void on_judged(struct judgement *j, void *userdata)
{
    struct lane *lane = userdata;
    struct canary_run *r = lane->run;

    lane->exchange = NULL;
    tally_add(&r->tally, j);
    if (--r->under_way == 0)
        end_round(r);
}

static size_t answer_bytes(const struct canary_config *c)
{
    return MIN(MAX(ROUND_MAX_BYTES / (size_t) c->parallel, ANSWER_MIN_BYTES), ANSWER_MAX_BYTES);
}

static void begin_round(void *userdata)
{
    struct canary_run *r = userdata;
    const struct exchange_spec spec = {
        .canary = r->canary,
        .request = &r->request,
        .timeout_usec = warms_up(r) ? r->canary->first_timeout_usec : r->canary->timeout_usec,
        .max_bytes = answer_bytes(r->canary),
        .speed = !warms_up(r),
    };
    const char *why = NULL;

    for (size_t i = 0; i < r->canary->parallel; i++) {
        int error = exchange_start(r->client, &spec, on_judged, &r->lanes[i], &r->lanes[i].exchange, &why);

        if (error < 0) {
            give_up(r, error, why);
            return;
        }
        r->under_way++;
    }
}

/* The request is the same in all rounds. */

static int read_body(const struct canary_config *c, char **ret, size_t *ret_len, const char **ret_why)
{
    int r;

    if (!c->body_file)
        return 0;
    r = store_read(AT_FDCWD, c->body_file, BODY_MAX_BYTES, ret, ret_len);
    if (r < 0 && r != -ENOMEM) {
        *ret_why = "what BodyFile= names cannot be read";
        return -EINVAL;
    }
    return r;
}

static int build(struct canary_run *r, const char **ret_why)
{
    _cleanup_free_ char *body = NULL;
    struct canary_inputs inputs = { .model = client_model(r->client) };
    int error = read_body(r->canary, &body, &inputs.body_len, ret_why);

    if (error < 0)
        return error;
    inputs.body = body;
    return canary_build(r->canary, &inputs, &r->request, ret_why);
}

/* From the loop, so that whoever has started it has its handle before it ends. */
static void begin(void *userdata)
{
    struct canary_run *r = userdata;
    const char *why = NULL;
    int error = r->request.path ? 0 : build(r, &why);

    if (error < 0)
        give_up(r, error, why);
    else
        begin_round(r);
}

int canary_run_start(struct client *c, const struct canary_config *canary, bool first, canary_run_fn fn,
                     void *userdata, struct canary_run **ret)
{
    _cleanup_(run_freep) struct canary_run *r = calloc(1, sizeof *r);
    int error;

    if (!r)
        return -ENOMEM;
    *r = (struct canary_run){ .client = c, .first = first, .fn = fn, .userdata = userdata };
    error = config_copy_canary(canary, &r->canary);
    if (error == 0)
        error = loop_timer_new(client_loop(c), begin, r, &r->timer);
    if (error < 0)
        return error;
    r->lanes = calloc(canary->parallel, sizeof *r->lanes);
    if (!r->lanes)
        return -ENOMEM;
    for (size_t i = 0; i < canary->parallel; i++)
        r->lanes[i].run = r;
    r->rounds = canary->repeat;
    if (first && expects_speed(canary))
        r->rounds = MAX(r->rounds, (uint64_t) 2);
    if (canary->expect_repeatable && canary->parallel == 1)
        r->rounds = MAX(r->rounds, (uint64_t) 2);
    r->started = loop_now().monotonic;
    loop_timer_set(r->timer, 0);
    *ret = steal_pointer(&r);
    return 0;
}

void canary_run_cancel(struct canary_run *r)
{
    run_free(r);
}

const char *canary_run_name(const struct canary_run *r)
{
    return r->canary->name;
}
