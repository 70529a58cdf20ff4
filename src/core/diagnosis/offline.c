/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/offline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/diagnosis/timestamp.h"
#include "core/diagnosis/trouble.h"

/* How far into a line a time stamp is looked for, and how much of it is compared. */
#define STAMP_MAX_OFFSET ((size_t) 40)
#define STAMP_LENGTH ((size_t) 29)
/* Fewer steps back in time prove nothing. */
#define BACKWARDS_MIN 2

/* Where one profile's phases lie among all, and how far it has come. */
struct progress {
    const struct phase_config *first;
    const struct phase_config *end;
    const struct phase_config *step;
};

struct offline {
    const struct catalog *catalog;
    struct normaliser *normaliser;
    struct matcher *matcher;
    struct evidence *evidence;
    struct phase_config *phases; /* shallow copies of all profiles' */
    struct progress *progress;
    size_t n_progress;
    const struct phase_config *last;
    struct trouble trouble;
    uint64_t backwards; /* the number of lines, when they were read from the last to the first */
    int error;
};

static int copy_phases(struct offline *o, const struct offline_profile *profiles, size_t n, size_t *ret_n)
{
    size_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += profiles[i].n_phases;
    o->phases = calloc(total + 1, sizeof(*o->phases));
    o->progress = calloc(n + 1, sizeof(*o->progress));
    if (!o->phases || !o->progress)
        return -ENOMEM;
    *ret_n = total;
    total = 0;
    for (size_t i = 0; i < n; i++) {
        struct phase_config *first = o->phases + total;

        for (size_t k = 0; k < profiles[i].n_phases; k++)
            first[k] = profiles[i].phases[k];
        total += profiles[i].n_phases;
        o->progress[o->n_progress++] = (struct progress){.first = first, .end = o->phases + total};
    }
    return 0;
}

int offline_new(const struct catalog *catalog, const char *engine, const struct offline_profile *profiles,
                size_t n_profiles, struct offline **ret, char ***ret_errors)
{
    _cleanup_(offline_freep) struct offline *o = calloc(1, sizeof(*o));
    size_t n_phases = 0;
    int r;

    if (!o)
        return -ENOMEM;
    o->catalog = catalog;
    r = copy_phases(o, profiles, n_profiles, &n_phases);
    if (r == 0)
        r = normaliser_new(&o->normaliser);
    if (r == 0)
        r = evidence_new(catalog, &o->evidence);
    if (r == 0)
        r = matcher_new(catalog, engine, o->phases, n_phases, &o->matcher, ret_errors);
    if (r < 0)
        return r;
    *ret = steal_pointer(&o);
    return 0;
}

void offline_free(struct offline *o)
{
    if (!o)
        return;
    normaliser_free(o->normaliser);
    matcher_free(o->matcher);
    evidence_free(o->evidence);
    trouble_release(&o->trouble);
    free(o->phases);
    free(o->progress);
    free(o);
}

static void begin_step(struct offline *o, const struct phase_config *step)
{
    for (size_t i = 0; i < o->n_progress; i++) {
        struct progress *p = &o->progress[i];

        if (step < p->first || step >= p->end || (p->step && step <= p->step))
            continue;
        p->step = o->last = step;
        evidence_next_phase(o->evidence);
    }
}

static void on_match(const struct match *m, void *userdata)
{
    struct offline *o = userdata;
    int r;

    if (m->phase) {
        begin_step(o, m->phase);
        return;
    }
    if (m->signature->rank == RANK_HEALTH)
        evidence_healthy(o->evidence);
    r = evidence_match(o->evidence, m);
    if (r < 0)
        o->error = r;
}

static void on_record(const struct record *record, void *userdata)
{
    struct offline *o = userdata;
    int r = evidence_line(o->evidence, record, LOG_ANY);

    if (r == 0)
        r = matcher_scan(o->matcher, LOG_ANY, record->text, record->len, on_match, o);
    if (r == 0)
        r = trouble_consider(&o->trouble, record->text);
    if (r < 0)
        o->error = r;
}

static int read_line(struct offline *o, const char *line, size_t len)
{
    int r = normalise_line(o->normaliser, line, len, on_record, o);

    return r < 0 ? r : o->error;
}

static size_t line_length(const char *text, size_t len)
{
    const char *newline = memchr(text, '\n', len);

    return newline ? (size_t) (newline - text) : len;
}

static int read_forwards(struct offline *o, const char *text, size_t len)
{
    while (len > 0) {
        size_t n = line_length(text, len);
        int r = read_line(o, text, n);

        if (r < 0)
            return r;
        n += n < len;
        text += n;
        len -= n;
    }
    return 0;
}

static int read_backwards(struct offline *o, const char *text, size_t len)
{
    len -= len > 0 && text[len - 1] == '\n';
    for (bool more = true; more; o->backwards++) {
        const char *newline = memrchr(text, '\n', len);
        const char *line = newline ? newline + 1 : text;
        int r = read_line(o, line, len - (size_t) (line - text));

        if (r < 0)
            return r;
        more = newline;
        len = newline ? (size_t) (newline - text) : 0;
    }
    return 0;
}

/* The first full date and time in the beginning of a line, as text that sorts by time; false if there is
 * none. */
static bool find_stamp(const char *line, size_t len, char out[STAMP_LENGTH + 1])
{
    char head[STAMP_MAX_OFFSET + STAMP_LENGTH + 1];
    size_t n = MIN(len, sizeof(head) - 1);

    memcpy(head, line, n);
    head[n] = '\0';
    for (const char *s = head; *s != '\0' && s < head + STAMP_MAX_OFFSET; s++) {
        size_t length = timestamp_is_full(s) ? (size_t) (timestamp_skip(s) - s) : 0;

        if (length == 0)
            continue;
        length = MIN(length, STAMP_LENGTH);
        memcpy(out, s, length);
        out[length] = '\0';
        out[strlen("2026-01-02")] = ' ';
        return true;
    }
    return false;
}

/* Some collectors show the newest line first. */
static bool runs_backwards(const char *text, size_t len)
{
    char before[STAMP_LENGTH + 1] = "", now[STAMP_LENGTH + 1];
    uint64_t back = 0, forth = 0;

    while (len > 0) {
        size_t n = line_length(text, len);

        if (find_stamp(text, n, now)) {
            int order = before[0] != '\0' ? strcmp(now, before) : 0;

            back += order < 0;
            forth += order > 0;
            memcpy(before, now, sizeof(before));
        }
        n += n < len;
        text += n;
        len -= n;
    }
    return back >= BACKWARDS_MIN && back > 2 * forth;
}

int offline_read(struct offline *o, const char *text, size_t len)
{
    return runs_backwards(text, len) ? read_backwards(o, text, len) : read_forwards(o, text, len);
}

/* Line numbers of the file, not of the reading. */
static uint64_t number_in_file(const struct offline *o, uint64_t number)
{
    return o->backwards > 0 && number > 0 ? o->backwards + 1 - number : number;
}

int offline_root_cause(const struct offline *o, struct root_cause *ret)
{
    int r = evidence_root_cause(o->evidence, &(struct circumstances){}, ret);

    if (r == 0)
        ret->line_number = number_in_file(o, ret->line_number);
    return r;
}

struct renumbering {
    const struct offline *offline;
    finding_fn fn;
    void *userdata;
};

static int renumber(const struct finding *f, void *userdata)
{
    const struct renumbering *r = userdata;
    struct finding in_file = *f;

    in_file.line_number = number_in_file(r->offline, f->line_number);
    return r->fn(&in_file, r->userdata);
}

int offline_findings(const struct offline *o, finding_fn fn, void *userdata)
{
    struct renumbering r = {.offline = o, .fn = fn, .userdata = userdata};

    return evidence_findings(o->evidence, &(struct circumstances){}, renumber, &r);
}

const char *offline_phase(const struct offline *o)
{
    return o->last ? o->last->name : NULL;
}

char *const *offline_likeliest(const struct offline *o)
{
    return o->trouble.lines;
}
