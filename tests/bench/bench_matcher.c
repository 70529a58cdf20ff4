/* SPDX-License-Identifier: MIT */

/* What diagnosis costs: megabytes a second for ordinary lines, microseconds a KiB for hostile ones, private
 * memory, beside PCRE2 and libhs on the same patterns. CPU time, so that a busy machine changes little. */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <hs/hs.h>
#include <inttypes.h>
#include <malloc.h>
#include <pcre2.h>
#include <stdio.h>
#include <time.h>

#include "base/str.h"
#include "core/diagnosis/evidence.h"
#include "core/diagnosis/matcher.h"
#include "core/diagnosis/normalise.h"
#include "port/conf_files.h"

#define LINES 2000
/* Each measure takes about so long. */
#define SECONDS 0.4
#define HOSTILE_BYTES (64 * 1024)

struct lines {
    char *text[LINES];
    size_t len[LINES];
    size_t n;
    size_t bytes;
};

struct all_patterns {
    char **list;
    size_t n;
};

static double cpu_seconds(void)
{
    struct timespec t;

    (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void die(const char *what, int r)
{
    (void) fprintf(stderr, "bench_matcher: %s: %s\n", what, strerror(-r));
    exit(EXIT_FAILURE);
}

static void must(const char *what, int r)
{
    if (r < 0)
        die(what, r);
}

static void *must_have(void *p)
{
    if (!p)
        die("memory", -ENOMEM);
    return p;
}

/* Private memory of this process in KiB. */
static uint64_t private_kib(void)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    uint64_t sum = 0, kib;

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Private_Clean: %" SCNu64, &kib) == 1 || sscanf(line, "Private_Dirty: %" SCNu64, &kib) == 1)
            sum += kib;
    }
    return sum;
}

static void add_line(struct lines *l, char *text)
{
    l->text[l->n] = must_have(text);
    l->len[l->n] = strlen(text);
    l->bytes += l->len[l->n++];
}

/* What vLLM's engine prints all day, about 180 bytes each, no two alike. */
static void make_ordinary(struct lines *l)
{
    for (unsigned i = 0; i < LINES; i++)
        add_line(l, str_format("(APIServer pid=%u) INFO 08-21 %02u:%02u:%02u [loggers.py:%u] Engine %03u: Avg "
                               "prompt throughput: %u.%u tokens/s, generation throughput: %u.%u tokens/s, Running: %u "
                               "reqs, Waiting: %u reqs, KV cache used: %u.%u%%", 5000 + i % 7, i % 24, i % 60,
                               i * 7 % 60, 100 + i % 200, i % 8, i % 9000, i % 10, i * 3 % 900, i % 10,
                               i % 32, i % 5, i % 100, i % 10));
}

static void collect_patterns(const struct catalog *c, struct all_patterns *ret)
{
    for (size_t i = 0; i < c->n_signatures; i++)
        ret->n += strv_length(c->signatures[i].patterns);
    ret->list = must_have(calloc(ret->n + 1, sizeof(char *)));
    ret->n = 0;
    for (size_t i = 0; i < c->n_signatures; i++) {
        for (size_t k = 0; c->signatures[i].patterns[k]; k++)
            ret->list[ret->n++] = c->signatures[i].patterns[k];
    }
}

static void count_match(const struct match *m unused, void *userdata)
{
    ++*(uint64_t *) userdata;
}

struct subject {
    struct matcher *matcher;
    struct normaliser *normaliser;
    struct evidence *evidence;
    uint64_t matches;
};

static void scan_line(struct subject *s, const char *text, size_t len)
{
    must("matcher_scan", matcher_scan(s->matcher, LOG_SERVER, text, len, count_match, &s->matches));
}

static void on_match(const struct match *m, void *userdata)
{
    struct subject *s = userdata;

    s->matches++;
    must("evidence_match", evidence_match(s->evidence, m));
}

static void on_record(const struct record *r, void *userdata)
{
    struct subject *s = userdata;

    must("evidence_line", evidence_line(s->evidence, r, LOG_SERVER));
    must("matcher_scan", matcher_scan(s->matcher, LOG_SERVER, r->text, r->len, on_match, s));
}

static void diagnose_line(struct subject *s, const char *text, size_t len)
{
    must("normalise_line", normalise_line(s->normaliser, text, len, on_record, s));
}

/* Bytes a second. */
static double measure(const struct lines *l, void (*fn)(struct subject *s, const char *text, size_t len),
                      struct subject *s)
{
    double begin = cpu_seconds(), spent;
    uint64_t bytes = 0;

    do {
        for (size_t i = 0; i < l->n; i++)
            fn(s, l->text[i], l->len[i]);
        bytes += l->bytes;
        spent = cpu_seconds() - begin;
    } while (spent < SECONDS);
    return (double) bytes / spent;
}

/* A word that only one signature has. */
static void make_word(size_t i, char word[8])
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    for (size_t k = 0; k < 7; k++, x >>= 7)
        word[k] = (char) ('a' + x % 26);
    word[7] = '\0';
}

/* A catalog of n signatures: the shipped ones, cut or made more by copies with other words behind them, with at
 * most `patterns` patterns each. */
static struct catalog *resize(const struct catalog *c, size_t n, size_t patterns)
{
    struct catalog *r = must_have(calloc(1, sizeof(*r)));

    r->signatures = must_have(calloc(n, sizeof(*r->signatures)));
    for (size_t i = 0; i < n; i++) {
        const struct signature *s = &c->signatures[i % c->n_signatures];
        struct signature *copy = &r->signatures[r->n_signatures++];

        char word[8];

        *copy = *s;
        make_word(i, word);
        copy->patterns = NULL;
        for (size_t k = 0; s->patterns[k] && k < patterns; k++) {
            size_t length = strlen(s->patterns[k]);
            bool closed = length > 0 && s->patterns[k][length - 1] != '$';
            char *pattern = i < c->n_signatures || !closed
                ? strdup(s->patterns[k])
                : str_format("(?:%s) %s", s->patterns[k], word);

            must("patterns", strv_push(&copy->patterns, must_have(pattern)));
            free(pattern);
        }
    }
    return r;
}

static void resized_free(struct catalog *c)
{
    for (size_t i = 0; i < c->n_signatures; i++)
        strv_free(c->signatures[i].patterns);
    free(c->signatures);
    free(c);
}

static double bench_size(const struct catalog *shipped, size_t n, size_t patterns, const struct lines *l)
{
    struct catalog *catalog = resize(shipped, n, patterns);
    struct subject s = {};
    char **errors = NULL;
    uint64_t before;
    double begin, rate;

    (void) malloc_trim(0);
    before = private_kib();
    begin = cpu_seconds();
    must("matcher_new", matcher_new(catalog, NULL, NULL, 0, &s.matcher, &errors));
    begin = cpu_seconds() - begin;
    (void) malloc_trim(0);
    rate = measure(l, scan_line, &s);
    (void) printf("%5zu signatures%s: %5.0f MB/s (%" PRIu64 " matches), ready in %.1f ms, %" PRId64 " KiB private\n",
                  n, patterns == 1 ? " of one pattern" : "", rate / 1e6, s.matches, 1e3 * begin, (int64_t) (private_kib() - before));
    matcher_free(s.matcher);
    resized_free(catalog);
    return rate;
}

/* The literal beginning of a pattern, which lures the search. */
static size_t lure_length(const char *pattern)
{
    return strcspn(pattern, "\\[](){}.*+?|^$");
}

static char *hostile_text(const struct all_patterns *p, unsigned kind)
{
    struct strbuf b = {};

    for (size_t i = 0; b.len < HOSTILE_BYTES; i++) {
        const char *pattern = p->list[i % p->n];

        switch (kind) {
        case 0: /* the beginnings of all patterns, one behind the other */
            strbuf_append_n(&b, pattern, lure_length(pattern));
            break;
        case 1: /* all that stands in the patterns, as it stands */
            strbuf_append(&b, pattern);
            break;
        case 2: /* one word without end, and then what many patterns wait for */
            strbuf_append(&b, i % 64 == 63 ? ".so: undefined symbol: x cannot open shared object file: " : "aaaaaaaaaaaaaaaa");
            break;
        case 3: /* a path without end */
            strbuf_append(&b, i % 64 == 63 ? "nvcc: not found fatal error: curand.h: " : "a/b:/c.d/e=f,g/");
            break;
        case 4: /* the same words again and again */
            strbuf_append(&b, "error: CUDA out of memory. fatal error: failed ");
            break;
        default: /* quotes and brackets */
            strbuf_append(&b, "(['\":: \"'])error ");
            break;
        }
        strbuf_append_char(&b, ' ');
    }
    return must_have(strbuf_steal(&b));
}

/* Microseconds a KiB of lines of `length` bytes cut from a hostile text. */
static double bench_hostile(struct subject *s, const char *text, size_t length)
{
    double begin = cpu_seconds(), spent;
    uint64_t bytes = 0;
    size_t total = strlen(text);

    do {
        for (size_t i = 0; i < total; ) {
            size_t n = utf8_cut(text + i, total - i, length);

            diagnose_line(s, text + i, n);
            i += n;
            bytes += n;
        }
        spent = cpu_seconds() - begin;
    } while (spent < SECONDS / 4);
    return 1e6 * spent / ((double) bytes / 1024);
}

static void bench_all_hostile(struct subject *s, const struct all_patterns *p)
{
    static const char *const kinds[] = {"beginnings of all patterns", "the patterns themselves", "endless words",
                                        "endless paths", "the same words", "quotes and brackets"};
    static const size_t lengths[] = {200, 1000, 8000, 64000};
    double worst = 0;

    for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
        char *text = hostile_text(p, k);

        (void) printf("  %-28s", kinds[k]);
        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
            double cost = bench_hostile(s, text, lengths[i]);

            worst = MAX(worst, cost);
            (void) printf("  %6.1f", cost);
        }
        (void) putchar('\n');
        free(text);
    }
    (void) printf("  worst %.1f us/KiB, goal 100\n", worst);
}

/* Each pattern for itself, as one would without an index. */
static void bench_pcre2(const struct all_patterns *p, const struct lines *l)
{
    pcre2_match_data *data = must_have(pcre2_match_data_create(64, NULL));
    pcre2_code **codes = must_have(calloc(p->n, sizeof(pcre2_code *)));
    double begin, spent;
    uint64_t bytes = 0;

    for (size_t i = 0; i < p->n; i++) {
        PCRE2_SIZE offset;
        int error;

        codes[i] = must_have(pcre2_compile((PCRE2_SPTR) p->list[i], PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_DUPNAMES,
                                           &error, &offset, NULL));
        (void) pcre2_jit_compile(codes[i], PCRE2_JIT_COMPLETE);
    }
    begin = cpu_seconds();
    do {
        for (size_t k = 0; k < 20; k++) {
            for (size_t i = 0; i < p->n; i++)
                (void) pcre2_match(codes[i], (PCRE2_SPTR) l->text[k], l->len[k], 0, PCRE2_NO_UTF_CHECK, data, NULL);
            bytes += l->len[k];
        }
        spent = cpu_seconds() - begin;
    } while (spent < SECONDS);
    (void) printf("PCRE2 with JIT, one pattern after the other: %.1f MB/s\n", (double) bytes / spent / 1e6);
    for (size_t i = 0; i < p->n; i++)
        pcre2_code_free(codes[i]);
    free(codes);
    pcre2_match_data_free(data);
}

static char *without_names(const char *pattern)
{
    struct strbuf b = {};

    for (const char *s = pattern; *s; s++) {
        bool name = strncmp(s, "(?<", 3) == 0 && s[3] != '=' && s[3] != '!';

        strbuf_append_char(&b, *s);
        if (name)
            s += strcspn(s, ">");
        else if (*s == '\\' && s[1])
            strbuf_append_char(&b, *++s);
    }
    return must_have(strbuf_steal(&b));
}

static int stop(unsigned id unused, unsigned long long from unused, unsigned long long to unused, unsigned flags unused,
                void *context unused)
{
    return 1;
}

static void bench_libhs(const struct all_patterns *p, const struct lines *l)
{
    const unsigned flags = HS_FLAG_UTF8 | HS_FLAG_DOTALL | HS_FLAG_MULTILINE | HS_FLAG_PREFILTER;
    char **list = must_have(calloc(p->n, sizeof(char *)));
    unsigned *all_flags = must_have(calloc(p->n, sizeof(unsigned)));
    uint64_t before = private_kib(), bytes = 0;
    double begin = cpu_seconds(), spent, compiled;
    hs_compile_error_t *error = NULL;
    hs_database_t *db = NULL;
    hs_scratch_t *scratch = NULL;

    for (size_t i = 0; i < p->n; i++) {
        list[i] = without_names(p->list[i]);
        all_flags[i] = flags;
    }
    if (hs_compile_multi((const char *const *) list, all_flags, NULL, (unsigned) p->n, HS_MODE_BLOCK, NULL, &db,
                         &error) != HS_SUCCESS || hs_alloc_scratch(db, &scratch) != HS_SUCCESS) {
        (void) printf("libhs: %s\n", error ? error->message : "cannot");
        return;
    }
    compiled = cpu_seconds() - begin;
    (void) malloc_trim(0);
    begin = cpu_seconds();
    do {
        for (size_t i = 0; i < l->n; i++)
            (void) hs_scan(db, l->text[i], (unsigned) l->len[i], 0, scratch, stop, NULL);
        bytes += l->bytes;
        spent = cpu_seconds() - begin;
    } while (spent < SECONDS);
    (void) printf("libhs, the same patterns: %.0f MB/s, ready in %.0f ms, %" PRId64 " KiB private\n",
                  (double) bytes / spent / 1e6, 1e3 * compiled, (int64_t) (private_kib() - before));
    (void) hs_free_scratch(scratch);
    (void) hs_free_database(db);
    for (size_t i = 0; i < p->n; i++)
        free(list[i]);
    free(list);
    free(all_flags);
}

int main(void)
{
    _cleanup_conf_paths_ struct conf_paths paths = {};
    _cleanup_(catalog_freep) struct catalog *catalog = NULL;
    _cleanup_strv_ char **errors = NULL;
    struct all_patterns patterns = {};
    struct subject s = {};
    struct lines lines = {};
    double small, large;
    uint64_t before = private_kib();

    must("paths", conf_paths_init(&paths, NULL, getenv("COALMINE_DATA_DIR") ?: "conf"));
    must("catalog", conf_load_catalog(&paths, &catalog, &errors));
    (void) malloc_trim(0);
    collect_patterns(catalog, &patterns);
    (void) printf("shipped: %zu signatures, %zu patterns, %" PRId64 " KiB private for the catalog\n",
                  catalog->n_signatures, patterns.n, (int64_t) (private_kib() - before));
    make_ordinary(&lines);
    (void) printf("ordinary lines of %zu bytes, the matcher alone:\n", lines.bytes / lines.n);
    (void) bench_size(catalog, catalog->n_signatures, SIZE_MAX, &lines);
    (void) bench_size(catalog, 300, 1, &lines);
    small = bench_size(catalog, 300, SIZE_MAX, &lines);
    large = bench_size(catalog, 3000, SIZE_MAX, &lines);
    (void) printf("  300 to 3000 signatures: %.2f times the cost, goal 1.5\n", small / large);

    must("normaliser", normaliser_new(&s.normaliser));
    must("evidence", evidence_new(catalog, &s.evidence));
    must("matcher", matcher_new(catalog, NULL, NULL, 0, &s.matcher, &errors));
    (void) printf("from line to evidence: %.0f MB/s\n", measure(&lines, diagnose_line, &s) / 1e6);
    (void) printf("hostile lines of 200, 1000, 8000 and 64000 bytes, from line to evidence, us/KiB:\n");
    bench_all_hostile(&s, &patterns);
    bench_pcre2(&patterns, &lines);
    bench_libhs(&patterns, &lines);

    matcher_free(s.matcher);
    evidence_free(s.evidence);
    normaliser_free(s.normaliser);
    free(patterns.list);
    for (size_t i = 0; i < lines.n; i++)
        free(lines.text[i]);
    return EXIT_SUCCESS;
}
