/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macro.h"
#include "base/timeutil.h"

/* Waits until the instance is ready. Returns 0, or says why it is not and returns the exit code of
 * coalminectl wait: CTL_FAILED at once when it never will be, CTL_USAGE after the time-out. */
must_check int ctl_wait_ready(const char *name, usec_t timeout);
