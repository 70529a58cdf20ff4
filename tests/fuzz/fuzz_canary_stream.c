/* SPDX-License-Identifier: MIT */
/* Bytes as a streamed answer: the first two choose the API and how the rest is cut. However it is cut, the
 * judgement is the same. */

#include <assert.h>
#include <errno.h>

#include "base/str.h"
#include "core/canary/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const enum canary_kind kinds[] = {
    CANARY_CHAT,            CANARY_COMPLETIONS,     CANARY_SGLANG_GENERATE,  CANARY_TGI_GENERATE,
    CANARY_LLAMA_COMPLETION, CANARY_TRITON_GENERATE, CANARY_OLLAMA_GENERATE, CANARY_RAW,
};

static void judge_pieces_of(const struct canary_config *c, const char *bytes, size_t n, size_t step,
                            struct judgement *ret)
{
    const struct judge_facts facts = {.asked_model = "model"};
    struct http_answer a = {.outcome = HTTP_COMPLETE, .status = 200};
    struct judge *judge;
    int r;

    assert(judge_new(c, &judge) == 0);
    r = 0;
    for (size_t i = 0; r == 0 && i < n; i += step)
        r = judge_feed(judge, bytes + i, MIN(step, n - i), i + 1);
    assert(r == 0 || r == 1 || r == -EMSGSIZE);
    if (r < 0)
        a.outcome = HTTP_TOO_LARGE;
    assert(judge_end(judge, &a, &facts, ret) == 0);
    judge_free(judge);
}

static void check_equal(const struct judgement *a, const struct judgement *b)
{
    assert(a->verdict == b->verdict && a->tokens == b->tokens && a->text_hash == b->text_hash);
    assert(str_equal(a->detail, b->detail) && str_equal(a->model, b->model));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct canary_config c = {.max_tokens = 16, .min_tokens = 1, .stream = true, .expect_sane = true};
    struct judgement whole = {}, cut = {};

    if (n < 2)
        return 0;
    c.kind = kinds[bytes[0] % ARRAY_SIZE(kinds)];
    judge_pieces_of(&c, (const char *) bytes + 2, n - 2, n, &whole);
    judge_pieces_of(&c, (const char *) bytes + 2, n - 2, 1 + bytes[1] % 16, &cut);
    if (whole.verdict != VERDICT_TOO_LARGE)
        check_equal(&whole, &cut);
    assert(whole.verdict != VERDICT_GENERATED || whole.tokens > 0 || c.kind == CANARY_RAW);
    judgement_release(&whole);
    judgement_release(&cut);
    return 0;
}
