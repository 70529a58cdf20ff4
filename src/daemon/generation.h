/* SPDX-License-Identifier: MIT */
#pragma once

/* One reading of configuration and catalog. A reload brings another one; the one before lives on as long as
 * the server that was started with it. */

#include "base/cleanup.h"
#include "core/supervision/fsm.h"
#include "port/conf_files.h"

/* Where they are read from, the command line included. All borrowed. */
struct generation_source {
    const struct conf_paths *paths;
    const struct conf_request *request;
};

struct generation {
    struct config *config;
    struct catalog *catalog;
    unsigned users;
};

/* *ret_errors as conf_load() and conf_load_catalog(), with -EINVAL. -ENOMEM. */
must_check int generation_read(const struct generation_source *source, struct generation **ret,
                               char ***ret_errors);
/* One user more; returns g. */
struct generation *generation_ref(struct generation *g);
/* One user less; the last one frees it. NULL is fine. */
void generation_unref(struct generation *g);
DEFINE_CLEANUP(struct generation *, generation_unref);

/* What the state machine obeys of it. */
struct fsm_limits generation_limits(const struct generation *g);
