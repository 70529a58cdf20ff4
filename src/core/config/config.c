/* SPDX-License-Identifier: MIT */
#include "core/config/config.h"

#include <errno.h>

#include "core/config/config_origin.h"
#include "core/config/config_section.h"
#include "core/config/config_value.h"

/* The pointer to an array of some struct: its type is known to the table only. */
static char *array_of(const struct config *c, const struct config_section *s)
{
    char *array;

    memcpy(&array, (const char *) c + s->offset, sizeof(array));
    return array;
}

size_t config_section_count(const struct config *c, const struct config_section *s)
{
    return s->named ? *(const size_t *) (const void *) ((const char *) c + s->count_offset) : 1;
}

const void *config_section_at(const struct config *c, const struct config_section *s, size_t i)
{
    return s->named ? array_of(c, s) + i * s->size : (const char *) c + s->offset;
}

void *config_section_edit(struct config *c, const struct config_section *s, size_t i)
{
    return s->named ? array_of(c, s) + i * s->size : (char *) c + s->offset;
}

const char *config_section_name_at(const struct config *c, const struct config_section *s, size_t i)
{
    return s->named ? *(char *const *) config_section_at(c, s, i) : NULL;
}

bool config_section_index(const struct config *c, const struct config_section *s, const char *name,
                          size_t *ret)
{
    for (size_t i = 0; i < config_section_count(c, s); i++) {
        if (str_equal(config_section_name_at(c, s, i), name)) {
            *ret = i;
            return true;
        }
    }
    return false;
}

const void *config_field_at(const void *section_struct, const struct config_key *k)
{
    return (const char *) section_struct + k->offset;
}

void *config_field(void *section_struct, const struct config_key *k)
{
    return (char *) section_struct + k->offset;
}

int config_section_defaults(const struct config_section *s, void *at)
{
    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];
        int r = config_key_section(k) == s ? config_value_default(k, config_field(at, k)) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

static void release_section(const struct config_section *s, void *at)
{
    for (size_t i = 0; i < n_config_keys; i++) {
        if (config_key_section(&config_keys[i]) == s)
            config_value_release(&config_keys[i], config_field(at, &config_keys[i]));
    }
    if (s->named)
        free(*(char **) at);
}

int config_section_new(struct config *c, const struct config_section *s, const char *name, void **ret)
{
    size_t *count = (size_t *) (void *) ((char *) c + s->count_offset);
    char *array = reallocarray(array_of(c, s), *count + 1, s->size);
    void *at;

    if (!array)
        return -ENOMEM;
    memcpy((char *) c + s->offset, &array, sizeof(array));
    at = array + *count * s->size;
    memset(at, 0, s->size);
    *(char **) at = strdup(name);
    if (!*(char **) at || config_section_defaults(s, at) < 0) {
        release_section(s, at);
        return -ENOMEM;
    }
    (*count)++;
    *ret = at;
    return 0;
}

void config_free(struct config *c)
{
    if (!c)
        return;
    config_origins_free(c->origins);
    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++) {
        const struct config_section *s = &config_sections[i];

        for (size_t j = 0; j < config_section_count(c, s); j++)
            release_section(s, config_section_edit(c, s, j));
        if (s->named)
            free(array_of(c, s));
    }
    free(c);
}

void config_free_canary(struct canary_config *c)
{
    if (!c)
        return;
    release_section(&config_sections[SECTION_CANARY], c);
    free(c);
}

int config_copy_canary(const struct canary_config *c, struct canary_config **ret)
{
    _cleanup_(config_free_canaryp) struct canary_config *copy = calloc(1, sizeof(*copy));
    int r = 0;

    if (!copy)
        return -ENOMEM;
    copy->name = strdup(c->name);
    if (!copy->name)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];

        if (k->section == SECTION_CANARY)
            r = config_value_copy(k, config_field_at(c, k), config_field(copy, k));
    }
    if (r < 0)
        return r;
    *ret = steal_pointer(&copy);
    return 0;
}

const struct canary_config *config_canary(const struct config *c, const char *name)
{
    size_t i;

    return config_section_index(c, &config_sections[SECTION_CANARY], name, &i) ? &c->canaries[i] : NULL;
}

const struct phase_config *config_phase(const struct config *c, const char *name)
{
    size_t i;

    return config_section_index(c, &config_sections[SECTION_PHASE], name, &i) ? &c->phases[i] : NULL;
}

bool canary_kind_streams(enum canary_kind kind)
{
    return kind != CANARY_EMBEDDINGS && kind != CANARY_RERANK && kind != CANARY_TRITON_INFER;
}

bool canary_kind_constrains(enum canary_kind kind)
{
    return canary_kind_streams(kind) && kind != CANARY_TRITON_GENERATE && kind != CANARY_RAW;
}

const struct class_config *config_class(const struct config *c, const char *name)
{
    size_t i;

    return config_section_index(c, &config_sections[SECTION_CLASS], name, &i) ? &c->classes[i] : NULL;
}
