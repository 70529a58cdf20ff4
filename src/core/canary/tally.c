/* SPDX-License-Identifier: MIT */
#include "core/canary/tally.h"

#include <errno.h>

#include "base/str.h"

static bool failed(const struct judgement *j)
{
    return j->verdict != VERDICT_GENERATED;
}

void tally_add(struct tally *t, struct judgement *j)
{
    bool first = t->n == 0, worse = failed(j) && !failed(&t->worst);

    t->n++;
    t->failed += failed(j);
    t->tokens += j->tokens;
    t->first_token_usec = MAX(t->first_token_usec, j->first_token_usec);
    if (first)
        t->text_hash = j->text_hash;
    else if (j->text_hash != t->text_hash)
        t->differ = true;
    if (first || worse) {
        judgement_release(&t->worst);
        t->worst = *j;
        *j = (struct judgement){};
    } else {
        judgement_release(j);
    }
}

/* "3 of 4: HTTP 500: out of memory" */
static int count_failures(struct tally *t, char **detail)
{
    char *counted;

    if (t->n == 1 || t->failed == 0)
        return 0;
    counted = *detail ? str_format("%zu of %zu: %s", t->failed, t->n, *detail)
                      : str_format("%zu of %zu", t->failed, t->n);
    if (!counted)
        return -ENOMEM;
    free(*detail);
    *detail = counted;
    return 0;
}

static int judge_repetition(const struct tally *t, const struct canary_config *c, struct judgement *j)
{
    if (failed(j) || !c->expect_repeatable || !t->differ)
        return 0;
    free(j->detail);
    j->detail = strdup("the same request was answered with different texts");
    if (!j->detail)
        return -ENOMEM;
    j->verdict = VERDICT_DEGENERATE;
    return 0;
}

int tally_close(struct tally *t, const struct canary_config *c, usec_t wall_usec, struct judgement *ret)
{
    struct judgement *j = &t->worst;
    int r = count_failures(t, &j->detail);

    if (r == 0)
        r = judge_repetition(t, c, j);
    if (r < 0)
        return r;
    if (t->n > 1) {
        j->tokens = t->tokens;
        j->first_token_usec = t->first_token_usec;
        j->tokens_per_sec = wall_usec > 0 ? (double) t->tokens * (double) USEC_PER_SEC / (double) wall_usec : 0;
    }
    j->total_usec = wall_usec;
    *ret = *j;
    *t = (struct tally){};
    return 0;
}

void tally_release(struct tally *t)
{
    judgement_release(&t->worst);
    *t = (struct tally){};
}
