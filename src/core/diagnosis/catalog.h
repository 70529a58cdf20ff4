/* SPDX-License-Identifier: MIT */
#pragma once

/* What is known about failures, as data: classes with their policies, signatures with their patterns.
 * Read from unit-file texts (conf/classes.conf, conf/signatures/ *.conf; the same names in
 * /etc/coalmine override or add). */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "core/diagnosis/logline.h"
#include "core/supervision/policy.h"

/* How much a line tells. X(constant, name)
 * cause      names what is wrong: compiler, linker, loader, kernel, allocator
 * wrapper    reports that a step failed, without saying why: ninja, CalledProcessError
 * secondary  echoes of a failure elsewhere: "see root cause above", EngineDeadError
 * benign     looks bad and is not; silences other signatures on the same record */
#define RANKS(X)                      \
    X(RANK_CAUSE, "cause")            \
    X(RANK_WRAPPER, "wrapper")        \
    X(RANK_SECONDARY, "secondary")    \
    X(RANK_BENIGN, "benign")

#define X(constant, name) constant,
enum rank { RANKS(X) N_RANKS };
#undef X

/* [Class NAME] */
struct class {
    char *name;
    char *text;  /* what it is, a clause for people: "a JIT build lacks a header" */
    char *hint;  /* what to do where the signature says nothing better; may be NULL */
    struct class_policy policy;
};

/* [Signature ID] */
struct signature {
    char *id;
    const struct class *class;
    enum rank rank;
    bool decisive;       /* on sight: look at once (a canary, a shorter stall limit) */
    enum log_source source;
    char *engine;        /* NULL: any */
    char **patterns;     /* PCRE2, UTF-8, named groups are the captures */
    char **needs;        /* ids of signatures of which one must be seen in the same epoch, or empty */
    char **fingerprint;  /* captures that identify the cause; NULL: all of them */
    char *hint;          /* with {capture}s; NULL: the class's */
};

struct catalog {
    struct class *classes;
    size_t n_classes;
    struct signature *signatures;
    size_t n_signatures;
};

/* A text to read from, in order of override: later texts win, by class name and signature id. */
struct catalog_text {
    const char *file; /* for messages */
    const char *text;
    size_t len;
};

/* *ret_errors gets one line per mistake (file, line, what was expected); -EINVAL when there is any.
 * -ENOMEM. Checks everything but the patterns themselves, which matcher_new() compiles. */
must_check int catalog_parse(const struct catalog_text *texts, size_t n_texts, struct catalog **ret,
                             char ***ret_errors);
void catalog_free(struct catalog *c);
DEFINE_CLEANUP(struct catalog *, catalog_free);

/* Borrowed; NULL when unknown. */
const struct class *catalog_class(const struct catalog *c, const char *name);
const struct signature *catalog_signature(const struct catalog *c, const char *id);
const char *rank_name(enum rank r);
