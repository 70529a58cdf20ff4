/* SPDX-License-Identifier: MIT */
#pragma once

/* What a canary expects of an answer that came whole and tells of no error. */

#include "core/canary/harvest.h"
#include "core/canary/verdict.h"

/* An answer, as it came. */
struct outcome_facts {
    const struct harvest *harvest;
    uint64_t tokens;         /* see judgement.tokens */
    usec_t first_token_usec; /* 0: none came, or the answer was not streamed */
    double tokens_per_sec;   /* 0: not known */
    const char *asked_model; /* NULL: none in particular */
    const char *known_model; /* that earlier answers to this canary named; NULL */
    bool speed;              /* whether it had to be fast */
};

/* GENERATED when everything is as expected; *ret_detail is one line for people, owned, NULL when there is
 * nothing to say. -ENOMEM only. */
must_check int expect_check(const struct canary_config *c, const struct outcome_facts *f,
                            enum verdict *ret_verdict, char **ret_detail);
/* Whether a canary that came back with that before READY need not have passed. */
bool expect_lets_off(const struct canary_config *c, enum verdict v);
