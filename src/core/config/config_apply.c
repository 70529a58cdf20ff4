/* SPDX-License-Identifier: MIT */
#include "core/config/config_apply.h"

#include <errno.h>

#include "core/config/config_builder.h"
#include "core/config/config_section.h"
#include "core/config/config_value.h"

/* Where the walk over the entries of one layer is. */
struct walk {
    struct config_application *a;
    enum config_layer layer;
    const struct unit_entry *entry;
    const struct config_section *section; /* NULL: not a section to look into */
    const char *argument;                 /* as it stands in the section's struct */
    void *at;                             /* the section's struct */
};

/* As in unit files: sections and keys that begin with X- are other programs' business. */
static bool is_extension(const char *name)
{
    return str_after(name, "X-") != NULL;
}

#define tell(w, ...) problems_add((w)->a->problems, (w)->entry->file, (w)->entry->line, __VA_ARGS__)

static int tell_unknown_section(const struct walk *w)
{
    const struct config_section *near = config_section_nearest(w->entry->section);
    _cleanup_strbuf_ struct strbuf known = {};

    if (near)
        return tell(w, "unknown section [%.60s]; did you mean [%s]?", w->entry->section, near->name);
    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++)
        strbuf_appendf(&known, "%s[%s]", i > 0 ? ", " : "", config_sections[i].name);
    if (known.failed)
        return -ENOMEM;
    return tell(w, "unknown section [%.60s]; expected one of %s", w->entry->section, known.data);
}

static int tell_unknown_key(const struct walk *w)
{
    const struct config_key *near = config_key_nearest(w->section, w->entry->key);
    _cleanup_free_ char *key = problems_quote(w->entry->key);
    _cleanup_strbuf_ struct strbuf known = {};

    if (!key)
        return -ENOMEM;
    if (near)
        return tell(w, "unknown key %s= in [%s]; did you mean %s.%s?", key, w->section->name,
                    config_key_section(near)->name, near->name);
    for (size_t i = 0; i < n_config_keys; i++) {
        if (config_key_section(&config_keys[i]) == w->section)
            strbuf_appendf(&known, "%s%s", known.len > 0 ? ", " : "", config_keys[i].name);
    }
    if (known.failed)
        return -ENOMEM;
    return tell(w, "unknown key %s= in [%s]; expected one of %s", key, w->section->name, known.data);
}

static int tell_bad_value(const struct walk *w, const struct config_key *k, const char *why, int error)
{
    _cleanup_free_ char *expected = config_key_expectation(k), *value = problems_quote(w->entry->value);

    if (!expected || !value)
        return -ENOMEM;
    if (error == -ERANGE)
        why = "out of range";
    if (str_empty(why))
        return tell(w, "%s.%s=%s: expected %s", w->section->name, k->name, value, expected);
    return tell(w, "%s.%s=%s: %s; expected %s", w->section->name, k->name, value, why, expected);
}

/* Finds the struct that the header speaks of, or makes it. w->section stays NULL after a mistake. */
static int find_section(struct walk *w)
{
    const struct config_section *s = config_section_find(w->entry->section);
    struct config *c = w->a->config;
    const char *name = w->entry->argument;
    size_t i;
    int r = 0;

    if (!s)
        return tell_unknown_section(w);
    if (!s->named && name)
        return tell(w, "[%s %.60s] takes no name; expected [%s]", s->name, name, s->name);
    if (s->named && (!name || !config_is_name(name)))
        return tell(w, "[%s%s%.60s] needs a name of letters, digits, \"_\", \"-\" and \".\"; expected "
                    "[%s NAME]", s->name, name ? " " : "", str_or_empty(name), s->name);
    if (config_section_index(c, s, name, &i))
        w->at = config_section_edit(c, s, i);
    else if (config_section_count(c, s) >= CONFIG_MAX_NAMED)
        return tell(w, "too many sections [%s ...]; expected at most %d", s->name, CONFIG_MAX_NAMED);
    else
        r = config_section_new(c, s, name, &w->at);
    if (r < 0)
        return r;
    w->section = s;
    w->argument = s->named ? *(char **) w->at : NULL;
    return 0;
}

static int enter_section(struct walk *w)
{
    int r;

    w->section = NULL;
    if (is_extension(w->entry->section))
        return 0;
    r = find_section(w);
    if (!w->section)
        w->a->partial = true;
    return r;
}

/* The first word of a layer about a list of names is the last one about what was below it. */
static int begin_list(struct walk *w, const struct config_key *k, void *field)
{
    const struct config_origin *last = config_origins_last(w->a->config->origins, k, w->argument);

    if (!config_type_is_words(k->type) || (last && last->layer == w->layer))
        return 0;
    config_origins_drop(w->a->config->origins, k, w->argument);
    return config_value_reset(k, field);
}

static int remember_origin(const struct walk *w, const struct config_key *k, bool refused)
{
    const struct config_origin origin = {
        .key = k,
        .argument = w->argument,
        .file = w->entry->file,
        .line = w->entry->line,
        .layer = w->layer,
        .refused = refused,
    };
    bool resets = !config_type_is_list(k->type) || *w->entry->value == '\0';

    if (resets)
        config_origins_drop(w->a->config->origins, k, w->argument);
    return config_origins_add(w->a->config->origins, &origin);
}

static int set_value(struct walk *w, const struct config_key *k)
{
    void *field = config_field(w->at, k);
    _cleanup_strbuf_ struct strbuf why = {};
    struct config_input in = {
        .key = k,
        .text = w->entry->value,
        .words = w->entry->words,
        .specifiers = &w->a->specifiers,
        .why = &why,
    };
    int r;

    r = begin_list(w, k, field);
    if (r < 0)
        return r;
    r = config_value_set(&in, field);
    if (why.failed)
        return -ENOMEM;
    if (r >= 0)
        return remember_origin(w, k, false);
    if (r != -EINVAL && r != -ERANGE)
        return r;
    r = tell_bad_value(w, k, why.data, r);
    return r < 0 ? r : remember_origin(w, k, true);
}

static int apply_assignment(struct walk *w)
{
    const struct config_key *k = config_key_find(w->section, w->entry->key);

    if (is_extension(w->entry->key))
        return 0;
    if (w->layer != LAYER_BUILT_IN && ++w->a->n_assignments == CONFIG_MAX_ASSIGNMENTS + 1)
        return tell(w, "too many assignments; expected at most %d", CONFIG_MAX_ASSIGNMENTS);
    if (w->a->n_assignments > CONFIG_MAX_ASSIGNMENTS)
        return 0;
    if (!k)
        return tell_unknown_key(w);
    if (w->layer == LAYER_PROFILE && str_equal(k->name, "Profile"))
        return tell(w, "a profile cannot name another profile; expected no %s=", k->name);
    return set_value(w, k);
}

int config_apply(struct config_application *a, enum config_layer layer, const struct unitfile *u)
{
    struct walk w = {.a = a, .layer = layer};

    for (size_t i = 0; i < u->n && !problems_full(a->problems); i++) {
        int r = 0;

        w.entry = &u->entries[i];
        if (!w.entry->key)
            r = enter_section(&w);
        else if (w.section)
            r = apply_assignment(&w);
        if (r < 0)
            return r;
    }
    return 0;
}
