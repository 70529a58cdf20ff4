/* SPDX-License-Identifier: MIT */
#pragma once

/* What is different in a later configuration of the same instance. */

#include "core/config/config.h"
#include "core/config/config_key.h"

struct config_change {
    char *name;                   /* "Server.Command", "Canary sampled.MaxTokens"; "Canary extra" where the whole
                                   * section came or went */
    const struct config_key *key; /* NULL for a whole section */
};

/* In the order of the table; of named sections in the order of the configurations, the later one's first.
 * Zero-initialise; free with config_diff_release(). */
struct config_diff {
    struct config_change *items;
    size_t n;
};

/* -ENOMEM only. */
must_check int config_diff(const struct config *before, const struct config *after, struct config_diff *ret);
void config_diff_release(struct config_diff *d);
#define _cleanup_config_diff_ _cleanup_(config_diff_release)

/* The names of the changes that wait for another start of the server (those of keys marked needs_restart),
 * or of those that do not. Owned; NULL when there are none. -ENOMEM only. */
must_check int config_diff_names(const struct config_diff *d, bool needs_restart, char ***ret);
/* Whether both have that section with the same values. `name` NULL for a plain one. */
bool config_same_section(const struct config *a, const struct config *b, enum config_section_id section,
                         const char *name);
