/* SPDX-License-Identifier: MIT */
#pragma once

/* What is known about failures, as data: classes with their policies, signatures with their patterns.
 * Read from unit-file texts (conf/classes.conf, conf/signatures/ *.conf, and the operator's own), in the
 * format of docs/catalog-format.md. */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "core/diagnosis/logline.h"
#include "core/supervision/policy.h"

/* How much a line tells, the better ones first. X(constant, name)
 * cause      names what is wrong: compiler, linker, loader, kernel, allocator
 * suspect    names what may be wrong; believed where there is no cause
 * wrapper    reports that a step failed, without saying why: ninja, CalledProcessError
 * secondary  echoes of a failure elsewhere: "see root cause above", EngineDeadError
 * benign     looks bad and is not; silences other signatures on the same record
 * context    explains nothing; the neighbour that others need or exclude
 * health     tokens were generated; counts where no canary tells, in logs read offline */
#define RANKS(X)                      \
    X(RANK_CAUSE, "cause")            \
    X(RANK_SUSPECT, "suspect")        \
    X(RANK_WRAPPER, "wrapper")        \
    X(RANK_SECONDARY, "secondary")    \
    X(RANK_BENIGN, "benign")          \
    X(RANK_CONTEXT, "context")        \
    X(RANK_HEALTH, "health")

/* What must be done before RETRY_AFTER_CLEANUP. X(constant, name)
 * build-lock  remove build locks whose builder is dead
 * cache       move the one cache directory that the captures name aside
 * one-job     MAX_JOBS=1 for the next start */
#define CLEANUPS(X)                       \
    X(CLEANUP_NONE, "none")               \
    X(CLEANUP_BUILD_LOCK, "build-lock")   \
    X(CLEANUP_CACHE, "cache")             \
    X(CLEANUP_ONE_JOB, "one-job")

#define X(constant, name) constant,
enum rank { RANKS(X) N_RANKS };
enum cleanup { CLEANUPS(X) N_CLEANUPS };
#undef X

/* [Class NAME] */
struct class {
    char *name;
    char *text; /* what it is, a clause for people: "a JIT build lacks a header" */
    char *hint; /* what to do where the signature says nothing better; may be NULL */
    struct class_policy policy;
    enum cleanup cleanup;
};

/* Indices of other signatures. */
struct signature_set {
    size_t *indices;
    size_t n;
};

/* [Signature ID] */
struct signature {
    char *id;
    const struct class *class; /* NULL for RANK_CONTEXT and RANK_HEALTH only */
    enum rank rank;
    bool decisive;             /* on sight: look at once (a canary, a shorter stall limit) */
    enum log_source source;
    char **engines;            /* empty: any */
    char **patterns;           /* PCRE2, UTF-8, named groups are the captures */
    struct signature_set needs;  /* one of them must be seen as well, where there are any */
    bool needs_failure;        /* ... or the server must have failed for certain */
    struct signature_set unless; /* none of them may be seen */
    size_t near;               /* records before and after in which those count; 0: all */
    bool covers;               /* benign: the records that continue this one are benign, too */
    char *owner;               /* capture with the PID that must be ours; NULL */
    bool fingerprint_given;    /* `fingerprint` counts even when it is empty */
    char **fingerprint;        /* captures that identify the cause; all when none are given */
    char *hint;                /* with {capture}s; NULL: the class's */
    const char *file;          /* where it stands; borrowed from the catalog */
    unsigned line;
};

struct catalog {
    struct class *classes;
    size_t n_classes;
    struct signature *signatures; /* in the order in which they were first named */
    size_t n_signatures;
    char **files;
};

/* A text to read from, in order of override: later texts win, by class name and signature id. */
struct catalog_text {
    const char *file; /* for messages */
    const char *text;
    size_t len;
};

/* *ret_errors gets one line per mistake (file, line, what was expected); -EINVAL when there is any.
 * -ENOMEM. Patterns are compiled to see that they can be, and every capture that a hint, a fingerprint or
 * an owner names must be in one of them. */
must_check int catalog_parse(const struct catalog_text *texts, size_t n_texts, struct catalog **ret,
                             char ***ret_errors);
void catalog_free(struct catalog *c);
DEFINE_CLEANUP(struct catalog *, catalog_free);

/* Borrowed; NULL when unknown. */
const struct class *catalog_class(const struct catalog *c, const char *name);
const struct signature *catalog_signature(const struct catalog *c, const char *id);
const char *rank_name(enum rank r);
const char *cleanup_name(enum cleanup c);
