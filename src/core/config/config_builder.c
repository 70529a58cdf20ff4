/* SPDX-License-Identifier: MIT */
#include "core/config/config_builder.h"

#include <errno.h>

#include "base/str.h"
#include "core/config/config_apply.h"
#include "core/config/config_check.h"
#include "core/config/config_match.h"
#include "core/config/config_origin.h"
#include "core/config/config_section.h"
#include "core/config/config_value.h"
#include "core/config/words.h"
#include "core/diagnosis/pattern.h"

/* The canaries of the default suite, as anybody would write them. */
#define BUILT_IN_NAME "built-in"
static const char built_in_text[] =
    "[Canary greedy]\n"
    "Proves=prefill, decoding and greedy choice\n"
    "Temperature=0\n"
    "[Canary sampled]\n"
    "Proves=sampling, whose kernels are often built at the first request that samples\n"
    "Temperature=0.6\n"
    "TopP=0.95\n"
    "[Canary streamed]\n"
    "Proves=an answer that comes token by token, to its end\n"
    "Temperature=0.6\n"
    "TopP=0.95\n"
    "Stream=yes\n"
    "[Canary parallel]\n"
    "Proves=batches: several requests at once\n"
    "Temperature=0.6\n"
    "TopP=0.95\n"
    "Parallel=4\n";

struct config_builder {
    char *name;
    char *instance, *data_dir, *credentials;
    char *settled_profile; /* what Profile=auto has come to */
    struct unitfile layers[LAYER_COMMAND_LINE + 1];
    char **files; /* names that the entries borrow */
    struct problems problems;
};

int config_builder_new(const char *name, const char *instance, const char *data_dir,
                       struct config_builder **ret)
{
    _cleanup_(config_builder_freep) struct config_builder *b = calloc(1, sizeof(*b));
    int r;

    if (!b)
        return -ENOMEM;
    b->name = strdup(name);
    b->instance = strdup(instance);
    b->data_dir = strdup(data_dir);
    if (!b->name || !b->instance || !b->data_dir)
        return -ENOMEM;
    r = unitfile_parse(BUILT_IN_NAME, built_in_text, strlen(built_in_text), &b->layers[LAYER_BUILT_IN],
                       &b->problems);
    if (r < 0)
        return r;
    *ret = steal_pointer(&b);
    return 0;
}

int config_builder_set_credentials(struct config_builder *b, const char *dir)
{
    return str_replace(&b->credentials, dir);
}

void config_builder_free(struct config_builder *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(b->layers); i++)
        unitfile_release(&b->layers[i]);
    problems_release(&b->problems);
    strv_free(b->files);
    free(b->name);
    free(b->instance);
    free(b->data_dir);
    free(b->credentials);
    free(b->settled_profile);
    free(b);
}

static int add_text(struct config_builder *b, enum config_layer layer, const char *file, const char *text,
                    size_t n)
{
    if (strv_push(&b->files, file) < 0)
        return -ENOMEM;
    return unitfile_parse(b->files[strv_length(b->files) - 1], text, n, &b->layers[layer], &b->problems);
}

int config_builder_add_text(struct config_builder *b, const char *file, const char *text, size_t n)
{
    return add_text(b, LAYER_FILES, file, text, n);
}

int config_builder_add_profile(struct config_builder *b, const char *file, const char *text, size_t n)
{
    return add_text(b, LAYER_PROFILE, file, text, n);
}

struct problems *config_builder_problems(struct config_builder *b)
{
    return &b->problems;
}

/* Header and assignment; nothing but a problem when the header is none. */
static int add_option(struct config_builder *b, const char *header, const char *key, const char *value)
{
    struct unitfile *u = &b->layers[LAYER_COMMAND_LINE];
    size_t before = u->n;
    int r = unitfile_add_section(u, header, CONFIG_COMMAND_LINE, 0, &b->problems);

    if (r < 0 || u->n == before)
        return r;
    return unitfile_add(u, key, value, CONFIG_COMMAND_LINE, 0);
}

static bool is_text(const char *s)
{
    size_t n = strlen(s), length = 1;

    for (size_t i = 0; i < n && length > 0; i += length)
        length = strchr("\n\r", s[i]) ? 0 : utf8_sequence_length(s + i, n - i);
    return length > 0;
}

static int tell_no_setting(struct config_builder *b, const char *assignment)
{
    _cleanup_free_ char *shown = problems_quote(assignment);

    if (!shown)
        return -ENOMEM;
    return problems_add(&b->problems, CONFIG_COMMAND_LINE, 0,
                        "\"%s\" is no setting; expected Section.Key=Value, such as Start.StallSec=10min",
                        shown);
}

int config_builder_add_assignment(struct config_builder *b, const char *assignment)
{
    _cleanup_free_ char *copy = strdup(assignment);
    char *equals, *dot;

    if (!copy)
        return -ENOMEM;
    equals = strchr(copy, '=');
    if (equals)
        *equals = '\0';
    dot = strrchr(copy, '.');
    if (!equals || !dot || !is_text(assignment))
        return tell_no_setting(b, assignment);
    *dot = '\0';
    return add_option(b, copy, str_strip(dot + 1), str_strip(equals + 1));
}

int config_builder_add_value(struct config_builder *b, const char *section, const char *key,
                             const char *value)
{
    _cleanup_free_ char *copy = strdup(value);

    if (!copy)
        return -ENOMEM;
    if (!is_text(value))
        return problems_add(&b->problems, CONFIG_COMMAND_LINE, 0,
                            "%s.%s= is no text; expected one line in UTF-8", section, key);
    return add_option(b, section, key, str_strip(copy));
}

int config_builder_add_command(struct config_builder *b, char *const *argv)
{
    struct unitfile *u = &b->layers[LAYER_COMMAND_LINE];
    int r = add_option(b, "Server", "Command", "");

    return r < 0 ? r : strv_copy(argv, &u->entries[u->n - 1].words);
}

/* The last assignment to a key of [Server]. */
static const struct unit_entry *last_of_server(const struct config_builder *b, const char *key)
{
    for (size_t layer = ARRAY_SIZE(b->layers); layer-- > 0;) {
        for (size_t i = b->layers[layer].n; i-- > 0;) {
            const struct unit_entry *e = &b->layers[layer].entries[i];

            if (str_equal(e->section, "Server") && !e->argument && str_equal(e->key, key))
                return e;
        }
    }
    return NULL;
}

/* An unusable name is a problem of its own once the value is parsed; until then it leads nowhere. */
const struct unit_entry *config_builder_profile(const struct config_builder *b)
{
    const struct unit_entry *profile = last_of_server(b, "Profile");

    return profile && config_is_name(profile->value) ? profile : NULL;
}

/* The command's words; none where it cannot be read, which is told when it is parsed. -ENOMEM only. */
static int find_command(const struct config_builder *b, char ***ret)
{
    const struct unit_entry *command = last_of_server(b, "Command");
    const char *why;
    int r;

    if (!command || command->words)
        return strv_copy(command ? command->words : NULL, ret);
    r = words_split(command->value, ret, &why);
    return r == -ENOMEM ? r : 0;
}

/* Probes of a profile are told which program they are to clear the way for. What cannot be read does not
 * make what else needs it worse. */
static int find_program(const struct config_builder *b, char **ret)
{
    _cleanup_strv_ char **words = NULL;
    int r = find_command(b, &words);

    if (r < 0)
        return r;
    *ret = strdup(words ? words[0] : "");
    return *ret ? 0 : -ENOMEM;
}

/* -EINVAL: the text is no profile that could be used. */
static int list_claims(const char *text, size_t n, char ***ret)
{
    _cleanup_problems_ struct problems problems = {};
    _cleanup_strv_ char **claims = NULL;
    struct unitfile u = {};
    int r = unitfile_parse("", text, n, &u, &problems);

    for (size_t i = 0; r == 0 && i < u.n; i++) {
        const struct unit_entry *e = &u.entries[i];

        if (str_equal(e->section, "Profile") && str_equal(e->key, "Match"))
            r = strv_push(&claims, e->value);
    }
    unitfile_release(&u);
    if (r == 0)
        *ret = steal_pointer(&claims);
    return r;
}

static int check_claims(char *const *claims)
{
    for (size_t i = 0; claims && claims[i]; i++) {
        _cleanup_strv_ char **groups = NULL;
        _cleanup_strbuf_ struct strbuf why = {};
        int r = pattern_check(claims[i], &groups, &why);

        if (r < 0)
            return r;
    }
    return 0;
}

int config_builder_claims(const struct config_builder *b, const char *text, size_t n)
{
    _cleanup_strv_ char **claims = NULL, **words = NULL;
    int r = find_command(b, &words);

    if (r == 0)
        r = list_claims(text, n, &claims);
    if (r == 0)
        r = check_claims(claims);
    if (r == 0 && words)
        r = config_match_words(claims, words);
    return r == -EINVAL ? 0 : r;
}

int config_builder_settle_profile(struct config_builder *b, const char *name)
{
    return str_replace(&b->settled_profile, name);
}

static int new_config(struct config **ret)
{
    _cleanup_(config_freep) struct config *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->origins = calloc(1, sizeof(*c->origins));
    if (!c->origins)
        return -ENOMEM;
    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++) {
        const struct config_section *s = &config_sections[i];
        int r = s->named ? 0 : config_section_defaults(s, config_section_edit(c, s, 0));

        if (r < 0)
            return r;
    }
    *ret = steal_pointer(&c);
    return 0;
}

/* All layers, and then what only all of them together can tell. */
static int apply_layers(struct config_builder *b, struct config *c)
{
    _cleanup_free_ char *program = NULL;
    struct config_application a = {
        .config = c,
        .problems = &b->problems,
        .partial = b->problems.n > 0,
        .specifiers = {
            .instance = b->instance,
            .data_dir = b->data_dir,
            .credentials = b->credentials,
        },
    };
    int r = find_program(b, &program);

    if (r < 0)
        return r;
    a.specifiers.program = program;
    for (size_t i = 0; i < ARRAY_SIZE(b->layers); i++) {
        r = config_apply(&a, (enum config_layer) i, &b->layers[i]);
        if (r < 0)
            return r;
    }
    return a.partial ? 0 : config_check(c, b->name, &b->problems);
}

static void fill_in_timeouts(struct config *c)
{
    for (size_t i = 0; i < c->n_canaries; i++) {
        if (c->canaries[i].timeout_usec == 0)
            c->canaries[i].timeout_usec = c->live.timeout_usec;
    }
}

/* The instance's own suite goes before a variant's. */
static bool suite_is_own(const struct config *c)
{
    const struct config_section *start = config_section_find("Start");
    const struct config_key *k = config_key_find(start, "Suite");
    const struct config_origin *origin = config_origins_last(c->origins, k, NULL);

    return origin && origin->layer > LAYER_PROFILE;
}

static int use_variant(struct config *c, const struct variant_config *variant)
{
    char **suite = NULL;
    int r = strv_copy(variant->suite, &suite);

    if (r < 0)
        return r;
    strv_free(c->start.suite);
    c->start.suite = suite;
    return 0;
}

/* The first variant that the command line matches. */
static int choose_suite(struct config *c)
{
    if (suite_is_own(c))
        return 0;
    for (size_t i = 0; i < c->n_variants; i++) {
        int r = config_match_words(c->variants[i].match, c->server.command);

        if (r > 0)
            return use_variant(c, &c->variants[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int fill_in(const struct config_builder *b, struct config *c)
{
    fill_in_timeouts(c);
    if (b->settled_profile && str_equal(c->server.profile, CONFIG_PROFILE_AUTO)) {
        int r = str_replace(&c->server.profile, b->settled_profile);

        if (r < 0)
            return r;
    }
    return choose_suite(c);
}

int config_builder_finish(struct config_builder *b, struct config **ret, char ***ret_errors)
{
    _cleanup_(config_freep) struct config *c = NULL;
    int r;

    r = new_config(&c);
    if (r < 0)
        return r;
    r = apply_layers(b, c);
    if (r < 0)
        return r;
    if (b->problems.n > 0) {
        r = problems_steal(&b->problems, ret_errors);
        return r < 0 ? r : -EINVAL;
    }
    r = fill_in(b, c);
    if (r < 0)
        return r;
    *ret = steal_pointer(&c);
    return 0;
}
