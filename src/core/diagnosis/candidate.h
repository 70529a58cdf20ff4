/* SPDX-License-Identifier: MIT */
#pragma once

/* Lines that may explain a failure: how they are kept, for evidence.c (which collects them) and
 * judgement.c (which chooses). */

#include <stdint.h>
#include <sys/types.h>

#include "base/ring.h"
#include "core/diagnosis/evidence.h"

#define NEIGHBOURS ((uint64_t) 3)

struct candidate {
    const struct signature *signature;
    struct capture *captures; /* owned, see captures_copy() */
    size_t n_captures;
    char *line;      /* as printed */
    uint64_t number; /* of the line */
    uint64_t record; /* of the record; lines may hold several */
    size_t start;    /* of the match in it */
    char **before;
    char **after;
    unsigned era;    /* how many phases were over */
    uint64_t seen;
    bool foreign;    /* its owner is a process that is not ours */
    bool accompanied; /* one of the neighbours that it needs was seen */
    bool excluded;   /* a neighbour that rules it out was seen */
};

struct evidence {
    const struct catalog *catalog;
    struct ring *recent;     /* raw records */
    uint64_t record;         /* number of the last one */
    uint64_t number;         /* of its line */
    enum log_source source;
    struct candidate *items; /* in the order in which they came */
    size_t n;
    uint64_t *seen_at;       /* by signature: the record that it last matched, 0 for never */
    uint64_t open_until;     /* some candidate still wants neighbours up to this record */
    unsigned era;
    unsigned covered;        /* records that a benign one still covers */
    bool covering;
    bool closed;
    char rank[16];           /* of the last record; "" when unknown */
    pid_t *pids;             /* the server's own, a ring of the last ones */
    size_t n_pids;
};

/* Copies the captures, and the rank as one more where there is one. A name is part of its value's
 * allocation. -ENOMEM leaves nothing behind. */
must_check int captures_copy(const struct capture *captures, size_t n, const char *rank,
                             struct capture **ret, size_t *ret_n);
void captures_free(struct capture *captures, size_t n);
/* Borrowed; NULL when there is none of that name. */
const char *captures_value(const struct capture *captures, size_t n, const char *name);
