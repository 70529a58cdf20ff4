/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/rule.h"

#include <errno.h>
#include <stdlib.h>

/* How far before its literal a match is looked for where the pattern sets no bound. */
#define LOOK_BACK_MAX ((size_t) 2048)
/* Occurrences of one literal that are looked at. */
#define OCCURRENCES_MAX 8
/* Of a text in which any place may match. */
#define ANYWHERE_MAX ((size_t) 2048)

/* Nearly every attempt ends, one way or the other, within a few steps; one that does not is repeated with
 * more, which the budget pays for. */
#define CHEAP_STEPS 60
#define DEAR_STEPS 6000
#define DEAR_COST ((size_t) 150)
/* Looking for a literal's next occurrence costs as much as an attempt for so many bytes. */
#define BYTES_PER_ATTEMPT ((size_t) 1024)

static uint32_t narrow(size_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t) n;
}

static size_t count_literals(const struct required *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++)
        n += q->clauses[i].n;
    return n;
}

/* Literals that differ in case alone are one, with the wider stretch before it. */
static void add_literal(struct rule *r, uint32_t from, uint32_t *n, const struct rule_literal *l)
{
    for (uint32_t i = from; i < *n; i++) {
        struct rule_literal *known = &r->literals[i];

        if (known->id != l->id)
            continue;
        known->min_before = MIN(known->min_before, l->min_before);
        known->max_before = MAX(known->max_before, l->max_before);
        return;
    }
    r->literals[(*n)++] = *l;
}

static int add_clauses(struct rule *r, const struct required *q, struct literals *index)
{
    uint32_t n = 0;

    r->literals = calloc(count_literals(q) + 1, sizeof(*r->literals));
    if (!r->literals)
        return -ENOMEM;
    for (size_t i = 0; i < q->n; i++) {
        const struct required_clause *c = &q->clauses[i];
        uint32_t from = n;

        for (size_t k = 0; k < c->n; k++) {
            const struct required_literal *l = &c->literals[k];
            size_t id;

            if (literals_add(index, l->text, i == 0, &id) < 0)
                return -ENOMEM;
            add_literal(r, from, &n, &(struct rule_literal){.id = narrow(id), .min_before = narrow(l->min_before),
                                                            .max_before = narrow(l->max_before)});
        }
        r->ends[r->n_clauses++] = n;
    }
    return 0;
}

int rule_init(struct rule *r, const char *pattern, struct literals *index)
{
    _cleanup_required_ struct required required = {};
    int n = required_parse(pattern, &required);

    r->at_start = required.at_start;
    if (n == 0)
        n = pattern_new(pattern, &r->pattern);
    return n == 0 ? add_clauses(r, &required, index) : n;
}

void rule_release(struct rule *r)
{
    pattern_free(r->pattern);
    free(r->literals);
}

static bool clause_holds(const struct rule *r, struct literals *index, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const struct rule_literal *l = &r->literals[i];
        size_t at;

        if (literals_found(index, l->id, &at) && (!r->at_start || at <= l->max_before))
            return true;
    }
    return false;
}

bool rule_is_candidate(const struct rule *r, struct literals *index)
{
    for (uint32_t i = 0; i < r->n_clauses; i++) {
        if (!clause_holds(r, index, i > 0 ? r->ends[i - 1] : 0, r->ends[i]))
            return false;
    }
    return true;
}

/* A stretch of the text in which matches may begin, `to` included. */
struct stretch {
    size_t from;
    size_t to;
};

/* One text and the search in it. */
struct search {
    const struct rule *rule;
    struct literals *index;
    struct pattern_scratch *scratch;
    const char *text;
    size_t len;
    struct rule_budget *budget;
};

/* Where a match can begin whose literal stands at `at`; false if nowhere. */
static bool stretch_before(const struct rule_literal *l, size_t at, struct stretch *ret)
{
    size_t back = MIN((size_t) l->max_before, LOOK_BACK_MAX);

    back = MIN(back, at);
    if (back < l->min_before)
        return false;
    *ret = (struct stretch){.from = at - back, .to = at - l->min_before};
    return true;
}

/* False when there is not so much left. */
static bool spend(struct rule_budget *budget, size_t cost)
{
    if (budget->left < cost)
        return false;
    budget->left -= cost;
    return true;
}

/* A first attempt costs one, a second one what it takes. */
static int try_at(const struct search *s, size_t at, struct pattern_hit *ret)
{
    int r = pattern_may_begin(s->rule->pattern, at, s->text[at]);

    if (r <= 0 || !spend(s->budget, 1))
        return r < 0 ? r : 0;
    r = pattern_match_at(s->rule->pattern, s->scratch, s->text, s->len, at, CHEAP_STEPS, ret);
    if (r == -E2BIG && spend(s->budget, DEAR_COST))
        r = pattern_match_at(s->rule->pattern, s->scratch, s->text, s->len, at, DEAR_STEPS, ret);
    return r == -E2BIG ? 0 : r;
}

/* The leftmost match that begins in the stretch, no further than *best, which becomes its start. */
static int try_stretch(const struct search *s, const struct stretch *stretch, struct pattern_hit *best)
{
    for (size_t at = stretch->from; at <= stretch->to && at < best->start; at++) {
        int r;

        if (((unsigned char) s->text[at] & 0xc0) == 0x80)
            continue;
        r = try_at(s, at, best);
        if (r != 0)
            return r;
    }
    return 0;
}

/* Every occurrence of one literal until one of them is part of a match. */
static int try_literal(const struct search *s, const struct rule_literal *l, struct pattern_hit *best)
{
    size_t at = SIZE_MAX, tried = 0;
    bool found = literals_found(s->index, l->id, &at);

    for (unsigned i = 0; found && i < OCCURRENCES_MAX; i++) {
        struct stretch stretch;
        int r = 0;

        if (stretch_before(l, at, &stretch)) {
            stretch.from = MAX(stretch.from, tried);
            r = try_stretch(s, &stretch, best);
            tried = stretch.to + 1;
        }
        if (r != 0)
            return r;
        found = spend(s->budget, 1 + s->len / BYTES_PER_ATTEMPT) && literals_find_next(s->index, l->id, &at);
    }
    return 0;
}

int rule_match(const struct rule *rule, struct literals *index, struct pattern_scratch *scratch,
               const char *text, size_t len, struct rule_budget *budget, struct pattern_hit *ret)
{
    struct search s = {.rule = rule, .index = index, .scratch = scratch, .text = text, .len = len,
                       .budget = budget};
    struct pattern_hit best = {.start = SIZE_MAX};
    struct stretch anywhere = {.from = 0, .to = MIN(len, ANYWHERE_MAX)};

    if (rule->n_clauses == 0) {
        int r = try_stretch(&s, &anywhere, &best);

        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; rule->n_clauses > 0 && i < rule->ends[0]; i++) {
        int r = try_literal(&s, &rule->literals[i], &best);

        if (r < 0)
            return r;
    }
    if (best.start == SIZE_MAX)
        return 0;
    *ret = best;
    return 1;
}
