/* SPDX-License-Identifier: MIT */
#pragma once

/* Time stamps as loggers and collectors write them. Their value does not matter, only where they end.
 * What skips one returns what follows, or NULL if there is none at s. */

#include <stdbool.h>

/* Any of: 2024-03-28T01:20:32.907Z  2025-02-09 20:33:21,188  2023/12/24 - 23:48:35  12/07/2025-00:20:58
 * 01-12 01:09:14  2026-08-28|16:10:43  Aug 29 17:55:37  Thu Jan 23 11:55:50 2025  16:10:33  1765066816.57 */
const char *timestamp_skip(const char *s);
/* 06:32:24.8, and 00:00:1738140690.525952, which absl writes before it knows the time zone. */
const char *timestamp_skip_clock(const char *s);
/* Seconds since boot, as the kernel counts them: 7386.259769 */
const char *timestamp_skip_uptime(const char *s);
/* Whether s begins with year, month, day and time of day, most significant first, so that such stamps of one
 * log sort as text once their separators are equal. */
bool timestamp_is_full(const char *s);
