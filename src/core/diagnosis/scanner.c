/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/scanner.h"

#include <errno.h>
#include <hs/hs.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A text has no newlines, so MULTILINE and DOTALL change no meaning, but spare the automaton the
 * distinction. */
#define FLAGS (HS_FLAG_UTF8 | HS_FLAG_MULTILINE | HS_FLAG_DOTALL)

/* A pattern that ends in an unbounded repeat matches once for each further byte; a hostile text makes
 * many of them do so at once. */
#define CALLBACKS_PER_BYTE 4
#define CALLBACKS_AT_LEAST 4096

enum strength {
    STRENGTH_EXACT,  /* libhs finds exactly the matches, and their starts */
    STRENGTH_WEAK,   /* libhs finds more than the matches */
    STRENGTH_ALWAYS, /* libhs is of no help */
};

struct scanner {
    size_t n;
    enum strength *strengths;
    size_t n_always; /* patterns of STRENGTH_ALWAYS */
    hs_database_t *detector; /* NULL when no pattern suits libhs */
    hs_database_t *locator;
    hs_scratch_t *scratch;
    size_t *starts; /* of each pattern in the text at hand; SIZE_MAX: not seen */
    struct scan_hit *hits;
};

/* What libhs is given to compile. */
struct request {
    char **expressions; /* all n, in libhs's dialect */
    const char **list;  /* those that take part */
    unsigned *flags;
    unsigned *ids;
    size_t n;
};

/* The length of "(?<name>" or "(?P<name>" at s, 0 if there is none. */
static size_t group_name_length(const char *s)
{
    size_t opening = strncmp(s, "(?<", 3) == 0 ? 3 : strncmp(s, "(?P<", 4) == 0 ? 4 : 0;
    size_t name = opening > 0 ? strcspn(s + opening, ">") : 0;

    return name > 0 && s[opening] != '=' && s[opening] != '!' && s[opening + name] == '>'
        ? opening + name + 1 : 0;
}

/* The length of a bracketed class at s, up to its end or that of the pattern. A ] that comes first
 * belongs to it. */
static size_t class_length(const char *s)
{
    size_t i = 1;

    i += s[i] == '^';
    i += s[i] == ']';
    while (s[i] != '\0' && s[i] != ']')
        i += s[i] == '\\' && s[i + 1] != '\0' ? 2 : 1;
    return s[i] == ']' ? i + 1 : i;
}

/* What must be copied, or dropped, as a whole. */
static size_t token_length(const char *s)
{
    size_t name = group_name_length(s);

    if (name > 0)
        return name;
    if (*s == '\\' && s[1] != '\0')
        return 2;
    return *s == '[' ? class_length(s) : 1;
}

/* libhs refuses names that occur twice and has no use for any: (?<name>x) becomes (x). */
static char *without_group_names(const char *pattern)
{
    size_t n = strlen(pattern), length = 0;
    char *out = malloc(n + 1);

    if (!out)
        return NULL;
    for (size_t i = 0; i < n; ) {
        size_t whole = token_length(pattern + i), kept = group_name_length(pattern + i) > 0 ? 1 : whole;

        memcpy(out + length, pattern + i, kept);
        length += kept;
        i += whole;
    }
    out[length] = '\0';
    return out;
}

static bool accepts(const char *expression, unsigned flags)
{
    hs_compile_error_t *error = NULL;
    hs_expr_info_t *info = NULL;
    bool good = hs_expression_info(expression, flags, &info, &error) == HS_SUCCESS;

    free(info);
    if (error)
        (void) hs_free_compile_error(error);
    return good;
}

static enum strength classify(const char *expression)
{
    if (accepts(expression, FLAGS | HS_FLAG_SOM_LEFTMOST))
        return STRENGTH_EXACT;
    return accepts(expression, FLAGS | HS_FLAG_PREFILTER) ? STRENGTH_WEAK : STRENGTH_ALWAYS;
}

static void request_release(struct request *q, size_t n)
{
    for (size_t i = 0; q->expressions && i < n; i++)
        free(q->expressions[i]);
    free(q->expressions);
    free(q->list);
    free(q->flags);
    free(q->ids);
}

static int request_init(struct request *q, const char *const *patterns, struct scanner *s)
{
    q->expressions = calloc(s->n, sizeof(*q->expressions));
    q->list = calloc(s->n, sizeof(*q->list));
    q->flags = calloc(s->n, sizeof(*q->flags));
    q->ids = calloc(s->n, sizeof(*q->ids));
    if (!q->expressions || !q->list || !q->flags || !q->ids)
        return -ENOMEM;
    for (size_t i = 0; i < s->n; i++) {
        q->expressions[i] = without_group_names(patterns[i]);
        if (!q->expressions[i])
            return -ENOMEM;
        s->strengths[i] = classify(q->expressions[i]);
    }
    return 0;
}

static void request_fill(struct request *q, const struct scanner *s, unsigned exact_flags)
{
    q->n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->strengths[i] == STRENGTH_ALWAYS)
            continue;
        q->list[q->n] = q->expressions[i];
        q->ids[q->n] = (unsigned) i;
        q->flags[q->n] = FLAGS | (s->strengths[i] == STRENGTH_EXACT ? exact_flags : HS_FLAG_PREFILTER);
        q->n++;
    }
}

/* A pattern that libhs could parse may still be too large for it: it is weakened, then left out. */
static int weaken(struct request *q, struct scanner *s, int position)
{
    size_t id;

    if (position < 0 || (size_t) position >= q->n)
        return -ENOMEM;
    id = q->ids[position];
    s->strengths[id] = s->strengths[id] == STRENGTH_EXACT ? STRENGTH_WEAK : STRENGTH_ALWAYS;
    return 0;
}

static int compile(struct request *q, struct scanner *s, unsigned exact_flags, hs_database_t **ret)
{
    for (;;) {
        hs_compile_error_t *error = NULL;
        hs_error_t e;
        int r;

        request_fill(q, s, exact_flags);
        if (q->n == 0)
            return 0;
        e = hs_compile_multi(q->list, q->flags, q->ids, (unsigned) q->n, HS_MODE_BLOCK, NULL, ret, &error);
        if (e == HS_SUCCESS)
            return 0;
        r = e == HS_COMPILER_ERROR && error ? weaken(q, s, error->expression) : -ENOMEM;
        if (error)
            (void) hs_free_compile_error(error);
        if (r < 0)
            return r;
    }
}

/* The locator first: what it cannot take exactly is weak in both. */
static int compile_both(struct scanner *s, const char *const *patterns)
{
    struct request q = {};
    int r;

    r = request_init(&q, patterns, s);
    if (r == 0)
        r = compile(&q, s, HS_FLAG_SOM_LEFTMOST, &s->locator);
    if (r == 0)
        r = compile(&q, s, 0, &s->detector);
    request_release(&q, s->n);
    if (r < 0 || !s->locator)
        return r;
    if (hs_alloc_scratch(s->locator, &s->scratch) != HS_SUCCESS ||
        hs_alloc_scratch(s->detector, &s->scratch) != HS_SUCCESS)
        return -ENOMEM;
    return 0;
}

int scanner_new(const char *const *patterns, size_t n, struct scanner **ret)
{
    _cleanup_(scanner_freep) struct scanner *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return -ENOMEM;
    s->n = n;
    s->strengths = calloc(n + 1, sizeof(*s->strengths));
    s->starts = calloc(n + 1, sizeof(*s->starts));
    s->hits = calloc(n + 1, sizeof(*s->hits));
    if (!s->strengths || !s->starts || !s->hits)
        return -ENOMEM;
    r = n > 0 ? compile_both(s, patterns) : 0;
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        s->n_always += s->strengths[i] == STRENGTH_ALWAYS;
    *ret = steal_pointer(&s);
    return 0;
}

void scanner_free(struct scanner *s)
{
    if (!s)
        return;
    if (s->scratch)
        (void) hs_free_scratch(s->scratch);
    if (s->locator)
        (void) hs_free_database(s->locator);
    if (s->detector)
        (void) hs_free_database(s->detector);
    free(s->strengths);
    free(s->starts);
    free(s->hits);
    free(s);
}

static int stop_at_first(unsigned id unused, unsigned long long from unused, unsigned long long to unused,
                         unsigned flags unused, void *context unused)
{
    return 1;
}

struct location {
    struct scanner *scanner;
    size_t callbacks_left;
};

static int note_start(unsigned id, unsigned long long from, unsigned long long to unused,
                      unsigned flags unused, void *context)
{
    struct location *l = context;
    size_t *start = &l->scanner->starts[id];

    *start = MIN(*start, (size_t) from);
    return --l->callbacks_left == 0;
}

/* 1 when something may match. */
static int detect(const struct scanner *s, const char *text, size_t len)
{
    hs_error_t e;

    if (!s->detector)
        return 0;
    e = hs_scan(s->detector, text, (unsigned) len, 0, s->scratch, stop_at_first, NULL);
    if (e == HS_SCAN_TERMINATED)
        return 1;
    return e == HS_SUCCESS ? 0 : -ENOMEM;
}

static int locate(struct scanner *s, const char *text, size_t len)
{
    struct location l = {.scanner = s, .callbacks_left = CALLBACKS_AT_LEAST + CALLBACKS_PER_BYTE * len};
    hs_error_t e = hs_scan(s->locator, text, (unsigned) len, 0, s->scratch, note_start, &l);

    return e == HS_SUCCESS || e == HS_SCAN_TERMINATED ? 0 : -ENOMEM;
}

static int collect(struct scanner *s)
{
    int n = 0;

    for (size_t i = 0; i < s->n; i++) {
        bool exact = s->strengths[i] == STRENGTH_EXACT;

        if (s->starts[i] == SIZE_MAX && s->strengths[i] != STRENGTH_ALWAYS)
            continue;
        s->hits[n++] = (struct scan_hit){.pattern = i, .from = exact ? s->starts[i] : 0, .exact = exact};
    }
    return n;
}

int scanner_scan(struct scanner *s, const char *text, size_t len, const struct scan_hit **ret)
{
    int r;

    if (len > UINT_MAX)
        return 0;
    r = detect(s, text, len);
    if (r < 0 || (r == 0 && s->n_always == 0))
        return r;
    memset(s->starts, 0xff, s->n * sizeof(*s->starts));
    if (r > 0) {
        r = locate(s, text, len);
        if (r < 0)
            return r;
    }
    *ret = s->hits;
    return collect(s);
}

size_t scanner_inexact(const struct scanner *s)
{
    size_t inexact = 0;

    for (size_t i = 0; i < s->n; i++)
        inexact += s->strengths[i] != STRENGTH_EXACT;
    return inexact;
}
