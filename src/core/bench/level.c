/* SPDX-License-Identifier: MIT */
#include "core/bench/level.h"

#include <errno.h>

int level_add(struct level *l, const struct judgement *j)
{
    int r = 0;

    l->requests++;
    l->verdicts[j->verdict]++;
    if (j->verdict != VERDICT_GENERATED)
        return 0;
    l->tokens += j->tokens;
    r = samples_add(&l->total, j->total_usec);
    if (r == 0 && j->first_token_usec > 0)
        r = samples_add(&l->first_token, j->first_token_usec);
    if (r == 0 && j->tokens_per_sec > 0)
        r = samples_add(&l->rate, (uint64_t) (j->tokens_per_sec * 1000));
    return r;
}

uint64_t level_errors(const struct level *l)
{
    return l->requests - l->verdicts[VERDICT_GENERATED];
}

double level_throughput(const struct level *l)
{
    return l->wall_usec > 0 ? (double) l->tokens * (double) USEC_PER_SEC / (double) l->wall_usec : 0;
}

static json_t *percentiles(struct samples *s, double unit)
{
    if (s->n == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f}",
                     "p50", (double) samples_percentile(s, 50) / unit,
                     "p95", (double) samples_percentile(s, 95) / unit,
                     "p99", (double) samples_percentile(s, 99) / unit);
}

static json_t *errors_json(const struct level *l)
{
    json_t *errors = json_object();

    for (enum verdict v = 0; errors && v < N_VERDICTS; v++)
        if (v != VERDICT_GENERATED && l->verdicts[v] > 0)
            (void) json_object_set_new(errors, verdict_name(v), json_integer((json_int_t) l->verdicts[v]));
    return errors;
}

int level_json(struct level *l, json_t **ret)
{
    json_t *root = json_pack("{s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:o, s:o}",
                             "concurrency", (json_int_t) l->concurrency,
                             "requests", (json_int_t) l->requests,
                             "tokens", (json_int_t) l->tokens,
                             "wall_sec", (double) l->wall_usec / (double) USEC_PER_SEC,
                             "tokens_per_sec", level_throughput(l),
                             "tokens_per_sec_of_a_request", percentiles(&l->rate, 1000),
                             "first_token_sec", percentiles(&l->first_token, (double) USEC_PER_SEC),
                             "between_pieces_sec", percentiles(&l->between, (double) USEC_PER_SEC),
                             "total_sec", percentiles(&l->total, (double) USEC_PER_SEC),
                             "errors", errors_json(l));

    if (!root)
        return -ENOMEM;
    *ret = root;
    return 0;
}

void level_release(struct level *l)
{
    samples_release(&l->first_token);
    samples_release(&l->between);
    samples_release(&l->total);
    samples_release(&l->rate);
    *l = (struct level){};
}
