/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/catalog_draft.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/diagnosis/pattern.h"
#include "core/diagnosis/required.h"
#include "core/diagnosis/template.h"

#define NEAR_MAX 100000
#define BLANKS " \t"
#define NEEDS_FAILURE "@failure"
#define FINGERPRINT_NONE "-"

#define X(constant, name) name,
static const char *const rank_names[] = {RANKS(X)};
static const char *const cleanup_names[] = {CLEANUPS(X)};
#undef X
static const char *const source_names[] = {[LOG_SERVER] = "server", [LOG_KERNEL] = "kernel", [LOG_ANY] = "any"};

const char *rank_name(enum rank r)
{
    return rank_names[r];
}

const char *cleanup_name(enum cleanup c)
{
    return cleanup_names[c];
}

/* What is being understood, and where complaints go. */
struct finish {
    const struct catalog_draft *drafts;
    struct catalog *catalog;
    struct problems *problems;
    char ***groups; /* of each signature's patterns */
};

static int complain(struct finish *f, const struct unit_entry *e, const char *expected)
{
    return problems_add(f->problems, e->file, e->line, "%s=%.80s; expected %s", e->key, e->value, expected);
}

static int complain_head(struct finish *f, const struct draft *d, const char *what)
{
    return problems_add(f->problems, d->head->file, d->head->line, "[%s %s]: %s", d->head->section, d->name,
                        what);
}

static int copy_text(const struct unit_entry *e, char **ret)
{
    return str_replace(ret, e ? e->value : NULL);
}

/* One word of a list of names; *ret stays as it is when the key is not given. */
static int read_word(struct finish *f, const struct unit_entry *e, const char *const *names, size_t n,
                     const char *expected, size_t *ret)
{
    if (!e)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (str_equal(names[i], e->value)) {
            *ret = i;
            return 0;
        }
    }
    return complain(f, e, expected);
}

static int read_bool(struct finish *f, const struct unit_entry *e, bool *ret)
{
    return e && parse_bool(e->value, ret) < 0 ? complain(f, e, "yes or no") : 0;
}

static int read_near(struct finish *f, const struct unit_entry *e, size_t *ret)
{
    uint64_t n;

    if (!e)
        return 0;
    if (parse_u64(e->value, &n) < 0 || n > NEAR_MAX)
        return complain(f, e, "a number of records up to 100000");
    *ret = n;
    return 0;
}

static int read_list(const struct unit_entry *e, char ***ret)
{
    return e ? strv_split(e->value, BLANKS, ret) : 0;
}

static int read_retry(struct finish *f, const struct unit_entry *e, enum retry *ret)
{
    return e && retry_parse(e->value, ret) < 0
        ? complain(f, e, "never, backoff, slow or after-cleanup") : 0;
}

static int read_repeat(struct finish *f, const struct unit_entry *e, uint64_t *ret)
{
    if (!e)
        return 0;
    if (str_equal(e->value, "infinity"))
        *ret = UINT64_MAX;
    else if (parse_u64(e->value, ret) < 0)
        return complain(f, e, "a number or infinity");
    return 0;
}

static int read_policy(struct finish *f, const struct draft *d, struct class_policy *ret)
{
    int r;

    *ret = (struct class_policy){.retry = RETRY_BACKOFF, .repeat_serving = UINT64_MAX};
    r = read_retry(f, d->values[CLASS_RETRY], &ret->retry);
    if (r < 0)
        return r;
    ret->retry_serving = ret->retry;
    r = read_retry(f, d->values[CLASS_RETRY_SERVING], &ret->retry_serving);
    if (r == 0)
        r = read_repeat(f, d->values[CLASS_REPEAT], &ret->repeat);
    if (r == 0)
        r = read_repeat(f, d->values[CLASS_REPEAT_SERVING], &ret->repeat_serving);
    return r;
}

static int read_cleanup(struct finish *f, const struct draft *d, struct class *c)
{
    bool wanted = c->policy.retry == RETRY_AFTER_CLEANUP || c->policy.retry_serving == RETRY_AFTER_CLEANUP;
    size_t cleanup = CLEANUP_NONE;
    int r = read_word(f, d->values[CLASS_CLEANUP], cleanup_names, N_CLEANUPS,
                      "build-lock, cache or one-job", &cleanup);

    c->cleanup = (enum cleanup) cleanup;
    if (r < 0 || wanted == !!d->values[CLASS_CLEANUP])
        return r;
    return complain_head(f, d, wanted ? "after-cleanup needs Cleanup="
                                      : "Cleanup= needs Retry=after-cleanup or RetryServing=after-cleanup");
}

static int finish_class(struct finish *f, const struct draft *d)
{
    struct class *c = &f->catalog->classes[f->catalog->n_classes++];
    int r = str_replace(&c->name, d->name);

    if (r == 0)
        r = copy_text(d->values[CLASS_TEXT], &c->text);
    if (r == 0)
        r = copy_text(d->values[CLASS_HINT], &c->hint);
    if (r == 0 && !c->text)
        r = complain_head(f, d, "Text= is missing");
    if (r == 0)
        r = read_policy(f, d, &c->policy);
    return r == 0 ? read_cleanup(f, d, c) : r;
}

static bool is_enabled(const struct draft *d)
{
    const struct unit_entry *e = d->values[SIGNATURE_ENABLED];
    bool enabled = true;

    return !e || parse_bool(e->value, &enabled) < 0 || enabled;
}

/* Where draft i stands in the catalog. */
static size_t index_in_catalog(const struct draft_list *l, size_t i)
{
    size_t index = 0;

    for (size_t k = 0; k < i; k++)
        index += is_enabled(&l->items[k]);
    return index;
}

static int refer(struct finish *f, const struct unit_entry *e, const char *id, struct signature_set *set)
{
    const struct draft_list *all = &f->drafts->signatures;
    const struct draft *other = draft_find(all, id);
    size_t *grown;

    if (!other)
        return problems_add(f->problems, e->file, e->line, "%s= names %.60s; expected the id of a signature",
                            e->key, id);
    if (!is_enabled(other))
        return 0;
    grown = reallocarray(set->indices, set->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    set->indices = grown;
    set->indices[set->n++] = index_in_catalog(all, (size_t) (other - all->items));
    return 0;
}

static int read_references(struct finish *f, const struct unit_entry *e, struct signature_set *set,
                           bool *failure)
{
    _cleanup_strv_ char **ids = NULL;
    int r = read_list(e, &ids);

    for (size_t i = 0; r == 0 && ids && ids[i]; i++) {
        if (failure && str_equal(ids[i], NEEDS_FAILURE))
            *failure = true;
        else
            r = refer(f, e, ids[i], set);
    }
    return r;
}

static int read_context(struct finish *f, const struct draft *d, struct signature *s)
{
    const struct unit_entry *needs = d->values[SIGNATURE_NEEDS];
    size_t problems = f->problems->n;
    int r = read_references(f, needs, &s->needs, &s->needs_failure);

    if (r == 0)
        r = read_references(f, d->values[SIGNATURE_UNLESS], &s->unless, NULL);
    if (r == 0)
        r = read_near(f, d->values[SIGNATURE_NEAR], &s->near);
    if (r == 0 && needs && s->needs.n == 0 && !s->needs_failure && f->problems->n == problems)
        r = complain(f, needs, "a signature that is not switched off");
    return r;
}

static int read_class(struct finish *f, const struct draft *d, struct signature *s)
{
    const struct unit_entry *e = d->values[SIGNATURE_CLASS];

    if (e)
        s->class = catalog_class(f->catalog, e->value);
    if (s->rank >= RANK_CONTEXT)
        return e ? complain(f, e, "none with this rank") : 0;
    if (!e)
        return complain_head(f, d, "Class= is missing");
    return s->class ? 0 : complain(f, e, "the name of a class");
}

static int read_kind(struct finish *f, const struct draft *d, struct signature *s)
{
    const struct unit_entry *const *v = d->values;
    size_t rank = RANK_CAUSE, source = LOG_ANY;
    int r = read_word(f, v[SIGNATURE_RANK], rank_names, N_RANKS,
                      "cause, suspect, wrapper, secondary, benign, context or health", &rank);

    if (r == 0)
        r = read_word(f, v[SIGNATURE_SOURCE], source_names, ARRAY_SIZE(source_names),
                      "server, kernel or any", &source);
    if (r == 0)
        r = read_bool(f, v[SIGNATURE_DECISIVE], &s->decisive);
    if (r == 0)
        r = read_bool(f, v[SIGNATURE_COVERS], &s->covers);
    s->rank = (enum rank) rank;
    s->source = (enum log_source) source;
    if (r == 0 && s->decisive && s->rank >= RANK_BENIGN)
        r = complain(f, v[SIGNATURE_DECISIVE], "no with this rank");
    if (r == 0 && s->covers && s->rank != RANK_BENIGN)
        r = complain(f, v[SIGNATURE_COVERS], "Rank=benign with it");
    return r;
}

static int read_fingerprint(const struct unit_entry *e, struct signature *s)
{
    s->fingerprint_given = e;
    return e && !str_equal(e->value, FINGERPRINT_NONE) ? read_list(e, &s->fingerprint) : 0;
}

static int read_pattern(struct finish *f, const struct unit_entry *e, struct signature *s, char ***groups)
{
    _cleanup_strbuf_ struct strbuf why = {};
    _cleanup_strv_ char **own = NULL;
    _cleanup_required_ struct required required = {};
    int r = pattern_check(e->value, &own, &why);

    if (r == -EINVAL)
        return problems_add(f->problems, e->file, e->line, "Pattern=%.80s: %s", e->value,
                            str_or_empty(why.data));
    if (r == 0)
        r = required_parse(e->value, &required);
    if (r == 0 && required.n == 0)
        return problems_add(f->problems, e->file, e->line,
                            "Pattern=%.80s: expected %zu literal characters in a row in every alternative",
                            e->value, REQUIRED_MIN_BYTES);
    for (size_t i = 0; r == 0 && own && own[i]; i++)
        r = strv_contains(*groups, own[i]) ? 0 : strv_push(groups, own[i]);
    return r == 0 ? strv_push(&s->patterns, e->value) : r;
}

static int read_patterns(struct finish *f, const struct draft *d, struct signature *s, char ***groups)
{
    int r = 0;

    if (d->n_patterns == 0)
        return complain_head(f, d, "Pattern= is missing");
    for (size_t i = 0; r == 0 && i < d->n_patterns; i++)
        r = read_pattern(f, d->patterns[i], s, groups);
    return r;
}

/* `name` must be a capture of the signature, or the one that a prefix gives. */
static bool is_own_capture(char *const *groups, const char *name)
{
    return strv_contains(groups, name) || str_equal(name, TEMPLATE_RANK);
}

/* Other signatures of the class lend theirs where a message is broken over lines. */
static bool is_class_capture(const struct finish *f, const struct class *class, const char *name)
{
    for (size_t i = 0; class && i < f->catalog->n_signatures; i++) {
        if (f->catalog->signatures[i].class == class && strv_contains(f->groups[i], name))
            return true;
    }
    return false;
}

static int complain_capture(struct finish *f, const struct unit_entry *e, const char *name)
{
    return problems_add(f->problems, e->file, e->line, "%s= uses %.60s; expected a capture of the pattern",
                        e->key, name);
}

static int check_captures(struct finish *f, const struct draft *d, size_t index)
{
    const struct signature *s = &f->catalog->signatures[index];
    _cleanup_strv_ char **used = NULL;
    char **groups = f->groups[index];
    int r = s->hint ? template_names(s->hint, &used) : 0;

    for (size_t i = 0; r == 0 && used && used[i]; i++) {
        if (!is_own_capture(groups, used[i]) && !is_class_capture(f, s->class, used[i]))
            r = complain_capture(f, d->values[SIGNATURE_HINT], used[i]);
    }
    for (size_t i = 0; r == 0 && s->fingerprint && s->fingerprint[i]; i++) {
        if (!is_own_capture(groups, s->fingerprint[i]))
            r = complain_capture(f, d->values[SIGNATURE_FINGERPRINT], s->fingerprint[i]);
    }
    if (r == 0 && s->owner && !is_own_capture(groups, s->owner))
        r = complain_capture(f, d->values[SIGNATURE_OWNER], s->owner);
    return r;
}

/* The catalog's own copy of the file's name. */
static int read_place(struct finish *f, const struct draft *d, struct signature *s)
{
    struct catalog *c = f->catalog;
    size_t n = strv_length(c->files);
    int r;

    s->line = d->head->line;
    for (size_t i = 0; i < n && !s->file; i++) {
        if (str_equal(c->files[i], d->head->file))
            s->file = c->files[i];
    }
    if (s->file)
        return 0;
    r = strv_push(&c->files, d->head->file);
    if (r == 0)
        s->file = c->files[n];
    return r;
}

static int finish_signature(struct finish *f, const struct draft *d)
{
    size_t index = f->catalog->n_signatures++;
    struct signature *s = &f->catalog->signatures[index];
    int r = str_replace(&s->id, d->name);

    if (r == 0)
        r = read_place(f, d, s);
    if (r == 0)
        r = read_kind(f, d, s);
    if (r == 0)
        r = read_class(f, d, s);
    if (r == 0)
        r = read_list(d->values[SIGNATURE_ENGINE], &s->engines);
    if (r == 0)
        r = read_context(f, d, s);
    if (r == 0)
        r = read_fingerprint(d->values[SIGNATURE_FINGERPRINT], s);
    if (r == 0)
        r = copy_text(d->values[SIGNATURE_OWNER], &s->owner);
    if (r == 0)
        r = copy_text(d->values[SIGNATURE_HINT], &s->hint);
    return r == 0 ? read_patterns(f, d, s, &f->groups[index]) : r;
}

static int finish_signatures(struct finish *f)
{
    const struct draft_list *drafts = &f->drafts->signatures;
    size_t index = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < drafts->n; i++) {
        bool enabled = true;

        r = read_bool(f, drafts->items[i].values[SIGNATURE_ENABLED], &enabled);
        if (r == 0 && enabled)
            r = finish_signature(f, &drafts->items[i]);
    }
    for (size_t i = 0; r == 0 && i < drafts->n; i++) {
        if (is_enabled(&drafts->items[i]))
            r = check_captures(f, &drafts->items[i], index++);
    }
    return r;
}

int catalog_finish(const struct catalog_draft *d, struct catalog *c, struct problems *p)
{
    struct finish f = {.drafts = d, .catalog = c, .problems = p};
    int r = 0;

    c->classes = calloc(d->classes.n + 1, sizeof(*c->classes));
    c->signatures = calloc(d->signatures.n + 1, sizeof(*c->signatures));
    f.groups = calloc(d->signatures.n + 1, sizeof(*f.groups));
    if (!c->classes || !c->signatures || !f.groups)
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < d->classes.n; i++)
        r = finish_class(&f, &d->classes.items[i]);
    if (r == 0)
        r = finish_signatures(&f);
    for (size_t i = 0; f.groups && i < c->n_signatures; i++)
        strv_free(f.groups[i]);
    free(f.groups);
    return r;
}
