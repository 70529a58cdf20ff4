/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macro.h"
#include "base/str.h"

/* Is it a PCRE2 pattern (UTF) that does not match the empty line? -EINVAL: no, and `why` gets the
 * reason. -ENOMEM. */
must_check int config_pattern_check(const char *pattern, struct strbuf *why);
