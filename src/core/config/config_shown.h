/* SPDX-License-Identifier: MIT */
#pragma once

/* Values on their way out: the one place where secrets are taken out of a configuration. */

#include <jansson.h>

#include "base/str.h"
#include "core/config/config_key.h"

/* The value as it would stand behind `=`, without secrets; of a PATTERNS list the i-th (0 otherwise). A
 * failed allocation is remembered in b. -ENOMEM only. */
must_check int config_shown_text(const struct config_key *k, const void *field, size_t i,
                                 struct strbuf *b);
/* The same for programs: array, string, number, boolean or null. -ENOMEM only. */
must_check int config_shown_json(const struct config_key *k, const void *field, json_t **ret);
/* Arguments and paths may hold any byte, JSON only UTF-8. NULL when memory is out. */
json_t *config_shown_string(const char *s);
