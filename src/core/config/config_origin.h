/* SPDX-License-Identifier: MIT */
#pragma once

/* Where each value of a configuration came from. What has no origin has its default. */

#include "base/cleanup.h"
#include "core/config/config.h"
#include "core/config/config_key.h"

/* A layer's first assignment to a list of names drops what lower layers said. */
enum config_layer { LAYER_BUILT_IN, LAYER_PROFILE, LAYER_FILES, LAYER_COMMAND_LINE };

struct config_origin {
    const struct config_key *key;
    const char *argument; /* of a named section: the name in its struct, borrowed; NULL: a plain one */
    const char *file;     /* borrowed from `files` below */
    unsigned line;        /* 0: no line */
    enum config_layer layer;
    bool refused;         /* what stands there is no such value */
};

struct config_origins {
    struct config_origin *items; /* a list may have several, in their order */
    size_t n;
    size_t allocated;
    char **files;
};

/* -ENOMEM only. `file` is copied. */
must_check int config_origins_add(struct config_origins *o, const struct config_origin *origin);
/* Forgets where that value came from. */
void config_origins_drop(struct config_origins *o, const struct config_key *k, const char *argument);
/* The newest, or NULL. */
const struct config_origin *config_origins_last(const struct config_origins *o, const struct config_key *k,
                                                const char *argument);
void config_origins_free(struct config_origins *o);
