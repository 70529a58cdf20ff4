/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/matcher.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/config/problems.h"
#include "core/diagnosis/pattern.h"
#include "core/diagnosis/scanner.h"

/* An honest record matches a handful of signatures. One that is made to match hundreds must not cost
 * hundreds of confirmations. */
#define CONFIRMATIONS_AT_LEAST 16
#define BYTES_PER_CONFIRMATION 32

/* Where a pattern may match anywhere, only so much of the record is searched. */
#define INEXACT_MAX_BYTES ((size_t) 4096)

/* One pattern of a signature or a phase; those of one owner follow each other. */
struct rule {
    const struct signature *signature;
    const struct phase_config *phase;
    const char *text;
    struct pattern *pattern;
};

struct matcher {
    struct rule *rules;
    size_t n_rules;
    struct scanner *scanner;
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

static int add_rule(struct matcher *m, const struct rule *rule)
{
    struct rule *r = &m->rules[m->n_rules];

    *r = *rule;
    m->n_rules++;
    return pattern_new(rule->text, &r->pattern);
}

static int add_signature(struct matcher *m, const struct signature *s)
{
    int r = 0;

    for (size_t i = 0; r == 0 && s->patterns[i]; i++)
        r = add_rule(m, &(struct rule){.signature = s, .text = s->patterns[i]});
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
            r = add_rule(m, &(struct rule){.phase = phase, .text = phase->patterns[i]});
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

static int build_scanner(struct matcher *m)
{
    _cleanup_free_ const char **texts = calloc(m->n_rules + 1, sizeof(*texts));

    if (!texts)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_rules; i++)
        texts[i] = m->rules[i].text;
    return scanner_new(texts, m->n_rules, &m->scanner);
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
    r = collect_rules(m, catalog, engine, phases, n_phases, &problems);
    if (r < 0)
        return r;
    if (problems.n > 0) {
        r = problems_steal(&problems, ret_errors);
        return r < 0 ? r : -EINVAL;
    }
    r = pattern_scratch_new(&m->scratch);
    if (r == 0)
        r = build_scanner(m);
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
        pattern_free(m->rules[i].pattern);
    free(m->rules);
    scanner_free(m->scanner);
    pattern_scratch_free(m->scratch);
    free(m);
}

/* One record on its way through the rules. */
struct scan {
    struct matcher *matcher;
    enum log_source source;
    const char *text;
    size_t len;
    const struct scan_hit *hits;
    size_t n_hits;
    size_t confirmations_left;
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

/* 1 when the rule matches. */
static int confirm(struct scan *s, const struct scan_hit *hit, struct pattern_hit *ret)
{
    struct pattern *pattern = s->matcher->rules[hit->pattern].pattern;
    size_t len = hit->exact ? s->len : utf8_cut(s->text, s->len, INEXACT_MAX_BYTES);

    if (s->confirmations_left == 0)
        return 0;
    s->confirmations_left--;
    return pattern_match(pattern, s->matcher->scratch, s->text, len, hit->from, hit->exact, ret);
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

/* The hits of one owner from *i on; its first pattern that matches speaks for it. */
static int try_owner(struct scan *s, size_t *i)
{
    const struct rule *rules = s->matcher->rules, *owner = &rules[s->hits[*i].pattern];
    struct pattern_hit hit;
    int r = 0;

    for (; *i < s->n_hits && same_owner(&rules[s->hits[*i].pattern], owner); (*i)++) {
        if (r == 0)
            r = confirm(s, &s->hits[*i], &hit);
    }
    if (r <= 0)
        return r;
    r = report(s, owner, &hit);
    return r < 0 ? r : 1;
}

/* 1 when any matched. */
static int take_turn(struct scan *s, enum turn turn)
{
    int any = 0;

    for (size_t i = 0; i < s->n_hits; ) {
        const struct rule *rule = &s->matcher->rules[s->hits[i].pattern];
        int r;

        if (turn_of(rule) != turn || !is_for_source(rule->signature, s->source)) {
            i++;
            continue;
        }
        r = try_owner(s, &i);
        if (r < 0)
            return r;
        any |= r;
    }
    return any;
}

int matcher_scan(struct matcher *m, enum log_source source, const char *text, size_t len, match_fn fn,
                 void *userdata)
{
    struct scan s = {.matcher = m, .source = source, .text = text, .len = len, .fn = fn,
                     .userdata = userdata,
                     .confirmations_left = CONFIRMATIONS_AT_LEAST + len / BYTES_PER_CONFIRMATION};
    int r = scanner_scan(m->scanner, text, len, &s.hits), benign;

    if (r <= 0)
        return r;
    s.n_hits = (size_t) r;
    benign = take_turn(&s, TURN_BENIGN);
    r = benign < 0 ? benign : take_turn(&s, TURN_NEUTRAL);
    if (r >= 0 && benign == 0)
        r = take_turn(&s, TURN_FAULT);
    return r < 0 ? r : 0;
}
