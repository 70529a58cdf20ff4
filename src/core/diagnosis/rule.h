/* SPDX-License-Identifier: MIT */
#pragma once

/* One pattern of a signature or a phase, with the literals that a text must contain for it, and where in the
 * text its match can begin. */

#include <stdint.h>

#include "core/config/config.h"
#include "core/diagnosis/catalog.h"
#include "core/diagnosis/literals.h"
#include "core/diagnosis/pattern.h"
#include "core/diagnosis/required.h"

struct rule_literal {
    uint32_t id;         /* in the index of literals */
    uint32_t min_before; /* see struct required_literal; UINT32_MAX for more */
    uint32_t max_before;
};

struct rule {
    const struct signature *signature; /* or */
    const struct phase_config *phase;
    struct pattern *pattern;
    struct rule_literal *literals; /* of all clauses, one clause behind the other */
    uint32_t ends[REQUIRED_MAX_CLAUSES]; /* where each clause ends in them */
    uint32_t n_clauses;            /* 0: any text may match */
    bool at_start;                 /* matches begin where the text does */
};

/* How much searching one text is worth, whatever the patterns. */
struct rule_budget {
    size_t left; /* attempts to match */
};

/* Fills r, adding its literals to the index. -ENOMEM; r is to be released in any case. */
must_check int rule_init(struct rule *r, const char *pattern, struct literals *index);
void rule_release(struct rule *r);
/* Whether all clauses have a literal in the text that the index has scanned last. */
bool rule_is_candidate(const struct rule *r, struct literals *index);
/* The leftmost match in that text, as far as the budget allows. 1: *ret is filled. 0: none. -ENOMEM. */
must_check int rule_match(const struct rule *r, struct literals *index, struct pattern_scratch *scratch,
                          const char *text, size_t len, struct rule_budget *budget, struct pattern_hit *ret);
