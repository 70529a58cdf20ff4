/* SPDX-License-Identifier: MIT */

/* coalminectl canary: 0 the suite has passed, 1 it has not, 2 wrong usage, 78 not a usable configuration. */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "client/suite_run.h"
#include "core/diagnosis/redact.h"
#include "ctl/options.h"
#include "ctl/target.h"
#include "ctl/term.h"
#include "ctl/verb.h"

#define ROW "  %-12s %s%-20s%s %7s %10s %10s %9s\n"

/* One suite on its way. */
struct proof {
    struct loop *loop;
    struct client *client;
    struct suite_run *run;
    bool json;
    bool headed;      /* the table has its head */
    size_t n, passed, let_off;
    json_t *rows;     /* for programs */
    enum verdict verdict; /* of the whole: GENERATED once every canary was sent */
    char *detail;
};

/* For people */

static const char *time_text(char buf[FORMAT_TIMESPAN_MAX], usec_t usec)
{
    return usec > 0 ? format_timespan(buf, usec) : "-";
}

static void print_head(struct proof *p)
{
    const char *model = client_model(p->client);

    if (p->headed)
        return;
    p->headed = true;
    (void) printf("%s%s", term_colour(COLOUR_BOLD), client_base(p->client));
    if (model) {
        (void) fputs(", model ", stdout);
        term_print(model);
    }
    (void) printf("%s\n" ROW, term_colour(COLOUR_NONE), "CANARY", "", "VERDICT", "", "TOKENS", "TIME", "FIRST",
                  "TOKENS/S");
}

static enum colour colour_of(const struct judgement *j, bool let_off)
{
    if (let_off)
        return COLOUR_DIM;
    return j->verdict == VERDICT_GENERATED ? COLOUR_GOOD : COLOUR_BAD;
}

/* Under a row: what was said, and what has not been proved. */
static void print_reason(const struct canary_config *c, const struct judgement *j, bool let_off)
{
    if (j->detail) {
        (void) fputs("    ", stdout);
        term_print(j->detail);
        (void) putchar('\n');
    }
    if (j->verdict == VERDICT_GENERATED)
        return;
    (void) printf("    %s", let_off ? "let off, the server cannot do it; not proved: " : "not proved: ");
    term_print(c->proves ? c->proves : c->name);
    (void) putchar('\n');
}

static void print_row(struct proof *p, const struct canary_config *c, const struct judgement *j, bool let_off)
{
    char total[FORMAT_TIMESPAN_MAX], first[FORMAT_TIMESPAN_MAX], tokens[24], rate[24] = "-";

    print_head(p);
    (void) snprintf(tokens, sizeof tokens, "%" PRIu64, j->tokens);
    if (j->tokens_per_sec > 0)
        (void) snprintf(rate, sizeof rate, "%.1f", j->tokens_per_sec);
    (void) printf(ROW, c->name, term_colour(colour_of(j, let_off)), verdict_name(j->verdict),
                  term_colour(COLOUR_NONE), tokens, time_text(total, j->total_usec),
                  time_text(first, j->first_token_usec), rate);
    print_reason(c, j, let_off);
    (void) fflush(stdout);
}

static void print_end(const struct proof *p)
{
    if (p->verdict != VERDICT_GENERATED) {
        (void) ctl_fail(CTL_FAILED, "%s does not answer: %s: %s", client_base(p->client), verdict_name(p->verdict),
                        p->detail ? p->detail : verdict_text(p->verdict));
        return;
    }
    (void) printf("%zu of %zu passed", p->passed, p->n - p->let_off);
    if (p->let_off > 0)
        (void) printf(", %zu let off", p->let_off);
    (void) putchar('\n');
}

/* For programs */

static json_t *text_or_null(const char *s)
{
    return s ? json_string(s) : json_null();
}

static void add_row(struct proof *p, const struct canary_config *c, const struct judgement *j, bool let_off)
{
    json_t *row = json_pack("{s:s, s:o, s:s, s:b, s:b, s:I, s:I, s:I, s:f, s:o, s:o}",
                            "name", c->name,
                            "proves", text_or_null(c->proves),
                            "verdict", verdict_name(j->verdict),
                            "passed", j->verdict == VERDICT_GENERATED,
                            "let_off", let_off,
                            "tokens", (json_int_t) j->tokens,
                            "duration_usec", (json_int_t) j->total_usec,
                            "first_token_usec", (json_int_t) j->first_token_usec,
                            "tokens_per_second", j->tokens_per_sec,
                            "model", text_or_null(j->model),
                            "detail", text_or_null(j->detail));

    (void) json_array_append_new(p->rows, row);
}

static bool passed(const struct proof *p)
{
    return p->verdict == VERDICT_GENERATED && p->passed > 0 && p->passed + p->let_off == p->n;
}

static void print_json(const struct proof *p)
{
    json_t *root = json_pack("{s:s, s:o, s:b, s:s, s:o, s:O}",
                             "url", client_base(p->client),
                             "model", text_or_null(client_model(p->client)),
                             "passed", passed(p),
                             "verdict", verdict_name(p->verdict),
                             "detail", text_or_null(p->detail),
                             "canaries", p->rows);

    (void) json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    (void) putchar('\n');
    json_decref(root);
}

/* What comes back */

/* A server's words may hold a key that was sent to it. */
static char *shown(const char *detail)
{
    return detail ? redact_text(detail) : NULL;
}

static void on_canary(const struct canary_config *c, struct judgement *j, bool let_off, void *userdata)
{
    struct proof *p = userdata;
    char *detail = shown(j->detail);

    free(j->detail);
    j->detail = detail;
    p->n++;
    p->passed += j->verdict == VERDICT_GENERATED;
    p->let_off += let_off;
    if (p->json)
        add_row(p, c, j, let_off);
    else
        print_row(p, c, j, let_off);
}

static void on_done(enum verdict verdict, const char *detail, void *userdata)
{
    struct proof *p = userdata;

    p->run = NULL;
    p->verdict = verdict;
    p->detail = shown(detail);
    loop_stop(p->loop);
}

static const struct suite_run_events events = {
    .canary = on_canary,
    .done = on_done,
};

static void proof_release(struct proof *p)
{
    suite_run_cancel(p->run);
    client_free(p->client);
    loop_free(p->loop);
    json_decref(p->rows);
    free(p->detail);
}

static int prove(struct proof *p, const struct config *c, usec_t patience)
{
    int r = loop_new(&p->loop);

    p->rows = json_array();
    if (r == 0)
        r = client_new(p->loop, c, &p->client);
    if (r == 0)
        r = suite_run_start(p->client, c->start.suite, patience, &events, p, &p->run);
    if (r < 0 || !p->rows)
        return ctl_fail(CTL_FAILED, "cannot begin: %s", strerrordesc_np(r < 0 ? -r : ENOMEM));
    loop_run(p->loop);
    if (p->json)
        print_json(p);
    else
        print_end(p);
    return passed(p) ? CTL_OK : CTL_FAILED;
}

int ctl_canary(int argc, char **argv)
{
    const char *wait = "0";
    struct target target = {};
    _cleanup_(proof_release) struct proof p = {};
    _cleanup_(config_freep) struct config *config = NULL;
    _cleanup_strv_ char **settings = NULL;
    const struct ctl_option options[] = {
        { .name = "url", .value = &target.url }, { .name = "profile", .value = &target.profile },
        { .name = "set", .list = &settings },    { .name = "wait", .value = &wait },
        { .name = "json", .flag = &p.json },
    };
    int words = ctl_parse(argc, argv, options, ARRAY_SIZE(options), 0, 1), r;
    usec_t patience;

    if (words < 0)
        return CTL_USAGE;
    if (parse_timespan(wait, &patience) < 0)
        return ctl_fail(CTL_USAGE, "--wait: '%s' is no time span such as 90s or 15min", wait);
    if ((words == 1) == (target.url != NULL))
        return ctl_fail(CTL_USAGE, "canary: either an instance's name or --url=URL");
    target.name = words == 1 ? argv[optind] : NULL;
    target.settings = settings;
    r = target_load(&target, &config);
    return r == CTL_OK ? prove(&p, config, patience) : r;
}
