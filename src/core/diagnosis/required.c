/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/required.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/diagnosis/regex.h"

/* More alternatives than these are not multiplied out. */
#define EXACT_MAX ((size_t) 32)

/* What an expression requires, and how wide its matches are. */
struct need {
    struct required_clause *clauses;
    size_t n;
    size_t min_width;
    size_t max_width;
    char **exact; /* all that it can match, where that is a few literals; else NULL */
    bool at_start; /* it begins with ^ */
};

static size_t add(size_t a, size_t b)
{
    size_t sum;

    return __builtin_add_overflow(a, b, &sum) ? REQUIRED_ANYWHERE : sum;
}

static size_t multiply(size_t a, size_t b)
{
    size_t product;

    return __builtin_mul_overflow(a, b, &product) ? REQUIRED_ANYWHERE : product;
}

static void clause_release(struct required_clause *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->literals[i].text);
    free(c->literals);
    *c = (struct required_clause){};
}

static void need_release(struct need *n)
{
    for (size_t i = 0; i < n->n; i++)
        clause_release(&n->clauses[i]);
    free(n->clauses);
    strv_free(n->exact);
    *n = (struct need){};
}

/* How unlikely a byte is in an ordinary log: letters that words are made of are everywhere. */
static unsigned rarity(char c)
{
    static const char common[] = " etaoinsrlcdumpgfhbyv_.-:=/,wkx0123456789z";
    const char *at = c != '\0' ? strchr(common, c) : NULL;

    return at ? 4 + (unsigned) (at - common) / 8 : 10;
}

/* The length of a clause's shortest literal, 0 for an empty one. */
static size_t shortest(const struct required_clause *c)
{
    size_t least = c->n > 0 ? SIZE_MAX : 0;

    for (size_t i = 0; i < c->n; i++)
        least = MIN(least, strlen(c->literals[i].text));
    return least;
}

/* How much a clause narrows the search: that of its most likely literal, less a little for each
 * alternative. */
static unsigned worth(const struct required_clause *c)
{
    unsigned least = 0;

    for (size_t i = 0; i < c->n; i++) {
        const char *s = c->literals[i].text;
        unsigned sum = 0;

        for (size_t k = 0; s[k] != '\0' && k < 16; k++)
            sum += rarity(s[k]);
        least = i == 0 ? sum : MIN(least, sum);
    }
    return least > c->n ? least - (unsigned) c->n : 1;
}

/* The best clause whose literals have at least min bytes; NULL if there is none. */
static const struct required_clause *best_clause(const struct need *n, size_t min)
{
    const struct required_clause *best = NULL;

    for (size_t i = 0; i < n->n; i++) {
        if (shortest(&n->clauses[i]) >= min && (!best || worth(&n->clauses[i]) > worth(best)))
            best = &n->clauses[i];
    }
    return best;
}

/* Takes the clause over. */
static int push_clause(struct need *n, struct required_clause *c)
{
    struct required_clause *grown = reallocarray(n->clauses, n->n + 1, sizeof(*grown));

    if (!grown) {
        clause_release(c);
        return -ENOMEM;
    }
    n->clauses = grown;
    n->clauses[n->n++] = *c;
    *c = (struct required_clause){};
    return 0;
}

static int push_literal(struct required_clause *c, const char *text, size_t min_before, size_t max_before)
{
    struct required_literal *grown = reallocarray(c->literals, c->n + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    c->literals = grown;
    c->literals[c->n] = (struct required_literal){.text = strdup(text), .min_before = min_before,
                                                  .max_before = max_before};
    if (!c->literals[c->n].text)
        return -ENOMEM;
    c->n++;
    return 0;
}

/* What literals in a row can be, character by character and group by group. */
struct run {
    char **texts; /* NULL: nothing yet */
    size_t min_before;
    size_t max_before;
    bool broken; /* something else stood before it, or a run did */
};

/* The run becomes a clause of its own. */
static int end_run(struct run *run, struct need *n)
{
    struct required_clause c = {};
    int r = 0;

    for (size_t i = 0; r == 0 && run->texts && run->texts[i]; i++)
        r = push_literal(&c, run->texts[i], run->min_before, run->max_before);
    if (r == 0 && c.n > 0)
        r = push_clause(n, &c);
    clause_release(&c);
    strv_free(run->texts);
    run->texts = NULL;
    run->broken = true;
    return r;
}

static int append_to_text(char **text, const char *more)
{
    size_t length = strlen(*text), n = strlen(more) + 1;
    char *grown = realloc(*text, length + n);

    if (!grown)
        return -ENOMEM;
    memcpy(grown + length, more, n);
    *text = grown;
    return 0;
}

static int append_to_run(struct run *run, const char *more)
{
    int r = 0;

    for (size_t i = 0; r == 0 && run->texts[i]; i++)
        r = append_to_text(&run->texts[i], more);
    return r;
}

/* Each text of the run with each of `more` behind it. */
static int multiply_run(struct run *run, const struct need *n, char *const *more)
{
    _cleanup_strv_ char **product = NULL;
    char *nothing[] = {(char[]){""}, NULL}, *const *texts = run->texts ? run->texts : nothing;

    if (run->texts && !more[1])
        return append_to_run(run, more[0]);
    for (size_t i = 0; texts[i]; i++) {
        for (size_t k = 0; more[k]; k++) {
            _cleanup_free_ char *text = str_format("%s%s", texts[i], more[k]);

            if (!text || strv_push(&product, text) < 0)
                return -ENOMEM;
        }
    }
    if (!run->texts) {
        run->min_before = n->min_width;
        run->max_before = n->max_width;
    }
    strv_free(run->texts);
    run->texts = steal_pointer(&product);
    return 0;
}

static void widen(struct need *n, size_t min, size_t max, const struct regex_token *t)
{
    n->min_width = add(n->min_width, multiply(min, t->min_count));
    n->max_width = add(n->max_width, max == 0 ? 0 : multiply(max, t->max_count));
}

/* Whether the run can go on with any of `more`, or perhaps with none of them. */
static bool can_extend(const struct run *run, char *const *more, const struct regex_token *t)
{
    size_t alternatives = strv_length(more) + (t->min_count == 0);

    return more && t->min_count <= 1 && t->max_count == 1 &&
        MAX(strv_length(run->texts), (size_t) 1) * alternatives <= EXACT_MAX;
}

static int extend_run(struct run *run, const struct need *n, char *const *more, const struct regex_token *t)
{
    _cleanup_strv_ char **all = NULL;
    int r = strv_copy(more, &all);

    if (r == 0 && t->min_count == 0)
        r = strv_push(&all, "");
    return r == 0 ? multiply_run(run, n, all) : r;
}

/* A literal, perhaps with a quantifier: "ab+c" has "ab" in it, then "c". */
static int add_literal(struct run *run, struct need *n, const struct regex_token *t)
{
    char text[sizeof(t->bytes) + 1] = "", *const alone[] = {text, NULL};
    int r;

    for (size_t i = 0; i < t->n_bytes; i++)
        text[i] = ascii_lower(t->bytes[i]);
    if (can_extend(run, alone, t)) {
        r = extend_run(run, n, alone, t);
    } else {
        r = t->min_count > 0 ? multiply_run(run, n, alone) : 0;
        r = r == 0 ? end_run(run, n) : r;
    }
    widen(n, t->n_bytes, t->n_bytes, t);
    return r;
}

/* What a group requires, it requires of what it stands in, where it must occur at all. */
static int add_group(struct run *run, struct need *n, struct need *group, const struct regex_token *t)
{
    bool extends = can_extend(run, group->exact, t);
    int r = extends ? extend_run(run, n, group->exact, t) : end_run(run, n);

    for (size_t i = 0; r == 0 && !extends && t->min_count > 0 && i < group->n; i++) {
        struct required_clause *c = &group->clauses[i];

        for (size_t k = 0; k < c->n; k++) {
            c->literals[k].min_before = add(c->literals[k].min_before, n->min_width);
            c->literals[k].max_before = add(c->literals[k].max_before, n->max_width);
        }
        r = push_clause(n, c);
    }
    widen(n, group->min_width, group->max_width, t);
    return r;
}

static int parse_alternatives(struct regex *x, unsigned depth, struct need *ret);

static int add_token(struct regex *x, unsigned depth, const struct regex_token *t, struct run *run,
                     struct need *n)
{
    struct need group = {};
    struct regex_token closed = *t;
    int r;

    switch (t->kind) {
    case REGEX_LITERAL:
        return add_literal(run, n, t);
    case REGEX_CLASS:
        widen(n, 1, t->max_bytes, t);
        return end_run(run, n);
    case REGEX_NOTHING:
        return 0;
    case REGEX_OPEN:
        r = parse_alternatives(x, depth + 1, &group);
        if (r == 0) {
            regex_quantify(x, &closed);
            r = add_group(run, n, &group, &closed);
        }
        need_release(&group);
        return r;
    case REGEX_OPEN_ASIDE:
        r = parse_alternatives(x, depth + 1, &group);
        if (r == 0)
            regex_quantify(x, &closed);
        need_release(&group);
        return r;
    case REGEX_CLOSE:
    case REGEX_OR:
    case REGEX_END:
    case REGEX_ALIEN:
        break;
    }
    return -EINVAL;
}

/* One alternative, up to what ends it, which is left in *ret_end. */
static int parse_sequence(struct regex *x, unsigned depth, struct need *ret, enum regex_kind *ret_end)
{
    struct need n = {};
    struct run run = {};
    int r = 0;

    n.at_start = *x->s == '^';
    while (r == 0) {
        struct regex_token t = regex_next(x);

        if (t.kind == REGEX_OR || t.kind == REGEX_CLOSE || t.kind == REGEX_END) {
            *ret_end = t.kind;
            break;
        }
        r = add_token(x, depth, &t, &run, &n);
    }
    if (r == 0 && !run.broken && run.texts)
        r = strv_copy(run.texts, &n.exact);
    if (r == 0)
        r = end_run(&run, &n);
    strv_free(run.texts);
    if (r < 0)
        need_release(&n);
    else
        *ret = n;
    return r;
}

/* Of each alternative its best clause: one of all these must occur. */
static int unite(struct required_clause *all, const struct need *n, bool *useless)
{
    const struct required_clause *best = best_clause(n, REQUIRED_MIN_BYTES);
    int r = 0;

    if (!best)
        best = best_clause(n, REQUIRED_MIN_CONDITION_BYTES);

    *useless = *useless || !best || all->n + best->n > REQUIRED_MAX_LITERALS;
    for (size_t i = 0; !*useless && r == 0 && i < best->n; i++) {
        const struct required_literal *l = &best->literals[i];

        r = push_literal(all, l->text, l->min_before, l->max_before);
    }
    return r;
}

/* What all alternatives together can match; nothing once one of them is not known. */
static int unite_exact(char ***all, const struct need *n, bool *known)
{
    int r = 0;

    *known = *known && n->exact && strv_length(*all) + strv_length(n->exact) <= EXACT_MAX;
    for (size_t i = 0; *known && r == 0 && n->exact[i]; i++)
        r = strv_push(all, n->exact[i]);
    return r;
}

static int parse_more(struct regex *x, unsigned depth, struct need *first, struct need *ret)
{
    _cleanup_strv_ char **exact = NULL;
    struct required_clause all = {};
    struct need next = {};
    bool useless = false, known = true;
    enum regex_kind end = REGEX_OR;
    size_t min = first->min_width, max = first->max_width;
    int r = unite(&all, first, &useless);

    if (r == 0)
        r = unite_exact(&exact, first, &known);
    while (r == 0 && end == REGEX_OR) {
        r = parse_sequence(x, depth, &next, &end);
        if (r < 0)
            break;
        r = unite(&all, &next, &useless);
        if (r == 0)
            r = unite_exact(&exact, &next, &known);
        min = MIN(min, next.min_width);
        max = MAX(max, next.max_width);
        need_release(&next);
    }
    if (r == 0 && end != (depth > 0 ? REGEX_CLOSE : REGEX_END))
        r = -EINVAL;
    *ret = (struct need){.min_width = min, .max_width = max, .exact = known ? steal_pointer(&exact) : NULL};
    if (r == 0 && !useless)
        r = push_clause(ret, &all);
    clause_release(&all);
    return r;
}

/* *ret is to be released even after a failure. */
static int parse_alternatives(struct regex *x, unsigned depth, struct need *ret)
{
    enum regex_kind end = REGEX_END;
    struct need first = {};
    int r = depth > REGEX_MAX_DEPTH ? -EINVAL : parse_sequence(x, depth, &first, &end);

    if (r < 0)
        return r;
    if (end == REGEX_OR) {
        r = parse_more(x, depth, &first, ret);
        need_release(&first);
        return r;
    }
    *ret = first;
    return end == (depth > 0 ? REGEX_CLOSE : REGEX_END) ? 0 : -EINVAL;
}

/* Moves the best clauses over, the best one first. */
static void choose(struct need *n, struct required *ret)
{
    while (ret->n < REQUIRED_MAX_CLAUSES) {
        const struct required_clause *best =
            best_clause(n, ret->n == 0 ? REQUIRED_MIN_BYTES : REQUIRED_MIN_CONDITION_BYTES);

        if (!best)
            return;
        ret->clauses[ret->n++] = *best;
        n->clauses[best - n->clauses] = (struct required_clause){};
    }
}

int required_parse(const char *pattern, struct required *ret)
{
    struct regex x = {.s = pattern};
    struct need n = {};
    int r = parse_alternatives(&x, 0, &n);

    if (r == 0)
        choose(&n, ret);
    ret->at_start = r == 0 && n.at_start;
    need_release(&n);
    return r == -EINVAL ? 0 : r;
}

void required_release(struct required *r)
{
    for (size_t i = 0; i < r->n; i++)
        clause_release(&r->clauses[i]);
    *r = (struct required){};
}
