/* SPDX-License-Identifier: MIT */
#pragma once

#include "daemon/preflight.h"

/* What the preflight finds, for the epoch at hand; userdata is the struct supervisor. */
extern const struct preflight_events ground_events;
