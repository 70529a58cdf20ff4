/* SPDX-License-Identifier: MIT */
#pragma once

/* What is in force and where each value came from, for people and for programs. Secrets are taken out. */

#include <jansson.h>

#include "core/config/config.h"

/* Unit-file text that reads back as the same configuration; a comment above each value names its origin,
 * `# FILE:LINE` or `# default`. Keys without a value are left out. Owned by the caller. -ENOMEM. */
must_check int config_dump(const struct config *c, char **ret);
/* {"Server": {"Command": {"value": ["..."], "from": [{"file": "...", "line": 3}]}, ...}, ...,
 *  "Canary": {"greedy": {...}}, ...}: `from` is empty for a default; time spans, sizes and signals are
 * text as in the file; what has no value is null. Owned by the caller. -ENOMEM. */
must_check int config_dump_json(const struct config *c, json_t **ret);
