/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/evidence.h"

#include <errno.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/diagnosis/candidate.h"
#include "core/diagnosis/template.h"

#define CANDIDATES_MAX ((size_t) 64)
/* Of one signature with different captures. */
#define CANDIDATES_PER_SIGNATURE 4
#define LINE_MAX_BYTES ((size_t) 4096)
#define NEIGHBOUR_MAX_BYTES ((size_t) 512)
#define COVERED_RECORDS 200
/* Signs of health after which what came before explains nothing any more. */
#define HEALTHY_ERAS 4
/* The last words of a server that dies without a line to blame. */
#define RECENT_RECORDS 10
#define PIDS_MAX ((size_t) 4096)

int evidence_new(const struct catalog *catalog, struct evidence **ret)
{
    _cleanup_(evidence_freep) struct evidence *e = calloc(1, sizeof(*e));
    int r;

    if (!e)
        return -ENOMEM;
    e->catalog = catalog;
    r = ring_new(RECENT_RECORDS, RECENT_RECORDS * LINE_MAX_BYTES, &e->recent);
    if (r < 0)
        return r;
    e->items = calloc(CANDIDATES_MAX, sizeof(*e->items));
    e->seen_at = calloc(catalog->n_signatures + 1, sizeof(*e->seen_at));
    if (!e->items || !e->seen_at)
        return -ENOMEM;
    *ret = steal_pointer(&e);
    return 0;
}

static void candidate_release(struct candidate *c)
{
    captures_free(c->captures, c->n_captures);
    free(c->line);
    strv_free(c->before);
    strv_free(c->after);
    *c = (struct candidate){};
}

static void drop_candidates(struct evidence *e)
{
    for (size_t i = 0; i < e->n; i++)
        candidate_release(&e->items[i]);
    e->n = 0;
    e->open_until = 0;
}

void evidence_free(struct evidence *e)
{
    if (!e)
        return;
    if (e->items)
        drop_candidates(e);
    free(e->items);
    free(e->seen_at);
    free(e->pids);
    ring_free(e->recent);
    free(e);
}

void evidence_reset(struct evidence *e)
{
    drop_candidates(e);
    ring_clear(e->recent);
    memset(e->seen_at, 0, e->catalog->n_signatures * sizeof(*e->seen_at));
    free(e->pids);
    *e = (struct evidence){.catalog = e->catalog, .recent = e->recent, .items = e->items,
                           .seen_at = e->seen_at};
}

static void rebase_candidates(struct evidence *e, const struct catalog *catalog)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->n; i++) {
        struct candidate *c = &e->items[i];

        c->signature = catalog_signature(catalog, c->signature->id);
        if (c->signature)
            e->items[kept++] = *c;
        else
            candidate_release(c);
    }
    e->n = kept;
}

int evidence_rebase(struct evidence *e, const struct catalog *catalog)
{
    uint64_t *seen_at = calloc(catalog->n_signatures + 1, sizeof(*seen_at));

    if (!seen_at)
        return -ENOMEM;
    for (size_t i = 0; i < e->catalog->n_signatures; i++) {
        const struct signature *s = catalog_signature(catalog, e->catalog->signatures[i].id);

        if (s)
            seen_at[s - catalog->signatures] = e->seen_at[i];
    }
    rebase_candidates(e, catalog);
    free(e->seen_at);
    e->seen_at = seen_at;
    e->catalog = catalog;
    return 0;
}

void evidence_own(struct evidence *e, pid_t pid)
{
    if (!e->pids)
        e->pids = calloc(PIDS_MAX, sizeof(*e->pids));
    if (e->pids)
        e->pids[e->n_pids++ % PIDS_MAX] = pid;
}

static bool is_own(const struct evidence *e, pid_t pid)
{
    for (size_t i = 0; i < MIN(e->n_pids, PIDS_MAX); i++) {
        if (e->pids[i] == pid)
            return true;
    }
    return false;
}

void evidence_next_phase(struct evidence *e)
{
    e->era++;
}

void evidence_survived(struct evidence *e)
{
    drop_candidates(e);
    e->era++;
}

void evidence_healthy(struct evidence *e)
{
    size_t kept = 0;

    e->era++;
    for (size_t i = 0; i < e->n; i++) {
        if (e->items[i].era + HEALTHY_ERAS < e->era)
            candidate_release(&e->items[i]);
        else
            e->items[kept++] = e->items[i];
    }
    e->n = kept;
}

void evidence_close(struct evidence *e)
{
    e->closed = true;
}

/* Whose neighbourhood is still being collected gets the record, too. */
static int hand_to_neighbours(struct evidence *e, const struct record *r)
{
    _cleanup_free_ char *line = NULL;

    if (e->record > e->open_until)
        return 0;
    line = strndup(r->raw, utf8_cut(r->raw, r->raw_len, NEIGHBOUR_MAX_BYTES));
    if (!line)
        return -ENOMEM;
    for (size_t i = 0; i < e->n; i++) {
        struct candidate *c = &e->items[i];

        if (e->record > c->record && e->record - c->record <= NEIGHBOURS && strv_push(&c->after, line) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void update_cover(struct evidence *e, const struct record *r)
{
    if (r->prefixed || e->covered == 0)
        e->covering = false;
    else
        e->covered--;
}

int evidence_line(struct evidence *e, const struct record *r, enum log_source source)
{
    const char *rank = str_or_empty(r->rank);
    int n = ring_push(e->recent, r->raw, utf8_cut(r->raw, r->raw_len, LINE_MAX_BYTES), NULL);

    if (n < 0)
        return n;
    e->record++;
    e->number = r->line;
    e->source = source;
    memcpy(e->rank, rank, MIN(strlen(rank), sizeof(e->rank) - 1));
    e->rank[MIN(strlen(rank), sizeof(e->rank) - 1)] = '\0';
    update_cover(e, r);
    return hand_to_neighbours(e, r);
}

static bool contains(const struct signature_set *set, size_t index)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->indices[i] == index)
            return true;
    }
    return false;
}

/* Whether records a and b are near enough to each other for s; 0 stands for one that never was. */
static bool is_near(const struct signature *s, uint64_t a, uint64_t b)
{
    uint64_t distance = MAX(a, b) - MIN(a, b);

    return a > 0 && b > 0 && (s->near == 0 || distance <= s->near);
}

static bool any_near(const struct evidence *e, const struct signature *s, const struct signature_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        if (is_near(s, e->seen_at[set->indices[i]], e->record))
            return true;
    }
    return false;
}

/* What came before may have been waiting for this signature as its neighbour. */
static void tell_neighbours(struct evidence *e, size_t index)
{
    e->seen_at[index] = e->record;
    for (size_t i = 0; i < e->n; i++) {
        struct candidate *c = &e->items[i];

        if (!is_near(c->signature, c->record, e->record))
            continue;
        c->accompanied = c->accompanied || contains(&c->signature->needs, index);
        c->excluded = c->excluded || contains(&c->signature->unless, index);
    }
}

static bool same_captures(const struct candidate *c, const struct match *m)
{
    for (size_t i = 0; i < m->n_captures; i++) {
        const char *value = captures_value(c->captures, c->n_captures, m->captures[i].name);

        if (!str_equal(value, m->captures[i].value))
            return false;
    }
    return true;
}

/* The candidate that says the same already. One that its neighbours rule out does not. */
static struct candidate *find_equal(struct evidence *e, const struct match *m, size_t *ret_of_signature)
{
    *ret_of_signature = 0;
    for (size_t i = 0; i < e->n; i++) {
        struct candidate *c = &e->items[i];

        if (c->signature != m->signature || c->era != e->era)
            continue;
        ++*ret_of_signature;
        if (!c->excluded && same_captures(c, m))
            return c;
    }
    return NULL;
}

/* Of a full house the latest of the worst rank makes room, if the newcomer is better than that one. */
static bool make_room(struct evidence *e, const struct signature *s)
{
    size_t worst = 0;

    if (e->n < CANDIDATES_MAX)
        return true;
    for (size_t i = 1; i < e->n; i++) {
        if (e->items[i].signature->rank >= e->items[worst].signature->rank)
            worst = i;
    }
    if (e->items[worst].signature->rank <= s->rank)
        return false;
    candidate_release(&e->items[worst]);
    e->n--;
    memmove(&e->items[worst], &e->items[worst + 1], (e->n - worst) * sizeof(*e->items));
    return true;
}

static int copy_before(const struct evidence *e, struct candidate *c)
{
    uint64_t last = ring_last(e->recent), first = MAX(ring_first(e->recent), last - MIN(last, NEIGHBOURS));

    for (uint64_t i = MAX(first, (uint64_t) 1); i < last; i++) {
        const char *line = ring_get(e->recent, i);
        _cleanup_free_ char *copy = strndup(line, utf8_cut(line, strlen(line), NEIGHBOUR_MAX_BYTES));

        if (!copy || strv_push(&c->before, copy) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool is_foreign(const struct evidence *e, const struct match *m)
{
    const char *owner = m->signature->owner;
    const char *value = owner ? captures_value(m->captures, m->n_captures, owner) : NULL;
    int64_t pid;

    return value && e->n_pids > 0 && parse_i64(value, &pid) == 0 && !is_own(e, (pid_t) pid);
}

static int fill_candidate(const struct evidence *e, const struct match *m, struct candidate *c)
{
    const char *raw = ring_get(e->recent, ring_last(e->recent)), *rank = e->rank[0] ? e->rank : NULL;
    int r;

    *c = (struct candidate){
        .signature = m->signature, .number = e->number, .record = e->record, .start = m->start,
        .era = e->era, .seen = 1, .foreign = is_foreign(e, m),
        .accompanied = any_near(e, m->signature, &m->signature->needs),
        .excluded = any_near(e, m->signature, &m->signature->unless),
    };
    c->line = strdup(str_or_empty(raw));
    r = c->line ? captures_copy(m->captures, m->n_captures, rank, &c->captures, &c->n_captures) : -ENOMEM;
    return r < 0 ? r : copy_before(e, c);
}

static int add_candidate(struct evidence *e, const struct match *m)
{
    size_t of_signature;
    struct candidate *equal = find_equal(e, m, &of_signature);
    int r;

    if (equal) {
        equal->seen++;
        equal->accompanied = equal->accompanied || any_near(e, m->signature, &m->signature->needs);
        return 0;
    }
    if (of_signature >= CANDIDATES_PER_SIGNATURE || !make_room(e, m->signature))
        return 0;
    r = fill_candidate(e, m, &e->items[e->n]);
    if (r < 0) {
        candidate_release(&e->items[e->n]);
        return r;
    }
    e->n++;
    e->open_until = e->record + NEIGHBOURS;
    return 0;
}

int evidence_match(struct evidence *e, const struct match *m)
{
    if (!m->signature || e->closed)
        return 0;
    tell_neighbours(e, (size_t) (m->signature - e->catalog->signatures));
    if (m->signature->covers) {
        e->covering = true;
        e->covered = COVERED_RECORDS;
    } else if (e->covering && m->signature->rank != RANK_BENIGN) {
        return 0;
    }
    return m->signature->rank >= RANK_CONTEXT ? 0 : add_candidate(e, m);
}

void captures_free(struct capture *captures, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(captures[i].value);
    free(captures);
}

/* The name stands behind the value, in the same allocation. */
static int copy_capture(const char *name, const char *value, struct capture *captures, size_t *n)
{
    size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
    char *block = malloc(value_size + name_size);

    if (!block)
        return -ENOMEM;
    memcpy(block, value, value_size);
    memcpy(block + value_size, name, name_size);
    captures[(*n)++] = (struct capture){.name = block + value_size, .value = block};
    return 0;
}

int captures_copy(const struct capture *captures, size_t n, const char *rank, struct capture **ret,
                  size_t *ret_n)
{
    struct capture *copy = calloc(n + 1, sizeof(*copy));
    size_t copied = 0;
    int r = copy ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = copy_capture(captures[i].name, captures[i].value, copy, &copied);
    if (r == 0 && rank && !captures_value(copy, copied, TEMPLATE_RANK))
        r = copy_capture(TEMPLATE_RANK, rank, copy, &copied);
    if (r < 0) {
        captures_free(copy, copied);
        return r;
    }
    *ret = copy;
    *ret_n = copied;
    return 0;
}

const char *captures_value(const struct capture *captures, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_equal(captures[i].name, name))
            return captures[i].value;
    }
    return NULL;
}
