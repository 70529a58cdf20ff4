/* SPDX-License-Identifier: MIT */
#pragma once

/* The server that a verb asks by itself: that of an instance, or one at an address. */

#include "core/config/config.h"

/* What the command line said; NULL where it said nothing. Of name and url there is one. */
struct target {
    const char *name;
    const char *url;
    const char *profile;    /* for an address; NULL: openai */
    char *const *settings;  /* Section.Key=Value */
};

/* *ret is the configuration by which the server is asked; that of an adopted instance, which has no file, is
 * made of what its status says. Otherwise says what is wrong, all of it, and returns the exit code. */
must_check int target_load(const struct target *t, struct config **ret);
