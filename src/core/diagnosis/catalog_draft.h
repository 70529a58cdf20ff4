/* SPDX-License-Identifier: MIT */
#pragma once

/* A catalog while it is being read: the assignments that are in force for each section, values not yet
 * understood and names not yet looked up. */

#include "core/config/problems.h"
#include "core/config/unitfile.h"
#include "core/diagnosis/catalog.h"

/* X(constant, name of the key) */
#define CLASS_KEYS(X)                      \
    X(CLASS_TEXT, "Text")                  \
    X(CLASS_HINT, "Hint")                  \
    X(CLASS_RETRY, "Retry")                \
    X(CLASS_RETRY_SERVING, "RetryServing") \
    X(CLASS_REPEAT, "Repeat")              \
    X(CLASS_REPEAT_SERVING, "RepeatServing") \
    X(CLASS_CLEANUP, "Cleanup")
#define SIGNATURE_KEYS(X)                  \
    X(SIGNATURE_CLASS, "Class")            \
    X(SIGNATURE_RANK, "Rank")              \
    X(SIGNATURE_PATTERN, "Pattern")        \
    X(SIGNATURE_DECISIVE, "Decisive")      \
    X(SIGNATURE_SOURCE, "Source")          \
    X(SIGNATURE_ENGINE, "Engine")          \
    X(SIGNATURE_NEEDS, "Needs")            \
    X(SIGNATURE_UNLESS, "Unless")          \
    X(SIGNATURE_NEAR, "Near")              \
    X(SIGNATURE_COVERS, "Covers")          \
    X(SIGNATURE_OWNER, "Owner")            \
    X(SIGNATURE_FINGERPRINT, "Fingerprint") \
    X(SIGNATURE_HINT, "Hint")              \
    X(SIGNATURE_ENABLED, "Enabled")

#define X(constant, name) constant,
enum class_key { CLASS_KEYS(X) N_CLASS_KEYS };
enum signature_key { SIGNATURE_KEYS(X) N_SIGNATURE_KEYS };
#undef X

/* One class or signature. Everything is borrowed from the unit file but `patterns` itself. */
struct draft {
    const char *name;
    const struct unit_entry *head;                     /* its first header */
    const struct unit_entry *values[N_SIGNATURE_KEYS]; /* by key; NULL: not given, or reset */
    const struct unit_entry **patterns;                /* Pattern= adds up */
    size_t n_patterns;
};

struct draft_list {
    struct draft *items;
    size_t n;
};

/* Zero-initialise; catalog_draft_release() frees. */
struct catalog_draft {
    struct draft_list classes;
    struct draft_list signatures;
};

/* Sorts what u says into drafts; a section that occurs again goes on where it ended. Unknown sections and
 * keys, and names that are none, are problems. -ENOMEM only. */
must_check int catalog_draft_read(const struct unitfile *u, struct catalog_draft *d, struct problems *p);
void catalog_draft_release(struct catalog_draft *d);
/* NULL when there is none of that name. */
const struct draft *draft_find(const struct draft_list *l, const char *name);

/* Understands the values and fills the empty catalog; what is wrong with them is added to p. -ENOMEM
 * only. Strings are copied. */
must_check int catalog_finish(const struct catalog_draft *d, struct catalog *c, struct problems *p);
