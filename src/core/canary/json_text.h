/* SPDX-License-Identifier: MIT */
#pragma once

/* JSON that a stranger sends: parsed in bounded memory, whatever it is. */

#include <jansson.h>
#include <stdbool.h>

#include "base/macro.h"

/* About so many bytes a parsed text may take. */
#define JSON_TEXT_MAX_WEIGHT ((size_t) 2 * 1024 * 1024)

struct json_text {
    json_t *value;     /* owned; NULL: `error` says why */
    bool not_finite;   /* a bare NaN or Infinity stood in it, which counts as 0 in the value */
    bool too_heavy;    /* it was not parsed: it would take too much memory */
    json_error_t error;
};

/* Objects and arrays only. -ENOMEM only. */
must_check int json_text_load(const char *text, size_t n, struct json_text *ret);
void json_text_release(struct json_text *t);
