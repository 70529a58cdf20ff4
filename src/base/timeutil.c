/* SPDX-License-Identifier: MIT */
#include "base/timeutil.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* The first second of the year 10000, which RFC 3339 cannot write. */
#define CALENDAR_END ((uint64_t) 253402300800)

/* From `from` on a span is told in whole `major`, with the rest in whole `minor`. */
static const struct timespan_style {
    usec_t from;
    usec_t major;
    usec_t minor;
    const char *major_name;
    const char *minor_name;
} timespan_styles[] = {
    {2 * USEC_PER_DAY, USEC_PER_DAY, USEC_PER_HOUR, "d", "h"},
    {2 * USEC_PER_HOUR, USEC_PER_HOUR, USEC_PER_MINUTE, "h", "min"},
    {12 * USEC_PER_MINUTE, USEC_PER_MINUTE, USEC_PER_SEC, "min", "s"},
};

static void format_long(char *buf, usec_t span, const struct timespan_style *style)
{
    uint64_t major = span / style->major;
    uint64_t minor = span % style->major / style->minor;

    if (minor == 0)
        (void) snprintf(buf, FORMAT_TIMESPAN_MAX, "%" PRIu64 " %s", major, style->major_name);
    else
        (void) snprintf(buf, FORMAT_TIMESPAN_MAX, "%" PRIu64 " %s %" PRIu64 " %s", major,
                        style->major_name, minor, style->minor_name);
}

/* Below the first long style: seconds (with one decimal while that says something), milliseconds
 * or microseconds. */
static void format_short(char *buf, usec_t span)
{
    uint64_t tenths = span / (USEC_PER_SEC / 10);

    if (span == 0 || span >= 10 * USEC_PER_SEC || (span >= USEC_PER_SEC && tenths % 10 == 0))
        (void) snprintf(buf, FORMAT_TIMESPAN_MAX, "%" PRIu64 " s", span / USEC_PER_SEC);
    else if (span >= USEC_PER_SEC)
        (void) snprintf(buf, FORMAT_TIMESPAN_MAX, "%" PRIu64 ".%" PRIu64 " s", tenths / 10,
                        tenths % 10);
    else if (span >= USEC_PER_MSEC)
        (void) snprintf(buf, FORMAT_TIMESPAN_MAX, "%" PRIu64 " ms", span / USEC_PER_MSEC);
    else
        (void) snprintf(buf, FORMAT_TIMESPAN_MAX, "%" PRIu64 " us", span);
}

char *format_timespan(char buf[FORMAT_TIMESPAN_MAX], usec_t span)
{
    if (span == USEC_INFINITY) {
        (void) snprintf(buf, FORMAT_TIMESPAN_MAX, "infinity");
        return buf;
    }
    for (size_t i = 0; i < ARRAY_SIZE(timespan_styles); i++) {
        if (span >= timespan_styles[i].from) {
            format_long(buf, span, &timespan_styles[i]);
            return buf;
        }
    }
    format_short(buf, span);
    return buf;
}

char *format_timestamp(char buf[FORMAT_TIMESTAMP_MAX], usec_t realtime)
{
    struct tm tm;
    time_t seconds;
    size_t n;

    if (realtime / USEC_PER_SEC >= CALENDAR_END) {
        (void) snprintf(buf, FORMAT_TIMESTAMP_MAX, "infinity");
        return buf;
    }
    seconds = (time_t) (realtime / USEC_PER_SEC);
    n = strftime(buf, FORMAT_TIMESTAMP_MAX, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
    (void) snprintf(buf + n, FORMAT_TIMESTAMP_MAX - n, ".%06" PRIu64 "Z", realtime % USEC_PER_SEC);
    return buf;
}
