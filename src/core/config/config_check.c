/* SPDX-License-Identifier: MIT */
#include "core/config/config_check.h"

#include <errno.h>

#include "core/config/config_origin.h"
#include "core/config/config_section.h"
#include "core/config/config_text.h"
#include "core/config/config_value.h"

struct checker {
    const struct config *config;
    const char *name;
    struct problems *problems;
};

/* The place of a value, or the whole configuration where nobody wrote it. */
static struct config_origin place_of(const struct checker *s, enum config_section_id section,
                                           const char *argument, const char *key)
{
    const struct config_key *k = config_key_find(&config_sections[section], key);
    const struct config_origin *origin = config_origins_last(s->config->origins, k, argument);

    return origin ? *origin : (struct config_origin){.key = k, .file = s->name};
}

static int tell_missing(const struct checker *s, const struct config_key *k, const char *argument)
{
    _cleanup_free_ char *expected = config_key_expectation(k);
    const char *blank = argument ? " " : "";

    if (!expected)
        return -ENOMEM;
    return problems_add(s->problems, s->name, 0, "%s= is missing in [%s%s%s]; expected %s", k->name,
                        config_key_section(k)->name, blank, str_or_empty(argument), expected);
}

/* A value that was refused is not missing, it has been told already. */
static bool was_refused(const struct checker *s, const struct config_key *k, const char *argument)
{
    const struct config_origin *origin = config_origins_last(s->config->origins, k, argument);

    return origin && origin->refused;
}

static int check_required(const struct checker *s, const struct config_key *k)
{
    const struct config_section *section = config_key_section(k);

    for (size_t i = 0; i < config_section_count(s->config, section); i++) {
        const char *argument = config_section_name_at(s->config, section, i);
        const void *at = config_section_at(s->config, section, i);
        int r = 0;

        if (!config_value_is_set(k, config_field_at(at, k)) && !was_refused(s, k, argument))
            r = tell_missing(s, k, argument);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_all_required(const struct checker *s)
{
    for (size_t i = 0; i < n_config_keys; i++) {
        int r = config_keys[i].required ? check_required(s, &config_keys[i]) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

/* "greedy, sampled": what there is. */
static int list_canaries(const struct config *c, char **ret)
{
    _cleanup_strbuf_ struct strbuf b = {};

    for (size_t i = 0; i < c->n_canaries; i++)
        strbuf_appendf(&b, "%s%s", i > 0 ? ", " : "", c->canaries[i].name);
    *ret = strbuf_steal(&b);
    return *ret ? 0 : -ENOMEM;
}

static int check_canary_name(const struct checker *s, const char *name, const char *argument,
                             enum config_section_id section, const char *key)
{
    const struct config_origin at = place_of(s, section, argument, key);
    _cleanup_free_ char *known = NULL;
    int r;

    if (config_canary(s->config, name))
        return 0;
    r = list_canaries(s->config, &known);
    if (r < 0)
        return r;
    return problems_add(s->problems, at.file, at.line,
                        "%s.%s= names a canary \"%.60s\" that is not there; expected one of %s, or a "
                        "section [Canary %.60s]", config_sections[section].name, key, name, known, name);
}

static int check_suite(const struct checker *s)
{
    char *const *suite = s->config->start.suite;
    const struct config_origin at = place_of(s, SECTION_START, NULL, "Suite");

    if (at.refused)
        return 0;
    if (strv_length(suite) == 0)
        return problems_add(s->problems, at.file, at.line,
                            "Start.Suite= is empty; expected at least one canary, since nothing else "
                            "proves that the server generates");
    for (size_t i = 0; suite[i]; i++) {
        int r = check_canary_name(s, suite[i], NULL, SECTION_START, "Suite");

        if (r < 0)
            return r;
    }
    return 0;
}

/* At the place of the lower value: it is the one that mostly was written to be changed. */
static int check_spans(const struct checker *s, enum config_section_id section, const char *low_key,
                       usec_t low, const char *high_key, usec_t high)
{
    const struct config_origin at = place_of(s, section, NULL, low_key);
    _cleanup_strbuf_ struct strbuf b = {};

    if (low <= high)
        return 0;
    strbuf_appendf(&b, "%s.%s=", config_sections[section].name, low_key);
    config_text_timespan(&b, low);
    strbuf_appendf(&b, " is longer than %s=", high_key);
    config_text_timespan(&b, high);
    if (b.failed)
        return -ENOMEM;
    return problems_add(s->problems, at.file, at.line, "%s; expected no more than that", b.data);
}

static int check_canary_tokens(const struct checker *s, const struct canary_config *canary)
{
    const struct config_origin at = place_of(s, SECTION_CANARY, canary->name, "MinTokens");

    if (canary->min_tokens <= canary->max_tokens)
        return 0;
    return problems_add(s->problems, at.file, at.line,
                        "MinTokens=%ju of [Canary %s] is more than its MaxTokens=%ju; expected no more "
                        "than that", (uintmax_t) canary->min_tokens, canary->name,
                        (uintmax_t) canary->max_tokens);
}

/* What of a canary does not go together, told at the key that asks for it. */
static int check_canary_mix(const struct checker *s, const struct canary_config *c)
{
    const struct {
        bool wrong;
        const char *key, *what;
    } rows[] = {
        {c->first_token_usec > 0 && !c->stream, "FirstTokenSec",
         "takes a streamed answer; expected Stream=yes with it"},
        {c->body && c->body_file, "BodyFile", "stands beside Body=; expected one of them"},
        {c->kind == CANARY_RAW && !c->path, "Kind", "is raw without a path; expected Path= with it"},
        {c->stream && !canary_kind_streams(c->kind), "Stream",
         "is set for an API that does not stream; expected another Kind="},
        {c->schema && !canary_kind_constrains(c->kind), "Schema",
         "is set for an API that takes none; expected another Kind="},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_origin at = place_of(s, SECTION_CANARY, c->name, rows[i].key);
        int r = rows[i].wrong ? problems_add(s->problems, at.file, at.line, "%s= of [Canary %s] %s",
                                             rows[i].key, c->name, rows[i].what)
                              : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

static int check_canaries(const struct checker *s)
{
    for (size_t i = 0; i < s->config->n_canaries; i++) {
        int r = check_canary_tokens(s, &s->config->canaries[i]);

        if (r == 0)
            r = check_canary_mix(s, &s->config->canaries[i]);
        if (r < 0)
            return r;
    }
    return s->config->live.canary
               ? check_canary_name(s, s->config->live.canary, NULL, SECTION_LIVE, "Canary")
               : 0;
}

static int check_variants(const struct checker *s)
{
    for (size_t i = 0; i < s->config->n_variants; i++) {
        const struct variant_config *v = &s->config->variants[i];

        for (size_t j = 0; v->suite && v->suite[j]; j++) {
            int r = check_canary_name(s, v->suite[j], v->name, SECTION_VARIANT, "Suite");

            if (r < 0)
                return r;
        }
    }
    return 0;
}

int config_check(const struct config *c, const char *name, struct problems *p)
{
    const struct checker s = {.config = c, .name = name, .problems = p};
    int r;

    r = check_all_required(&s);
    if (r < 0)
        return r;
    r = check_suite(&s);
    if (r < 0)
        return r;
    r = check_canaries(&s);
    if (r < 0)
        return r;
    r = check_variants(&s);
    if (r < 0)
        return r;
    r = check_spans(&s, SECTION_START, "ProbeSec", c->start.probe_usec, "ProbeMaxSec",
                    c->start.probe_max_usec);
    if (r < 0)
        return r;
    return check_spans(&s, SECTION_RESTART, "BackoffSec", c->restart.backoff_usec, "BackoffMaxSec",
                       c->restart.backoff_max_usec);
}
