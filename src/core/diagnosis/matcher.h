/* SPDX-License-Identifier: MIT */
#pragma once

/* All patterns of a catalog (and the phase markers of a profile) against one record: an index of the literals
 * that they require finds the candidates in one pass, PCRE2 within limits confirms them and captures. */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "core/config/config.h"
#include "core/diagnosis/catalog.h"

struct capture {
    const char *name; /* borrowed from the matcher */
    char *value;      /* valid UTF-8, at most MATCHER_MAX_CAPTURE bytes */
};

#define MATCHER_MAX_CAPTURE 512

/* What matched: exactly one of `signature` and `phase` is set. Borrowed. */
struct match {
    const struct signature *signature;
    const struct phase_config *phase;
    size_t start; /* where in the record it begins */
    const struct capture *captures;
    size_t n_captures;
};

struct matcher;

/* Compiles. The catalog and the phases must outlive the matcher. *ret_errors gets one line per pattern of
 * a phase that does not compile or matches the empty line; then -EINVAL. `engine` picks the signatures
 * (NULL, or one that no signature names: all of them). */
must_check int matcher_new(const struct catalog *catalog, const char *engine,
                           const struct phase_config *phases, size_t n_phases, struct matcher **ret,
                           char ***ret_errors);
void matcher_free(struct matcher *m);
DEFINE_CLEANUP(struct matcher *, matcher_free);

/* Called for each match: benign signatures, then contexts and phases, then the others in catalog order,
 * which a benign match leaves out. Borrowed until the call returns. */
typedef void (*match_fn)(const struct match *match, void *userdata);

/* `text` as of struct record. -ENOMEM only; a pattern that runs into its match limit is no match. A
 * signature of another source is none either; LOG_ANY tries them all. */
must_check int matcher_scan(struct matcher *m, enum log_source source, const char *text, size_t len,
                            match_fn fn, void *userdata);
