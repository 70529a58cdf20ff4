/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/matcher.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/config/problems.h"
#include "core/diagnosis/rule.h"

/* Attempts to match that one record is worth: for an honest one, more than it needs. */
#define ATTEMPTS_AT_LEAST 320
#define ATTEMPTS_PER_KIB 128

/* Which rules begin their search at a literal: for each literal the place in `rules` where its own begin. */
struct directory {
    size_t *begins; /* one more than there are literals */
    size_t *rules;
};

struct matcher {
    struct rule *rules; /* in catalog order, then phases; those of one owner follow each other */
    size_t n_rules;
    struct literals *literals;
    struct directory directory;
    uint64_t *candidates; /* a bit for each rule that may match the record at hand */
    uint64_t *always;     /* likewise for any record */
    bool any_always;
    struct pattern_scratch *scratch;
    struct capture captures[PATTERN_MAX_GROUPS];
};

/* An engine that no signature names has no signatures of its own, and none to leave out. */
static bool is_known_engine(const struct catalog *c, const char *engine)
{
    for (size_t i = 0; engine && i < c->n_signatures; i++) {
        if (strv_contains(c->signatures[i].engines, engine))
            return true;
    }
    return false;
}

static bool is_for_engine(const struct signature *s, const char *engine)
{
    return !engine || !s->engines || strv_contains(s->engines, engine);
}

static int add_rule(struct matcher *m, const struct signature *signature, const struct phase_config *phase,
                    const char *pattern)
{
    struct rule *r = &m->rules[m->n_rules++];

    r->signature = signature;
    r->phase = phase;
    return rule_init(r, pattern, m->literals);
}

static int add_signature(struct matcher *m, const struct signature *s)
{
    int r = 0;

    for (size_t i = 0; r == 0 && s->patterns[i]; i++)
        r = add_rule(m, s, NULL, s->patterns[i]);
    return r;
}

static int add_phase(struct matcher *m, const struct phase_config *phase, struct problems *problems)
{
    int r = 0;

    for (size_t i = 0; r == 0 && phase->patterns && phase->patterns[i]; i++) {
        _cleanup_strbuf_ struct strbuf why = {};
        _cleanup_strv_ char **groups = NULL;

        r = pattern_check(phase->patterns[i], &groups, &why);
        if (r == -EINVAL)
            r = problems_add(problems, phase->name, 0, "the phase's pattern %.80s: %s", phase->patterns[i],
                             str_or_empty(why.data));
        else if (r == 0)
            r = add_rule(m, NULL, phase, phase->patterns[i]);
    }
    return r;
}

static size_t count_patterns(const struct catalog *c, const struct phase_config *phases, size_t n_phases)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_signatures; i++)
        n += strv_length(c->signatures[i].patterns);
    for (size_t i = 0; i < n_phases; i++)
        n += strv_length(phases[i].patterns);
    return n;
}

static int collect_rules(struct matcher *m, const struct catalog *c, const char *engine,
                         const struct phase_config *phases, size_t n_phases, struct problems *problems)
{
    int r = 0;

    m->rules = calloc(count_patterns(c, phases, n_phases) + 1, sizeof(*m->rules));
    if (!m->rules)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < c->n_signatures; i++) {
        if (is_for_engine(&c->signatures[i], engine))
            r = add_signature(m, &c->signatures[i]);
    }
    for (size_t i = 0; r == 0 && i < n_phases; i++)
        r = add_phase(m, &phases[i], problems);
    return r;
}

/* How many literals begin a rule's search: those of its first clause. */
static size_t search_literals(const struct rule *r)
{
    return r->n_clauses > 0 ? r->ends[0] : 0;
}

static int build_directory(struct matcher *m)
{
    struct directory *d = &m->directory;
    size_t n_literals = literals_count(m->literals), n = 0;

    for (size_t i = 0; i < m->n_rules; i++)
        n += search_literals(&m->rules[i]);
    d->begins = calloc(n_literals + 1, sizeof(*d->begins));
    d->rules = calloc(n + 1, sizeof(*d->rules));
    if (!d->begins || !d->rules)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_rules; i++) {
        for (size_t k = 0; k < search_literals(&m->rules[i]); k++)
            d->begins[m->rules[i].literals[k].id]++;
    }
    /* Each becomes the end of its rules, and then, filled from there downwards, their beginning. */
    for (size_t i = 1; i <= n_literals; i++)
        d->begins[i] += d->begins[i - 1];
    for (size_t i = 0; i < m->n_rules; i++) {
        for (size_t k = 0; k < search_literals(&m->rules[i]); k++)
            d->rules[--d->begins[m->rules[i].literals[k].id]] = i;
    }
    return 0;
}

static int build_bitmaps(struct matcher *m)
{
    size_t words = m->n_rules / 64 + 1;

    m->candidates = calloc(words, sizeof(*m->candidates));
    m->always = calloc(words, sizeof(*m->always));
    if (!m->candidates || !m->always)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_rules; i++) {
        if (m->rules[i].n_clauses > 0)
            continue;
        m->always[i / 64] |= UINT64_C(1) << i % 64;
        m->any_always = true;
    }
    return 0;
}

int matcher_new(const struct catalog *catalog, const char *engine, const struct phase_config *phases,
                size_t n_phases, struct matcher **ret, char ***ret_errors)
{
    _cleanup_(matcher_freep) struct matcher *m = calloc(1, sizeof(*m));
    _cleanup_problems_ struct problems problems = {};
    int r;

    if (!m)
        return -ENOMEM;
    if (!is_known_engine(catalog, engine))
        engine = NULL;
    r = literals_new(&m->literals);
    if (r == 0)
        r = collect_rules(m, catalog, engine, phases, n_phases, &problems);
    if (r < 0)
        return r;
    if (problems.n > 0) {
        r = problems_steal(&problems, ret_errors);
        return r < 0 ? r : -EINVAL;
    }
    r = pattern_scratch_new(&m->scratch);
    if (r == 0)
        r = literals_finish(m->literals);
    if (r == 0)
        r = build_directory(m);
    if (r == 0)
        r = build_bitmaps(m);
    if (r < 0)
        return r;
    *ret = steal_pointer(&m);
    return 0;
}

void matcher_free(struct matcher *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_rules; i++)
        rule_release(&m->rules[i]);
    free(m->rules);
    literals_free(m->literals);
    free(m->directory.begins);
    free(m->directory.rules);
    free(m->candidates);
    free(m->always);
    pattern_scratch_free(m->scratch);
    free(m);
}

/* One record on its way through the rules. */
struct scan {
    struct matcher *matcher;
    enum log_source source;
    const char *text;
    size_t len;
    struct rule_budget budget;
    match_fn fn;
    void *userdata;
};

static bool is_for_source(const struct signature *s, enum log_source source)
{
    return !s || s->source == LOG_ANY || source == LOG_ANY || s->source == source;
}

static bool same_owner(const struct rule *a, const struct rule *b)
{
    return a->signature == b->signature && a->phase == b->phase;
}

static void release_captures(struct matcher *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(m->captures[i].value);
}

static int take_captures(struct scan *s, const struct pattern_hit *hit)
{
    struct matcher *m = s->matcher;

    for (size_t i = 0; i < hit->n; i++) {
        const struct pattern_group *g = &hit->groups[i];
        const char *value = s->text + g->start;

        m->captures[i].name = g->name;
        m->captures[i].value =
            strndup(value, utf8_cut(value, g->end - g->start, MATCHER_MAX_CAPTURE));
        if (!m->captures[i].value) {
            release_captures(m, i);
            return -ENOMEM;
        }
    }
    return 0;
}

static int report(struct scan *s, const struct rule *rule, const struct pattern_hit *hit)
{
    int r = take_captures(s, hit);

    if (r < 0)
        return r;
    s->fn(&(struct match){.signature = rule->signature, .phase = rule->phase, .start = hit->start,
                          .captures = s->matcher->captures, .n_captures = hit->n}, s->userdata);
    release_captures(s->matcher, hit->n);
    return 0;
}

/* In this order, so that a benign signature can silence, and whoever listens knows the neighbourhood
 * before what depends on it. */
enum turn { TURN_BENIGN, TURN_NEUTRAL, TURN_FAULT };

static enum turn turn_of(const struct rule *rule)
{
    if (!rule->signature || rule->signature->rank >= RANK_CONTEXT)
        return TURN_NEUTRAL;
    return rule->signature->rank == RANK_BENIGN ? TURN_BENIGN : TURN_FAULT;
}

/* The first candidate at `from` or later; n_rules if there is none. */
static size_t next_candidate(const struct matcher *m, size_t from)
{
    size_t word = from / 64;
    uint64_t bits = m->candidates[word] & (UINT64_MAX << from % 64);

    while (bits == 0 && ++word <= m->n_rules / 64)
        bits = m->candidates[word];
    return bits != 0 ? word * 64 + (size_t) __builtin_ctzll(bits) : m->n_rules;
}

/* The candidates of one owner from *i on; its first pattern that matches speaks for it. */
static int try_owner(struct scan *s, size_t *i)
{
    struct matcher *m = s->matcher;
    const struct rule *owner = &m->rules[*i];
    struct pattern_hit hit;
    int r = 0;

    for (; *i < m->n_rules && same_owner(&m->rules[*i], owner); *i = next_candidate(m, *i + 1)) {
        if (r == 0 && s->budget.left > 0 && rule_is_candidate(&m->rules[*i], m->literals))
            r = rule_match(&m->rules[*i], m->literals, m->scratch, s->text, s->len, &s->budget, &hit);
    }
    if (r <= 0)
        return r;
    r = report(s, owner, &hit);
    return r < 0 ? r : 1;
}

/* 1 when any matched. */
static int take_turn(struct scan *s, enum turn turn)
{
    const struct matcher *m = s->matcher;
    int any = 0;

    for (size_t i = next_candidate(m, 0); i < m->n_rules; ) {
        const struct rule *rule = &m->rules[i];
        int r;

        if (turn_of(rule) != turn || !is_for_source(rule->signature, s->source)) {
            i = next_candidate(m, i + 1);
            continue;
        }
        r = try_owner(s, &i);
        if (r < 0)
            return r;
        any |= r;
    }
    return any;
}

/* Sets the bits of all rules that have a literal to begin with in the text. False if there are none. */
static bool find_candidates(struct matcher *m, const char *text, size_t len)
{
    const size_t *found;
    size_t n = literals_scan(m->literals, text, len, &found);

    if (n == 0 && !m->any_always)
        return false;
    memcpy(m->candidates, m->always, (m->n_rules / 64 + 1) * sizeof(*m->candidates));
    for (size_t i = 0; i < n; i++) {
        const struct directory *d = &m->directory;

        for (size_t k = d->begins[found[i]]; k < d->begins[found[i] + 1]; k++)
            m->candidates[d->rules[k] / 64] |= UINT64_C(1) << d->rules[k] % 64;
    }
    return true;
}

int matcher_scan(struct matcher *m, enum log_source source, const char *text, size_t len, match_fn fn,
                 void *userdata)
{
    struct scan s = {.matcher = m, .source = source, .text = text, .len = len, .fn = fn,
                     .userdata = userdata,
                     .budget = {.left = ATTEMPTS_AT_LEAST + len * ATTEMPTS_PER_KIB / 1024}};
    int benign, r;

    if (!find_candidates(m, text, len))
        return 0;
    benign = take_turn(&s, TURN_BENIGN);
    r = benign < 0 ? benign : take_turn(&s, TURN_NEUTRAL);
    if (r >= 0 && benign == 0)
        r = take_turn(&s, TURN_FAULT);
    return r < 0 ? r : 0;
}
