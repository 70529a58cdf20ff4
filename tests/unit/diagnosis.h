/* SPDX-License-Identifier: MIT */
#pragma once

/* The way from raw lines to a root cause, for tests of diagnosis. */

#include "core/diagnosis/evidence.h"

/* Parses a catalog that must be sound. */
struct catalog *diagnosis_catalog(const char *text);

struct diagnosis {
    struct catalog *catalog;
    struct normaliser *normaliser;
    struct matcher *matcher;
    struct evidence *evidence;
    int error; /* the first one from within a callback */
};

/* Sets all up for the catalog's text. -ENOMEM. */
int diagnosis_init(struct diagnosis *d, const char *catalog);
/* One raw line, all the way. -ENOMEM. */
int diagnosis_line(struct diagnosis *d, const char *line);
void diagnosis_release(struct diagnosis *d);
