/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/diagnosis/candidate.h"
#include "core/diagnosis/circumstance.h"
#include "core/diagnosis/fingerprint.h"
#include "core/diagnosis/template.h"

/* Parts of one message do not lie further apart, whatever other ranks print in between. */
#define MERGE_RECORDS 200

/* What a summary has room for. */
#define SUMMARY_CAPTURES 4
#define SUMMARY_VALUE_BYTES ((size_t) 100)

#define UNKNOWN "unknown"

#define X(constant, text) text,
static const char *const outcome_texts[] = {OUTCOMES(X)};
#undef X

const char *outcome_text(enum outcome o)
{
    return outcome_texts[o];
}

/* The question at hand. */
struct question {
    const struct evidence *evidence;
    const struct circumstances *circumstances;
    bool failed;  /* for certain */
    bool echoing; /* the last phase has a line that tells of a failure, though perhaps not why */
};

static bool tells_of_failure(const struct candidate *c)
{
    enum rank rank = c->signature->rank;

    return rank == RANK_CAUSE || rank == RANK_WRAPPER || rank == RANK_SECONDARY;
}

static bool needs_something(const struct signature *s)
{
    return s->needs.n > 0 || s->needs_failure;
}

/* Whether it counts, as far as that does not depend on what became of the server. */
static bool counts_by_itself(const struct candidate *c)
{
    return !c->foreign && !c->excluded && (c->accompanied || !needs_something(c->signature));
}

static bool counts(const struct question *q, const struct candidate *c)
{
    if (counts_by_itself(c))
        return true;
    return !c->foreign && !c->excluded && c->signature->needs_failure && q->failed;
}

static struct question ask(const struct evidence *e, const struct circumstances *c)
{
    struct question q = {.evidence = e, .circumstances = c, .failed = c->ending != ENDING_NONE};

    for (size_t i = 0; i < e->n; i++) {
        const struct candidate *k = &e->items[i];

        if (counts_by_itself(k) && tells_of_failure(k)) {
            q.failed = true;
            q.echoing = q.echoing || k->era == e->era;
        }
    }
    return q;
}

static enum weight weight_of_old(const struct question *q, const struct candidate *c)
{
    if (c->signature->rank == RANK_CAUSE && q->echoing)
        return WEIGHT_OLD_CAUSE;
    return tells_of_failure(c) && q->circumstances->ending != ENDING_NONE ? WEIGHT_SECONDARY : WEIGHT_NOTHING;
}

static enum weight weight_of(const struct question *q, const struct candidate *c)
{
    if (!counts(q, c))
        return WEIGHT_NOTHING;
    if (c->era < q->evidence->era && c->signature->rank != RANK_BENIGN)
        return weight_of_old(q, c);
    switch (c->signature->rank) {
    case RANK_CAUSE:
        return WEIGHT_CAUSE;
    case RANK_SUSPECT:
        return WEIGHT_SUSPECT;
    case RANK_WRAPPER:
        return WEIGHT_WRAPPER;
    case RANK_SECONDARY:
        return WEIGHT_SECONDARY;
    case RANK_BENIGN:
        return q->circumstances->ending == ENDING_NONE ? WEIGHT_BENIGN : WEIGHT_NOTHING;
    case RANK_CONTEXT:
    case RANK_HEALTH:
    case N_RANKS:
        break;
    }
    return WEIGHT_NOTHING;
}

/* Whether a, of weight wa, explains more than b. Candidates stand in the order of their records; in one
 * record the innermost message is the last. */
static bool is_better(enum weight wa, const struct candidate *a, enum weight wb, const struct candidate *b)
{
    if (!b || wa != wb)
        return !b || wa < wb;
    return a->record == b->record && a->start > b->start;
}

/* The best line, of one class only where that is given; NULL when none explains anything. */
static const struct candidate *best_line(const struct question *q, const char *class_name, enum weight *ret)
{
    const struct candidate *best = NULL, *end = q->evidence->items + q->evidence->n;

    *ret = WEIGHT_NOTHING;
    for (const struct candidate *c = q->evidence->items; c < end; c++) {
        enum weight weight = weight_of(q, c);

        if (weight == WEIGHT_NOTHING || (class_name && !str_equal(c->signature->class->name, class_name)))
            continue;
        if (is_better(weight, c, *ret, best)) {
            best = c;
            *ret = weight;
        }
    }
    return best;
}

/* NULL when the circumstances explain more than any line. */
static const struct candidate *choose(const struct question *q, struct circumstance *ret_circumstance)
{
    enum weight weight;
    const struct candidate *line = best_line(q, NULL, &weight);

    *ret_circumstance = circumstance_judge(q->circumstances);
    if (line && weight < ret_circumstance->weight)
        return line;
    return best_line(q, ret_circumstance->class_name, &weight);
}

static enum outcome outcome_of(const struct question *q, const struct candidate *c,
                               const struct candidate *root)
{
    enum weight weight = weight_of(q, c);

    if (c == root && c->signature->rank != RANK_BENIGN)
        return OUTCOME_ROOT_CAUSE;
    if (c->foreign)
        return OUTCOME_FOREIGN;
    if (c->excluded)
        return OUTCOME_EXCLUDED;
    if (c->signature->rank == RANK_BENIGN)
        return OUTCOME_BENIGN;
    if (!counts(q, c))
        return OUTCOME_MISSING;
    if (weight == WEIGHT_NOTHING || weight == WEIGHT_OLD_CAUSE)
        return OUTCOME_SURVIVED;
    return root && weight == weight_of(q, root) && c->record > root->record ? OUTCOME_LATER : OUTCOME_LESSER;
}

int evidence_findings(const struct evidence *e, const struct circumstances *c, finding_fn fn, void *userdata)
{
    struct question q = ask(e, c);
    struct circumstance circumstance;
    const struct candidate *root = choose(&q, &circumstance);

    for (size_t i = 0; i < e->n; i++) {
        const struct candidate *k = &e->items[i];
        struct finding f = {.signature = k->signature, .outcome = outcome_of(&q, k, root),
                            .line_number = k->number, .line = k->line, .seen = k->seen};
        int r = fn(&f, userdata);

        if (r != 0)
            return r;
    }
    return 0;
}

static int add_missing_captures(const struct candidate *c, struct capture **captures, size_t *n)
{
    _cleanup_free_ struct capture *missing = calloc(c->n_captures + 1, sizeof(*missing));
    struct capture *both, *copy = NULL;
    size_t n_missing = 0, n_copy;
    int r;

    if (!missing)
        return -ENOMEM;
    for (size_t i = 0; i < c->n_captures; i++) {
        if (!captures_value(*captures, *n, c->captures[i].name))
            missing[n_missing++] = c->captures[i];
    }
    if (n_missing == 0)
        return 0;
    r = captures_copy(missing, n_missing, NULL, &copy, &n_copy);
    if (r < 0)
        return r;
    both = reallocarray(*captures, *n + n_copy, sizeof(*both));
    if (!both) {
        captures_free(copy, n_copy);
        return -ENOMEM;
    }
    memcpy(both + *n, copy, n_copy * sizeof(*both));
    free(copy);
    *captures = both;
    *n += n_copy;
    return 0;
}

static bool belongs_to(const struct question *q, const struct candidate *c, const struct candidate *root)
{
    uint64_t distance = MAX(c->record, root->record) - MIN(c->record, root->record);

    return c != root && c->signature->class == root->signature->class && distance <= MERGE_RECORDS &&
        weight_of(q, c) != WEIGHT_NOTHING;
}

/* The root line's own captures, and what other lines of its class add to them. */
static int merge_captures(const struct question *q, const struct candidate *root, struct root_cause *ret)
{
    int r = captures_copy(root->captures, root->n_captures, NULL, &ret->captures, &ret->n_captures);

    for (size_t i = 0; r == 0 && i < q->evidence->n; i++) {
        const struct candidate *c = &q->evidence->items[i];

        if (belongs_to(q, c, root))
            r = add_missing_captures(c, &ret->captures, &ret->n_captures);
    }
    return r;
}

static const char *hint_value(const char *name, const void *userdata)
{
    const struct root_cause *r = userdata;

    return captures_value(r->captures, r->n_captures, name);
}

/* A hint that needs what was not captured gives way to the class's. */
static int fill_hint(const struct signature *s, const struct class *class, struct root_cause *ret)
{
    int r = 0;

    if (s && s->hint)
        r = template_fill(s->hint, hint_value, ret, &ret->hint);
    if (r == 0 && !ret->hint && class && class->hint)
        r = template_fill(class->hint, hint_value, ret, &ret->hint);
    return r;
}

/* What tells this cause from others of its class. */
static bool is_shown(const struct signature *s, const char *name)
{
    if (s->fingerprint)
        return strv_contains(s->fingerprint, name);
    return !str_equal(name, TEMPLATE_RANK);
}

static void append_captures(struct strbuf *b, const struct signature *s, const struct root_cause *r)
{
    size_t shown = 0, all = 0;

    for (size_t i = 0; i < r->n_captures; i++)
        all += is_shown(s, r->captures[i].name);
    for (size_t i = 0; i < r->n_captures && shown < SUMMARY_CAPTURES; i++) {
        const char *value = r->captures[i].value;

        if (!is_shown(s, r->captures[i].name))
            continue;
        strbuf_append(b, shown++ == 0 ? ": " : ", ");
        if (all > 1)
            strbuf_appendf(b, "%s ", r->captures[i].name);
        strbuf_append_n(b, value, utf8_cut(value, strlen(value), SUMMARY_VALUE_BYTES));
    }
}

/* A line's signature, or what happened; the other is NULL. */
static char *summarise(const char *class_name, const struct class *class, const struct signature *s,
                       const struct root_cause *r, const char *happened)
{
    struct strbuf b = {};

    strbuf_append(&b, class_name);
    if (class)
        strbuf_appendf(&b, ": %s", class->text);
    if (s)
        append_captures(&b, s, r);
    if (!str_empty(happened))
        strbuf_appendf(&b, ": %s", happened);
    return strbuf_steal(&b);
}

static struct class_policy policy_of(const struct class *class)
{
    return class ? class->policy
                 : (struct class_policy){.retry = RETRY_BACKOFF, .retry_serving = RETRY_BACKOFF,
                                         .repeat_serving = UINT64_MAX};
}

static int explain_by_line(const struct question *q, const struct candidate *c, struct root_cause *ret)
{
    const struct signature *s = c->signature;
    int r = merge_captures(q, c, ret);

    if (r == 0)
        r = strv_copy(c->before, &ret->before);
    if (r == 0)
        r = strv_copy(c->after, &ret->after);
    if (r == 0)
        r = fill_hint(s, s->class, ret);
    if (r < 0)
        return r;
    ret->line_number = c->number;
    ret->policy = s->class->policy;
    ret->cleanup = s->class->cleanup;
    ret->fatal = s->rank != RANK_BENIGN;
    ret->class_name = strdup(s->class->name);
    ret->signature = strdup(s->id);
    ret->line = strdup(c->line);
    ret->summary = summarise(s->class->name, s->class, s, ret, NULL);
    ret->fingerprint = fingerprint_of_line(s, c->captures, c->n_captures);
    return ret->class_name && ret->signature && ret->line && ret->summary && ret->fingerprint ? 0 : -ENOMEM;
}

static int copy_last_lines(const struct evidence *e, char ***ret)
{
    uint64_t first = ring_first(e->recent);

    for (uint64_t i = first; first > 0 && i <= ring_last(e->recent); i++) {
        if (strv_push(ret, ring_get(e->recent, i)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int explain_by_circumstances(const struct question *q, const char *class_name, struct root_cause *ret)
{
    const struct class *class = catalog_class(q->evidence->catalog, class_name);
    _cleanup_free_ char *happened = circumstance_describe(q->circumstances);
    int r = happened ? fill_hint(NULL, class, ret) : -ENOMEM;

    if (r < 0)
        return r;
    r = copy_last_lines(q->evidence, &ret->before);
    if (r < 0)
        return r;
    ret->policy = policy_of(class);
    ret->cleanup = class ? class->cleanup : CLEANUP_NONE;
    ret->fatal = q->circumstances->ending != ENDING_NONE;
    ret->class_name = strdup(class_name);
    ret->summary = summarise(class_name, class, NULL, ret, happened);
    ret->fingerprint = fingerprint_of_circumstances(class_name, q->circumstances);
    return ret->class_name && ret->summary && ret->fingerprint ? 0 : -ENOMEM;
}

int evidence_root_cause(const struct evidence *e, const struct circumstances *c, struct root_cause *ret)
{
    struct question q = ask(e, c);
    struct circumstance circumstance;
    const struct candidate *line = choose(&q, &circumstance);
    struct root_cause cause = {};
    int r = line ? explain_by_line(&q, line, &cause)
                 : explain_by_circumstances(&q, circumstance.class_name, &cause);

    if (r < 0)
        root_cause_release(&cause);
    else
        *ret = cause;
    return r;
}

void root_cause_release(struct root_cause *r)
{
    free(r->class_name);
    free(r->signature);
    captures_free(r->captures, r->n_captures);
    free(r->line);
    strv_free(r->before);
    strv_free(r->after);
    free(r->summary);
    free(r->hint);
    free(r->fingerprint);
    *r = (struct root_cause){};
}
