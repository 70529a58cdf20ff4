/* SPDX-License-Identifier: MIT */
#pragma once

/* Hints with {capture}s in them. Only {name} with a name of lower case letters, digits and _ is one; any
 * other brace is text. */

#include "base/macro.h"

/* The capture that every record with a rank in its prefix has. */
#define TEMPLATE_RANK "rank"

/* The names in it, each once. -ENOMEM. */
must_check int template_names(const char *text, char ***ret);

/* The value of a name, borrowed; NULL when it has none. */
typedef const char *(*template_value_fn)(const char *name, const void *userdata);

/* *ret is the text filled in, owned; NULL when a name has no value. -ENOMEM. */
must_check int template_fill(const char *text, template_value_fn value, const void *userdata, char **ret);
