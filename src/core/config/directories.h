/* SPDX-License-Identifier: MIT */
#pragma once

/* Directories as a configuration names them, before it is known whose home and environment count:
 * /PATH, ~/PATH, $VARIABLE or $VARIABLE/PATH. */

#include <stdbool.h>

#include "base/macro.h"

/* False also for what no list of caches can mean: / and ~ themselves, and paths with `..` in them. */
bool directories_is_one(const char *word);
/* *ret is the list with absolute paths, each once. What names a variable that is not set, or set to no
 * absolute path, is left out; so are `home` itself and /, whatever named them. `home` may be NULL.
 * -ENOMEM only. */
must_check int directories_expand(char *const *list, char *const *environment, const char *home,
                                  char ***ret);
