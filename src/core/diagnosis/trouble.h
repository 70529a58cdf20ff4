/* SPDX-License-Identifier: MIT */
#pragma once

/* Which lines look like trouble to somebody who knows nothing of what wrote them. */

#include <stddef.h>

#include "base/macro.h"

#define TROUBLE_MAX 5

/* The worst lines so far, the worst first. Zero-initialise. */
struct trouble {
    char *lines[TROUBLE_MAX + 1]; /* NULL-terminated */
    unsigned scores[TROUBLE_MAX];
};

/* Considers a line (NUL-terminated). -ENOMEM only. */
must_check int trouble_consider(struct trouble *t, const char *text);
void trouble_release(struct trouble *t);
