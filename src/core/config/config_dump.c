/* SPDX-License-Identifier: MIT */
#include "core/config/config_dump.h"

#include <errno.h>

#include "core/config/config_origin.h"
#include "core/config/config_section.h"
#include "core/config/config_shown.h"
#include "core/config/config_value.h"

/* One section's struct on its way out. */
struct part {
    const struct config *config;
    const struct config_section *section;
    const char *argument;
    const void *at;
};

static struct part part_of(const struct config *c, const struct config_section *s, size_t i)
{
    return (struct part){
        .config = c,
        .section = s,
        .argument = config_section_name_at(c, s, i),
        .at = config_section_at(c, s, i),
    };
}

/* The next origin of that key after the one before; NULL: there is none (any more). */
static const struct config_origin *next_origin(const struct part *p, const struct config_key *k,
                                               const struct config_origin *previous)
{
    const struct config_origins *o = p->config->origins;
    size_t i = previous ? (size_t) (previous - o->items) + 1 : 0;

    for (; i < o->n; i++) {
        if (o->items[i].key == k && str_equal(o->items[i].argument, p->argument))
            return &o->items[i];
    }
    return NULL;
}

static void append_origins(struct strbuf *b, const struct part *p, const struct config_key *k)
{
    const struct config_origin *o = next_origin(p, k, NULL);
    const char *separator = "# ";

    if (!o)
        strbuf_append(b, "# default");
    for (; o; o = next_origin(p, k, o)) {
        strbuf_appendf(b, "%s%s", separator, o->file);
        if (o->line > 0)
            strbuf_appendf(b, ":%u", o->line);
        separator = ", ";
    }
    strbuf_append_char(b, '\n');
}

static int append_key(struct strbuf *b, const struct part *p, const struct config_key *k)
{
    const void *field = config_field_at(p->at, k);
    size_t lines = config_type_is_lines(k->type) ? strv_length(*(char *const *const *) field) : 1;

    if (!config_value_is_set(k, field) && !next_origin(p, k, NULL))
        return 0;
    append_origins(b, p, k);
    if (!config_value_is_set(k, field))
        strbuf_appendf(b, "%s=\n", k->name);
    for (size_t i = 0; config_value_is_set(k, field) && i < lines; i++) {
        int r;

        strbuf_appendf(b, "%s=", k->name);
        r = config_shown_text(k, field, i, b);
        if (r < 0)
            return r;
        strbuf_append_char(b, '\n');
    }
    return 0;
}

static int append_part(struct strbuf *b, const struct part *p)
{
    strbuf_appendf(b, "%s[%s%s%s]\n", b->len > 0 ? "\n" : "", p->section->name, p->argument ? " " : "",
                   str_or_empty(p->argument));
    for (size_t i = 0; i < n_config_keys; i++) {
        int r = config_key_section(&config_keys[i]) == p->section ? append_key(b, p, &config_keys[i]) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

int config_dump(const struct config *c, char **ret)
{
    _cleanup_strbuf_ struct strbuf b = {};
    char *text;

    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++) {
        const struct config_section *s = &config_sections[i];

        for (size_t j = 0; j < config_section_count(c, s); j++) {
            const struct part p = part_of(c, s, j);
            int r = append_part(&b, &p);

            if (r < 0)
                return r;
        }
    }
    text = strbuf_steal(&b);
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

static json_t *json_origins(const struct part *p, const struct config_key *k)
{
    json_auto_t *array = json_array();

    for (const struct config_origin *o = next_origin(p, k, NULL); o; o = next_origin(p, k, o)) {
        json_t *place = json_pack("{s:o}", "file", config_shown_string(o->file));

        if (place && o->line > 0 && json_object_set_new(place, "line", json_integer(o->line)) < 0) {
            json_decref(place);
            return NULL;
        }
        if (json_array_append_new(array, place) < 0)
            return NULL;
    }
    return steal_pointer(&array);
}

static int json_key(const struct part *p, const struct config_key *k, json_t *object)
{
    json_t *value, *entry;
    int r = config_shown_json(k, config_field_at(p->at, k), &value);

    if (r < 0)
        return r;
    entry = json_pack("{s:o, s:o}", "value", value, "from", json_origins(p, k));
    return json_object_set_new(object, k->name, entry) < 0 ? -ENOMEM : 0;
}

static int json_part(const struct part *p, json_t **ret)
{
    json_auto_t *object = json_object();

    if (!object)
        return -ENOMEM;
    for (size_t i = 0; i < n_config_keys; i++) {
        int r = config_key_section(&config_keys[i]) == p->section ? json_key(p, &config_keys[i], object) : 0;

        if (r < 0)
            return r;
    }
    *ret = steal_pointer(&object);
    return 0;
}

/* One object for each name. */
static int json_named(const struct config *c, const struct config_section *s, json_t **ret)
{
    json_auto_t *named = json_object();

    if (!named)
        return -ENOMEM;
    for (size_t i = 0; i < config_section_count(c, s); i++) {
        const struct part p = part_of(c, s, i);
        json_t *object;
        int r = json_part(&p, &object);

        if (r < 0)
            return r;
        if (json_object_set_new(named, p.argument, object) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&named);
    return 0;
}

static int json_section(const struct config *c, const struct config_section *s, json_t **ret)
{
    struct part p;

    if (s->named)
        return json_named(c, s, ret);
    p = part_of(c, s, 0);
    return json_part(&p, ret);
}

int config_dump_json(const struct config *c, json_t **ret)
{
    json_auto_t *all = json_object();

    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++) {
        json_t *object;
        int r = json_section(c, &config_sections[i], &object);

        if (r < 0)
            return r;
        if (json_object_set_new(all, config_sections[i].name, object) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&all);
    return 0;
}
