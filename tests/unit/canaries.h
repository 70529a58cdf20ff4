/* SPDX-License-Identifier: MIT */
#pragma once

/* Canaries for tests, out of what an operator would write. */

#include "core/config/config.h"

/* The configuration of an instance with a [Canary x] of these lines; the test fails where they are wrong. */
struct config *canaries_parse(const char *lines);
/* Its [Canary x]. */
const struct canary_config *canaries_x(const struct config *c);
