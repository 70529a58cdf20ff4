/* SPDX-License-Identifier: MIT */
#include "core/config/config_origin.h"

#include <errno.h>

#include "base/str.h"

/* A few files have many values each: one copy of the name for all of them. */
static const char *intern(struct config_origins *o, const char *file)
{
    size_t n = strv_length(o->files);

    while (n-- > 0) {
        if (str_equal(o->files[n], file))
            return o->files[n];
    }
    if (strv_push(&o->files, file) < 0)
        return NULL;
    return o->files[strv_length(o->files) - 1];
}

int config_origins_add(struct config_origins *o, const struct config_origin *origin)
{
    const char *file = intern(o, origin->file);

    if (!file)
        return -ENOMEM;
    if (o->n == o->allocated) {
        size_t size = MAX((size_t) 16, 2 * o->allocated);
        struct config_origin *grown = reallocarray(o->items, size, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        o->items = grown;
        o->allocated = size;
    }
    o->items[o->n] = *origin;
    o->items[o->n++].file = file;
    return 0;
}

static bool is_of(const struct config_origin *origin, const struct config_key *k, const char *argument)
{
    return origin->key == k && str_equal(origin->argument, argument);
}

void config_origins_drop(struct config_origins *o, const struct config_key *k, const char *argument)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->n; i++) {
        if (!is_of(&o->items[i], k, argument))
            o->items[kept++] = o->items[i];
    }
    o->n = kept;
}

const struct config_origin *config_origins_last(const struct config_origins *o, const struct config_key *k,
                                                const char *argument)
{
    for (size_t i = o->n; i-- > 0;) {
        if (is_of(&o->items[i], k, argument))
            return &o->items[i];
    }
    return NULL;
}

void config_origins_free(struct config_origins *o)
{
    if (!o)
        return;
    free(o->items);
    strv_free(o->files);
    free(o);
}
