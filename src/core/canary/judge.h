/* SPDX-License-Identifier: MIT */
#pragma once

/* What a canary's answer is worth: one judge for each request. A streamed answer is fed to it as it comes,
 * a whole one is judged at its end. Bounded in memory, whatever comes. */

#include "core/canary/answer.h"
#include "core/config/config.h"

/* The judgement of one answer. */
struct judgement {
    enum verdict verdict;
    uint64_t tokens;         /* as the server counts; where it does not: pieces of a stream, or 1 for
                              * "some"; vectors or scores of APIs that generate no text */
    usec_t total_usec;
    usec_t first_token_usec; /* of a streamed answer; 0: none */
    double tokens_per_sec;   /* 0: not known */
    char *detail;            /* one line for people, at most 200 bytes, with the server's own message
                              * (secrets in it are not redacted yet); owned; NULL when the verdict says it
                              * all */
    char *model;             /* that the answer names; owned; NULL */
    uint64_t text_hash;      /* equal for equal texts; 0: no text */
};

void judgement_release(struct judgement *j);

/* What the judge has to know beside the canary; borrowed for the call. */
struct judge_facts {
    const char *asked_model; /* in the request; NULL: none */
    const char *known_model; /* that earlier answers to this canary named: another one is wrong; NULL */
    bool speed;              /* whether FirstTokenSec= and MinTokensPerSec= count */
};

struct judge;

/* The canary is borrowed for the judge's life. */
must_check int judge_new(const struct canary_config *c, struct judge **ret);
void judge_free(struct judge *j);
DEFINE_CLEANUP(struct judge *, judge_free);

/* A piece of the body of a streamed answer with a good status, `since` it was asked for. 1: it is complete,
 * or past saving, and nothing more is wanted; 0: go on. -EMSGSIZE: more than any honest answer; -ENOMEM. */
must_check int judge_feed(struct judge *j, const char *data, size_t n, usec_t since);
/* Pieces with generated text in them so far. */
uint64_t judge_pieces(const struct judge *j);
/* The end. Of a streamed answer with a good status the body is what was fed, and `a` has none; an HTTP_COMPLETE
 * that judge_feed() has asked for is one. Any answer gives a verdict. -ENOMEM only. */
must_check int judge_end(struct judge *j, const struct http_answer *a, const struct judge_facts *f,
                         struct judgement *ret);
