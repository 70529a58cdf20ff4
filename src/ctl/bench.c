/* SPDX-License-Identifier: MIT */

/* coalminectl bench: 0 measured, 1 the server failed or is gone, 2 wrong usage or not ready in time,
 * 78 not a usable configuration. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "client/load_run.h"
#include "client/models.h"
#include "ctl/bench_show.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "ctl/target.h"
#include "ctl/verb.h"
#include "ctl/wait.h"
#include "port/store.h"

#define LEVELS_MAX 32
#define CONCURRENCY_MAX 4096
#define REQUESTS_MIN 8
#define PROGRESS_COLUMNS 30

/* Different enough that no cache of prefixes answers for the model. */
static char *const prompts[] = {
    (char[]){ "Write a short story about a canary that works in a mine." },
    (char[]){ "Explain to a child how a steam engine turns heat into motion." },
    (char[]){ "List the steps to bake a loaf of bread, with times." },
    (char[]){ "Describe the view from a mountain hut at sunrise in detail." },
    (char[]){ "Compare two ways of sorting a deck of cards, and when each is better." },
    NULL,
};

struct bench {
    /* what was asked for */
    const char *name; /* NULL: a URL */
    uint64_t levels_wanted[LEVELS_MAX];
    size_t n_wanted;
    uint64_t requests; /* 0: by the concurrency */
    bool json;
    /* the world */
    struct loop *loop;
    struct client *client;
    struct canary_config canary; /* a shallow copy of the configured one */
    struct models *models;
    struct load_run *run;
    struct load_spec spec;
    /* what came of it */
    size_t next;
    struct level single;
    struct level levels[LEVELS_MAX];
    size_t n_levels;
    bool gone;
    int result;
};

static void next_run(struct bench *b);

static void finish(struct bench *b, int result)
{
    b->result = result;
    loop_stop(b->loop);
}

/* Progress is for whoever watches, and never mixes with what is measured. */
static bool watched(void)
{
    return isatty(STDERR_FILENO);
}

static void on_progress(uint64_t requests, void *userdata)
{
    struct bench *b = userdata;
    int filled = (int) (requests * PROGRESS_COLUMNS / MAX(b->spec.requests, (uint64_t) 1));

    if (!watched())
        return;
    (void) fprintf(stderr, "\r%5" PRIu64 " at a time [", b->spec.concurrency);
    for (int i = 0; i < PROGRESS_COLUMNS; i++)
        (void) fputc(i < filled ? '#' : '.', stderr);
    (void) fprintf(stderr, "] %" PRIu64 "/%" PRIu64 " ", requests, b->spec.requests);
}

static void wipe_progress(void)
{
    if (watched())
        (void) fputs("\r\033[K", stderr);
}

/* The first run warms up and is not shown, the second asks each prompt once, the others sweep. */
enum { RUN_WARM_UP, RUN_SINGLE, RUN_SWEEP };

static void keep(struct bench *b, struct level *l)
{
    struct level *place = b->next == RUN_SINGLE ? &b->single : &b->levels[b->n_levels];

    if (b->next == RUN_WARM_UP)
        return;
    if (b->next >= RUN_SWEEP)
        b->n_levels++;
    *place = *l;
    *l = (struct level){};
    if (!b->json)
        bench_show_row(place);
}

static void on_level(struct level *l, void *userdata)
{
    struct bench *b = userdata;
    bool all_failed = level_errors(l) == l->requests;

    b->run = NULL;
    wipe_progress();
    b->gone = l->requests < b->spec.requests || (b->next == RUN_WARM_UP && all_failed);
    if (b->next == RUN_WARM_UP && all_failed)
        bench_show_row(l);
    keep(b, l);
    b->next++;
    if (b->gone)
        finish(b, CTL_FAILED);
    else
        next_run(b);
}

static uint64_t requests_of(const struct bench *b, uint64_t concurrency)
{
    return b->requests ? b->requests : MAX(2 * concurrency, (uint64_t) REQUESTS_MIN);
}

static void plan_run(struct bench *b)
{
    b->spec.concurrency = b->next >= RUN_SWEEP ? b->levels_wanted[b->next - RUN_SWEEP] : 1;
    if (b->next == RUN_WARM_UP)
        b->spec.requests = 1;
    else if (b->next == RUN_SINGLE)
        b->spec.requests = strv_length(prompts);
    else
        b->spec.requests = requests_of(b, b->spec.concurrency);
}

static void next_run(struct bench *b)
{
    const char *why = NULL;
    int r;

    if (b->next == RUN_SWEEP + b->n_wanted) {
        finish(b, CTL_OK);
        return;
    }
    plan_run(b);
    r = load_run_start(b->client, &b->spec, on_progress, on_level, b, &b->run, &why);
    if (r < 0)
        finish(b, ctl_fail(CTL_FAILED, "the requests cannot be made: %s", why ? why : strerror(-r)));
}

static void on_models(enum verdict verdict, const char *detail, void *userdata)
{
    struct bench *b = userdata;

    b->models = NULL;
    if (verdict != VERDICT_GENERATED) {
        finish(b, ctl_fail(CTL_FAILED, "%s does not answer: %s (%s)", client_base(b->client),
                           detail ? detail : verdict_text(verdict), verdict_name(verdict)));
        return;
    }
    if (!b->json)
        bench_show_header();
    next_run(b);
}

/* Options */

static int parse_levels(struct bench *b, const char *text)
{
    _cleanup_strv_ char **words = NULL;
    int r = strv_split(text, ", ", &words);

    for (size_t i = 0; r == 0 && words && words[i]; i++) {
        uint64_t n;

        r = parse_u64(words[i], &n);
        if (r == 0 && (n < 1 || n > CONCURRENCY_MAX || b->n_wanted == LEVELS_MAX))
            r = -ERANGE;
        if (r == 0)
            b->levels_wanted[b->n_wanted++] = n;
    }
    return r < 0 || b->n_wanted == 0
               ? ctl_fail(-EINVAL, "--concurrency: up to %d numbers from 1 to %d, such as 1,2,4,8, not '%s'",
                          LEVELS_MAX, CONCURRENCY_MAX, text)
               : 0;
}

static int parse_count(const char *option, const char *text, uint64_t *ret)
{
    if (!text)
        return 0;
    if (parse_u64(text, ret) < 0 || *ret == 0 || *ret > 1000000)
        return ctl_fail(-EINVAL, "%s: a number from 1 to 1000000, not '%s'", option, text);
    return 0;
}

/* The profile's own way to ask for text, streamed: that of its first canary that generates some. */
static void choose_canary(struct bench *b, const struct config *c, uint64_t max_tokens)
{
    const struct canary_config *streamed = config_canary(c, "streamed");

    b->canary = streamed ? *streamed : *config_canary(c, c->start.suite[0]);
    b->canary.stream = true;
    b->canary.max_tokens = max_tokens;
    b->canary.min_tokens = 1;
    b->canary.expect_sane = false;
    b->spec = (struct load_spec){
        .canary = &b->canary,
        .prompts = prompts,
        .timeout_usec = b->canary.first_timeout_usec,
    };
}

/* What came of it */

static void tell_end(const struct bench *b)
{
    _cleanup_(instance_release) struct instance i = {};

    if (!b->gone)
        return;
    (void) ctl_fail(CTL_FAILED, "the server does not answer any more: stopped");
    if (!b->name || instance_read(b->name, &i) < 0 || str_empty(instance_get_in(&i, "last_failure", "summary")))
        return;
    (void) ctl_fail(CTL_FAILED, "%s is %s: %s", b->name, instance_state(&i),
                    instance_get_in(&i, "last_failure", "summary"));
}

static int print_json(struct bench *b)
{
    json_t *root = json_object(), *sweep = json_array(), *single = NULL;
    int r = b->single.requests > 0 ? level_json(&b->single, &single) : 0;

    for (size_t i = 0; r == 0 && i < b->n_levels; i++) {
        json_t *level = NULL;

        r = level_json(&b->levels[i], &level);
        if (r == 0)
            r = json_array_append_new(sweep, level);
    }
    (void) json_object_set_new(root, "url", json_string(client_base(b->client)));
    (void) json_object_set_new(root, "complete", json_boolean(!b->gone));
    (void) json_object_set_new(root, "single", single ? single : json_null());
    (void) json_object_set_new(root, "sweep", sweep);
    (void) json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    (void) putchar('\n');
    json_decref(root);
    return r;
}

static int write_svg(const struct bench *b, const char *path)
{
    _cleanup_free_ char *svg = bench_svg(b->levels, b->n_levels, client_base(b->client));
    _cleanup_fclose_ FILE *f = svg ? fopen(path, "we") : NULL;

    if (!f || fputs(svg, f) < 0 || fflush(f) != 0)
        return ctl_fail(-EIO, "%s cannot be written: %s", path, strerror(errno));
    return 0;
}

static void bench_release(struct bench *b)
{
    models_cancel(b->models);
    load_run_cancel(b->run);
    client_free(b->client);
    loop_free(b->loop);
    level_release(&b->single);
    for (size_t i = 0; i < b->n_levels; i++)
        level_release(&b->levels[i]);
}

static int measure(struct bench *b, const struct config *c, const char *svg)
{
    const char *why = NULL;
    int r = loop_new(&b->loop);

    if (r == 0)
        r = client_new(b->loop, c, &b->client);
    if (r == 0)
        r = models_find(b->client, on_models, b, &b->models, &why);
    if (r < 0)
        return ctl_fail(CTL_FAILED, "cannot begin: %s", why ? why : strerror(-r));
    loop_run(b->loop);
    if (b->json)
        (void) print_json(b);
    else
        bench_show_bars(b->levels, b->n_levels);
    if (svg && b->n_levels > 0 && write_svg(b, svg) < 0)
        b->result = CTL_FAILED;
    tell_end(b);
    return b->result;
}

int ctl_bench(int argc, char **argv)
{
    const char *url = NULL, *profile = NULL, *levels = "1,2,4,8,16,32,64", *requests = NULL, *tokens = NULL,
               *timeout_text = "infinity", *svg = NULL;
    _cleanup_(config_freep) struct config *config = NULL;
    _cleanup_(bench_release) struct bench b = {};
    const struct ctl_option options[] = {
        { .name = "url", .value = &url },
        { .name = "profile", .value = &profile },
        { .name = "concurrency", .value = &levels },
        { .name = "requests", .value = &requests },
        { .name = "max-tokens", .value = &tokens },
        { .name = "timeout", .value = &timeout_text },
        { .name = "svg", .value = &svg },
        { .name = "json", .flag = &b.json },
    };
    uint64_t max_tokens = 128;
    usec_t timeout;
    int words = ctl_parse(argc, argv, options, ARRAY_SIZE(options), 0, 1), r;

    if (words < 0 || parse_levels(&b, levels) < 0 || parse_count("--requests", requests, &b.requests) < 0 ||
        parse_count("--max-tokens", tokens, &max_tokens) < 0)
        return CTL_USAGE;
    if (parse_timespan(timeout_text, &timeout) < 0)
        return ctl_fail(CTL_USAGE, "--timeout: '%s' is no time span such as 90s or 15min", timeout_text);
    if ((words == 1) == (url != NULL))
        return ctl_fail(CTL_USAGE, "bench: either an instance's name or --url=URL");
    b.name = words == 1 ? argv[optind] : NULL;
    r = b.name ? ctl_wait_ready(b.name, timeout) : 0;
    if (r != 0)
        return r;
    r = target_load(&(struct target){ .name = b.name, .url = url, .profile = profile }, &config);
    if (r != CTL_OK)
        return r;
    choose_canary(&b, config, max_tokens);
    return measure(&b, config, svg);
}
