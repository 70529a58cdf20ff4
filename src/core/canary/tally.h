/* SPDX-License-Identifier: MIT */
#pragma once

/* One judgement out of those of all requests that a canary sends, at once and one after the other. */

#include "core/canary/judge.h"

/* Zero-initialise; free with tally_release(). */
struct tally {
    struct judgement worst; /* the first that is no pass; the first of all while there is none */
    size_t n;
    size_t failed;
    uint64_t tokens;
    usec_t first_token_usec; /* the latest */
    bool differ;             /* two texts were not the same */
    uint64_t text_hash;
};

/* Takes over what *j owns. */
void tally_add(struct tally *t, struct judgement *j);
/* All together took wall_usec. Tokens and tokens a second are those of all requests. -ENOMEM only. */
must_check int tally_close(struct tally *t, const struct canary_config *c, usec_t wall_usec,
                           struct judgement *ret);
void tally_release(struct tally *t);
