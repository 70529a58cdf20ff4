/* SPDX-License-Identifier: MIT */
#pragma once

/* Regular expressions of the configuration on text: command lines, answers of a model. */

#include <stddef.h>

#include "base/macro.h"

/* Does one of the patterns, which the parser of PATTERNS has taken, match anywhere in the n bytes? What is
 * not UTF-8 in them is taken for U+FFFD; a match that needs more than a bounded effort is none. 1, 0,
 * -ENOMEM. */
must_check int config_match(char *const *patterns, const char *text, size_t n);
/* The same for a command line, its words joined with blanks. */
must_check int config_match_words(char *const *patterns, char *const *words);
