/* SPDX-License-Identifier: MIT */
#include "core/config/config_diff.h"

#include <errno.h>

#include "base/str.h"
#include "core/config/config_section.h"

/* Values */

static bool same_string(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;

    return str_equal(*x, *y);
}

static bool same_vector(const void *a, const void *b)
{
    char **const *x = a, **const *y = b;

    return strv_equal(*x, *y);
}

static bool same_bool(const void *a, const void *b)
{
    const bool *x = a, *y = b;

    return *x == *y;
}

static bool same_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x == *y;
}

static bool same_real(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x <= *y && *x >= *y;
}

static bool same_int(const void *a, const void *b)
{
    const int *x = a, *y = b;

    return *x == *y;
}

static bool same_choice(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;

    return *x == *y;
}

typedef bool same_fn(const void *a, const void *b);

/* Of each type, what its C type is compared by. */
static same_fn *const same_values[] = {
#define X(constant, c_type, text)                                                        \
    [constant] = _Generic((c_type[1]){}, char **: same_string, char ***: same_vector,    \
                          bool *: same_bool, uint64_t *: same_number, double *: same_real, \
                          int *: same_int, unsigned *: same_choice),
    CONFIG_TYPES(X)
#undef X
};

/* Sections */

static bool same_key(const struct config_key *k, const void *a, const void *b)
{
    return same_values[k->type](config_field_at(a, k), config_field_at(b, k));
}

bool config_same_section(const struct config *a, const struct config *b, enum config_section_id section,
                         const char *name)
{
    const struct config_section *s = &config_sections[section];
    size_t in_a, in_b;

    if (!config_section_index(a, s, name, &in_a) || !config_section_index(b, s, name, &in_b))
        return false;
    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];

        if (k->section == section && !same_key(k, config_section_at(a, s, in_a), config_section_at(b, s, in_b)))
            return false;
    }
    return true;
}

/* The comparison under way. */
struct comparison {
    const struct config *before;
    const struct config *after;
    struct config_diff diff;
};

static int add_change(struct config_diff *d, const struct config_section *s, const char *name,
                      const struct config_key *k)
{
    struct config_change *items = reallocarray(d->items, d->n + 1, sizeof(*items));

    if (!items)
        return -ENOMEM;
    d->items = items;
    items[d->n].key = k;
    items[d->n].name = str_format("%s%s%s%s%s", s->name, name ? " " : "", str_or_empty(name), k ? "." : "",
                                  k ? k->name : "");
    if (!items[d->n].name)
        return -ENOMEM;
    d->n++;
    return 0;
}

static int compare_keys(struct comparison *c, const struct config_section *s, size_t before, size_t after)
{
    const void *a = config_section_at(c->before, s, before), *b = config_section_at(c->after, s, after);

    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];
        int r;

        if (config_key_section(k) != s || same_key(k, a, b))
            continue;
        r = add_change(&c->diff, s, config_section_name_at(c->after, s, after), k);
        if (r < 0)
            return r;
    }
    return 0;
}

static int compare_section(struct comparison *c, const struct config_section *s)
{
    int r = 0;
    size_t other;

    for (size_t i = 0; r == 0 && i < config_section_count(c->after, s); i++) {
        const char *name = config_section_name_at(c->after, s, i);

        if (config_section_index(c->before, s, name, &other))
            r = compare_keys(c, s, other, i);
        else
            r = add_change(&c->diff, s, name, NULL);
    }
    for (size_t i = 0; r == 0 && i < config_section_count(c->before, s); i++) {
        const char *name = config_section_name_at(c->before, s, i);

        if (!config_section_index(c->after, s, name, &other))
            r = add_change(&c->diff, s, name, NULL);
    }
    return r;
}

int config_diff(const struct config *before, const struct config *after, struct config_diff *ret)
{
    struct comparison c = {.before = before, .after = after};

    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++) {
        int r = compare_section(&c, &config_sections[i]);

        if (r < 0) {
            config_diff_release(&c.diff);
            return r;
        }
    }
    *ret = c.diff;
    return 0;
}

void config_diff_release(struct config_diff *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->items[i].name);
    free(d->items);
    *d = (struct config_diff){};
}

int config_diff_names(const struct config_diff *d, bool needs_restart, char ***ret)
{
    _cleanup_strv_ char **names = NULL;

    for (size_t i = 0; i < d->n; i++) {
        const struct config_key *k = d->items[i].key;

        if ((k && k->needs_restart) == needs_restart && strv_push(&names, d->items[i].name) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&names);
    return 0;
}
