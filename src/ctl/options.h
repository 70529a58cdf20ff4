/* SPDX-License-Identifier: MIT */
#pragma once

/* What the verbs have in common on the command line. */

#include <getopt.h>
#include <stdbool.h>

#include "base/macro.h"
#include "ctl/verb.h"

/* A verb's own option and where its value goes: one of the three. */
struct ctl_option {
    const char *name;
    const char **value;
    bool *flag;
    char ***list; /* may be given several times; owned by the verb */
};

/* Parses options up to the first word; `max` words at most and `min` at least may follow. Returns the
 * number of words, which then begin at argv[optind], or says what is wrong and returns -EINVAL or -ENOMEM. */
must_check int ctl_parse(int argc, char **argv, const struct ctl_option *options, size_t n, int min, int max);
/* "coalminectl: ..." on stderr; returns `code`. */
int ctl_fail(int code, const char *fmt, ...) printf_like(2, 3);
