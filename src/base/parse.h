/* SPDX-License-Identifier: MIT */
#pragma once

/* Checked parsing: the whole string must be the value (blanks around it are allowed), nothing
 * wraps, `*ret` stays untouched on failure. -EINVAL: not such a value. -ERANGE: does not fit. */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/timeutil.h"

/* Decimal, no sign. */
must_check int parse_u64(const char *s, uint64_t *ret);
/* Decimal, optional sign. */
must_check int parse_i64(const char *s, int64_t *ret);
/* Decimal fraction with '.', whatever the locale; no NaN, no infinity, no hexadecimal. */
must_check int parse_double(const char *s, double *ret);
/* 1 yes y true t on / 0 no n false f off, any case, as systemd.syntax(7) has it. */
must_check int parse_bool(const char *s, bool *ret);
/* systemd.time(7) time spans: "10", "10s", "1h 30min", "500ms", "1.5s", "infinity"; a bare number
 * is seconds. */
must_check int parse_timespan(const char *s, usec_t *ret);
/* Bytes with an optional suffix K M G T P (powers of 1024, optional "iB" or "B") or "infinity"
 * (UINT64_MAX). */
must_check int parse_size(const char *s, uint64_t *ret);
/* "SIGTERM", "TERM", "15"; only signals that exist (1..64). */
must_check int parse_signal(const char *s, int *ret);
/* "SIGTERM", or NULL for a number that names no signal. Static storage. */
const char *signal_name(int signo);
