/* SPDX-License-Identifier: MIT */
#pragma once

/* From a raw log line to the records in it: ANSI sequences gone, what a progress bar overwrote (\r)
 * split off, records glued behind a bar separated, prefixes of collectors, engines, ranks taken off and
 * remembered, invalid UTF-8 replaced. Never fails on content. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define NORMALISE_MAX_LINE (64 * 1024) /* longer records are cut: no message of worth is longer */

struct record {
    const char *text; /* NUL-terminated and valid UTF-8; prefixes and blanks at the end off */
    size_t len;
    const char *raw;  /* the same with its prefixes, for showing to people */
    size_t raw_len;
    uint64_t line;    /* which line since the beginning, from 1 */
    const char *rank; /* of the process that said it (TP3, rank1, DP0), NULL when unknown */
    int64_t pid;      /* named in the prefix, -1 when unknown */
    bool prefixed;    /* begins a message; otherwise it may continue the one before, and rank and pid are
                       * what that one said */
};

struct normaliser;

must_check int normaliser_new(struct normaliser **ret);
void normaliser_free(struct normaliser *n);
DEFINE_CLEANUP(struct normaliser *, normaliser_free);
/* A new log begins. */
void normaliser_reset(struct normaliser *n);

/* Called for each record of a line; borrowed until the call returns. */
typedef void (*normalise_fn)(const struct record *record, void *userdata);

/* The line may hold newlines, which separate records, too. Memory is reused from call to call; cost is
 * linear in len. -ENOMEM only. */
must_check int normalise_line(struct normaliser *n, const char *line, size_t len, normalise_fn fn,
                              void *userdata);
