/* SPDX-License-Identifier: MIT */
#include "ctl/term.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

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

void term_print(const char *text)
{
    for (const char *s = text; *s; s++) {
        bool harmless = (unsigned char) *s >= 0x20 || *s == '\n' || *s == '\t';

        (void) putchar(harmless && *s != 0x7f ? *s : '?');
    }
}
