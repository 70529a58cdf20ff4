/* SPDX-License-Identifier: MIT */
#pragma once

/* What a canary's answer is worth. */

#include "core/canary/answer.h"
#include "core/config/config.h"

/* The judgement of one answer. */
struct judgement {
    enum verdict verdict;
    uint64_t tokens;   /* as the server counts; where it does not, 1 stands for "some" */
    usec_t total_usec;
    char *detail;      /* one line for people, at most 200 bytes, with the server's own message (secrets in
                        * it are not redacted yet); owned; NULL when the verdict says it all */
};

void judgement_release(struct judgement *j);

/* Any answer gives a verdict. HTTP 408, 425, 429 and 503 say "not now" and are not-ready; another name of
 * the model in a good answer is mentioned in `detail`, since aliases are honest. -ENOMEM only. */
must_check int canary_judge(const struct canary_config *c, const char *model,
                            const struct http_answer *answer, struct judgement *ret);
