/* SPDX-License-Identifier: MIT */
#include "ctl/term.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "port/loop.h"

static bool coloured(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && str_empty(getenv("NO_COLOR")) && !str_equal(term, "dumb");
}

const char *term_colour(enum colour c)
{
    static const char *const sequences[] = {
        [COLOUR_NONE] = "\033[0m", [COLOUR_GOOD] = "\033[1;32m", [COLOUR_BAD] = "\033[1;31m",
        [COLOUR_BUSY] = "\033[1;33m", [COLOUR_DIM] = "\033[2m", [COLOUR_BOLD] = "\033[1m",
    };

    return coloured() ? sequences[c] : "";
}

enum colour term_state_colour(const char *state)
{
    if (str_equal(state, "active"))
        return COLOUR_GOOD;
    if (str_equal(state, "failed") || str_equal(state, "dead"))
        return COLOUR_BAD;
    if (str_equal(state, "inactive") || str_equal(state, "unknown"))
        return COLOUR_DIM;
    return COLOUR_BUSY;
}

/* Seconds are enough for the eye; the fraction is passed over. */
static bool parse_moment(const char *text, usec_t *ret)
{
    struct tm tm = {};
    time_t seconds;

    if (!strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
        return false;
    seconds = timegm(&tm);
    if (seconds < 0)
        return false;
    *ret = (usec_t) seconds * USEC_PER_SEC;
    return true;
}

const char *term_moment(char buf[TERM_MOMENT_MAX], const char *rfc3339)
{
    usec_t now = loop_now().realtime, at = 0;
    char clock[48], span[FORMAT_TIMESPAN_MAX];
    struct tm tm = {};
    time_t seconds;
    bool past;

    if (!parse_moment(rfc3339, &at)) {
        (void) snprintf(buf, TERM_MOMENT_MAX, "%s", rfc3339);
        return buf;
    }
    seconds = (time_t) (at / USEC_PER_SEC);
    past = at <= now;
    (void) localtime_r(&seconds, &tm);
    (void) strftime(clock, sizeof clock, "%a %Y-%m-%d %H:%M:%S %Z", &tm);
    (void) format_timespan(span, (past ? now - at : at - now) / USEC_PER_SEC * USEC_PER_SEC);
    (void) snprintf(buf, TERM_MOMENT_MAX, past ? "%s; %s ago" : "%s; in %s", clock, span);
    return buf;
}

void term_print(const char *text)
{
    for (const char *s = text; *s; s++) {
        bool harmless = (unsigned char) *s >= 0x20 || *s == '\n' || *s == '\t';

        (void) putchar(harmless && *s != 0x7f ? *s : '?');
    }
}
