/* SPDX-License-Identifier: MIT */
#pragma once

/* What is wrong with something that a person wrote: a bounded list of messages, each one line of
 * `FILE:LINE: what, and what was expected`. Parsers go on after a problem, so that one run tells
 * all that is to be mended. */

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* More problems than these are only counted. */
#define PROBLEMS_MAX 64

struct problem {
    char *file;
    unsigned line;
    char *text;
};

/* Zero-initialise; free with problems_release(). */
struct problems {
    struct problem items[PROBLEMS_MAX]; /* files in the order in which they came, lines within each */
    size_t n;                           /* all that were added, kept or not */
};

/* Adds one line. `line` 0: the place has no line number. Control characters and what is not UTF-8
 * are replaced, a long line is cut. -ENOMEM only. */
must_check int problems_add(struct problems *p, const char *file, unsigned line, const char *fmt, ...)
    printf_like(4, 5);
/* What somebody wrote as a message may quote it: without secrets, and not too long. Owned by the caller;
 * NULL when memory is out. */
must_check char *problems_quote(const char *text);
/* True when a further problem would only be counted: time to stop looking. */
bool problems_full(const struct problems *p);
/* The lines as a string vector owned by the caller, with a last one that counts what was not kept; the
 * list is empty afterwards. -ENOMEM leaves it as it was. */
must_check int problems_steal(struct problems *p, char ***ret);
void problems_release(struct problems *p);
#define _cleanup_problems_ _cleanup_(problems_release)
