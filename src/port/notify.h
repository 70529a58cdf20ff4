/* SPDX-License-Identifier: MIT */
#pragma once

/* sd_notify(3) for the supervisor, and the watchdog's period. */

#include <stdbool.h>

#include "base/macro.h"
#include "base/timeutil.h"

/* True when a service manager listens (NOTIFY_SOCKET). */
bool notify_wanted(void);
/* The watchdog's time-out, 0 when it is off or meant for another PID (sd_watchdog_enabled(3)). */
usec_t notify_watchdog_usec(void);
/* Sends the assignments, newline-separated. 0 also when nobody listens. */
int notify_send(const char *fmt, ...) printf_like(1, 2);
