/* SPDX-License-Identifier: MIT */
#include "core/config/config_key.h"

#include <inttypes.h>

#include "base/str.h"
#include "base/timeutil.h"
#include "core/config/config_text.h"

/* Further apart than this, a suggestion would only confuse. */
#define NEAR_ENOUGH ((size_t) 2)

const struct config_section *config_section_find(const char *name)
{
    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++) {
        if (str_equal(config_sections[i].name, name))
            return &config_sections[i];
    }
    return NULL;
}

const struct config_section *config_key_section(const struct config_key *k)
{
    return &config_sections[k->section];
}

const struct config_key *config_key_find(const struct config_section *section, const char *name)
{
    for (size_t i = 0; i < n_config_keys; i++) {
        if (config_key_section(&config_keys[i]) == section && str_equal(config_keys[i].name, name))
            return &config_keys[i];
    }
    return NULL;
}

/* A beginning of a name ("Timeout") counts as one step away, however much is missing. */
static size_t name_distance(const char *written, const char *name)
{
    size_t n = strlen(written);

    if (n >= 3 && n < strlen(name) && strncasecmp(written, name, n) == 0)
        return 1;
    return str_distance(written, name);
}

const struct config_key *config_key_nearest(const struct config_section *section, const char *name)
{
    const struct config_key *nearest = NULL;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];
        size_t distance = name_distance(name, k->name);
        /* The very name in another section goes before a similar one in this section. */
        size_t score = 2 * distance + (config_key_section(k) != section);

        if (distance <= NEAR_ENOUGH && score < best) {
            nearest = k;
            best = score;
        }
    }
    return nearest;
}

const struct config_section *config_section_nearest(const char *name)
{
    const struct config_section *nearest = NULL;
    size_t best = NEAR_ENOUGH + 1;

    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++) {
        size_t distance = name_distance(name, config_sections[i].name);

        if (distance < best) {
            nearest = &config_sections[i];
            best = distance;
        }
    }
    return nearest;
}

bool config_type_is_list(enum config_type type)
{
    return type == CONFIG_ENVIRONMENT || config_type_is_words(type) || config_type_is_lines(type);
}

bool config_type_is_lines(enum config_type type)
{
    return type == CONFIG_PATTERNS || type == CONFIG_HEADERS;
}

bool config_type_is_words(enum config_type type)
{
    return type == CONFIG_NAMES || type == CONFIG_METRICS || type == CONFIG_DIRECTORIES ||
           type == CONFIG_PROGRAMS;
}

const char *config_type_text(enum config_type type)
{
#define X(constant, c_type, text) [constant] = text,
    static const char *const texts[] = {CONFIG_TYPES(X)};
#undef X

    return texts[type];
}

static void append_choices(struct strbuf *b, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++) {
        const char *separator = i == 0 ? "" : choices[i + 1] ? ", " : " or ";

        strbuf_appendf(b, "%s%s", separator, choices[i]);
    }
}

static void append_bound(struct strbuf *b, const struct config_key *k, uint64_t bound)
{
    if (k->type == CONFIG_TIMESPAN)
        config_text_timespan(b, bound);
    else if (k->type == CONFIG_SIZE)
        config_text_size(b, bound);
    else
        strbuf_appendf(b, "%" PRIu64, bound);
}

static void append_range(struct strbuf *b, const struct config_key *k)
{
    bool bounded = k->max != UINT64_MAX;

    if (k->type == CONFIG_REAL) {
        strbuf_append(b, ", from ");
        config_text_real(b, k->real_min);
        strbuf_append(b, " to ");
        config_text_real(b, k->real_max);
    } else if (bounded || k->min > 0) {
        strbuf_append(b, ", from ");
        append_bound(b, k, k->min);
        strbuf_append(b, " to ");
        append_bound(b, k, k->max);
    } else {
        strbuf_append(b, ", or infinity");
    }
}

char *config_key_expectation(const struct config_key *k)
{
    struct strbuf b = {};

    if (k->choices) {
        append_choices(&b, k->choices);
    } else {
        strbuf_append(&b, config_type_text(k->type));
        if (k->type == CONFIG_TIMESPAN || k->type == CONFIG_SIZE || k->type == CONFIG_UINT ||
            k->type == CONFIG_REAL)
            append_range(&b, k);
    }
    return strbuf_steal(&b);
}
