/* SPDX-License-Identifier: MIT */
#pragma once

/* The directories of the configuration, as this start of the server sees them. */

#include "core/config/config.h"

struct caches {
    char **builds; /* may be cleaned: Start.CacheDirectory= */
    char **all;    /* and Start.DownloadDirectory= */
};

/* -ENOMEM only. */
must_check int caches_find(const struct start_config *config, char *const *environment, struct caches *ret);
void caches_release(struct caches *c);
