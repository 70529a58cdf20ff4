/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/config/config.h"
#include "core/config/problems.h"

/* What no single value can tell: keys that are missing, names that lead nowhere, values that contradict
 * each other. `name` stands for the whole configuration in messages. -ENOMEM only. */
must_check int config_check(const struct config *c, const char *name, struct problems *p);
