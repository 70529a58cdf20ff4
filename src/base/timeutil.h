/* SPDX-License-Identifier: MIT */
#pragma once

/* Time as systemd counts it: unsigned microseconds, USEC_INFINITY for "never". All arithmetic
 * saturates. Nothing here reads a clock; only port/loop does. */

#include <stdint.h>

#include "base/macro.h"

typedef uint64_t usec_t;

#define USEC_INFINITY UINT64_MAX
#define USEC_PER_MSEC ((usec_t) 1000)
#define USEC_PER_SEC ((usec_t) 1000000)
#define USEC_PER_MINUTE (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MINUTE)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)

/* a + b; infinity if either is infinite or the sum does not fit. */
static inline usec_t usec_add(usec_t a, usec_t b)
{
    return a > USEC_INFINITY - b ? USEC_INFINITY : a + b;
}

/* a - b, never below 0; infinity stays infinity. */
static inline usec_t usec_sub(usec_t a, usec_t b)
{
    if (a == USEC_INFINITY)
        return USEC_INFINITY;
    return a > b ? a - b : 0;
}

/* a * factor, saturating; 0 * infinity is 0. */
static inline usec_t usec_mul(usec_t a, uint64_t factor)
{
    usec_t product;

    if (a == 0 || factor == 0)
        return 0;
    return a == USEC_INFINITY || __builtin_mul_overflow(a, factor, &product) ? USEC_INFINITY : product;
}

/* Both clocks as one reading; `realtime` may jump, `monotonic` (CLOCK_MONOTONIC) may not. */
struct instant {
    usec_t monotonic;
    usec_t realtime;
};

#define FORMAT_TIMESPAN_MAX 64
#define FORMAT_TIMESTAMP_MAX 40

/* "350 ms" under a second, "1.5 s" under ten, "630 s" under 12 min, "12 min 30 s" under 2 h,
 * "2 h 5 min" under 2 d, then "3 d 4 h": two units at most, rounded down; "infinity" for
 * USEC_INFINITY. Writes into buf, returns buf. Meant for people. */
char *format_timespan(char buf[FORMAT_TIMESPAN_MAX], usec_t span);

/* UTC, RFC 3339 with microseconds: "2026-01-02T03:04:05.000006Z". A realtime too large for a
 * calendar gives "infinity". Writes into buf, returns buf. Meant for programs. */
char *format_timestamp(char buf[FORMAT_TIMESTAMP_MAX], usec_t realtime);
