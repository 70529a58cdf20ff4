/* SPDX-License-Identifier: MIT */
/* Bytes as what a server answers: the first two choose how it came, the rest is the body; and as
 * what an operator may have written for a prompt. */

#include <assert.h>
#include <jansson.h>

#include "base/str.h"
#include "core/canary/judge.h"
#include "core/canary/models.h"
#include "core/canary/request.h"

#define DETAIL_MAX 200

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static struct http_answer answer_from(const uint8_t *bytes, size_t n)
{
    static const long statuses[] = {200, 200, 200, 204, 307, 400, 401, 404, 429, 500, 503, 600, 0};
    static const enum http_outcome outcomes[] = {
        HTTP_REFUSED, HTTP_RESET,       HTTP_TIMEOUT,   HTTP_TOO_LARGE,
        HTTP_TLS,     HTTP_UNREACHABLE, HTTP_CANCELLED,
    };
    bool broken = n > 0 && bytes[0] >= 240;

    return (struct http_answer){
        .outcome = broken ? outcomes[bytes[0] % ARRAY_SIZE(outcomes)] : HTTP_COMPLETE,
        .status = n > 0 ? statuses[bytes[0] % ARRAY_SIZE(statuses)] : 0,
        .body = n > 2 ? (const char *) bytes + 2 : NULL,
        .body_len = n > 2 ? n - 2 : 0,
    };
}

/* One line of valid UTF-8, short. */
static void check_detail(const char *detail)
{
    size_t n = strlen(detail);

    assert(n > 0 && n <= DETAIL_MAX);
    for (size_t i = 0; i < n; i += utf8_sequence_length(detail + i, n - i)) {
        assert(utf8_sequence_length(detail + i, n - i) > 0);
        assert((unsigned char) detail[i] >= ' ' && detail[i] != 0x7f);
    }
}

static void check_judgement(const struct http_answer *a, uint8_t how)
{
    const struct canary_config c = {
        .kind = how / 16 % (CANARY_RAW + 1),
        .min_tokens = how % 8,
        .max_tokens = 16,
        .expect_sane = how & 1,
        .expect_json = how & 4,
    };
    const struct judge_facts facts = {.asked_model = how & 8 ? "model" : NULL, .speed = true};
    struct judge *judge;
    struct judgement j = {};

    assert(judge_new(&c, &judge) == 0);
    assert(judge_end(judge, a, &facts, &j) == 0);
    assert(j.verdict < N_VERDICTS);
    if (j.verdict == VERDICT_GENERATED)
        assert(a->outcome == HTTP_COMPLETE && (j.tokens > 0 || c.kind == CANARY_RAW));
    if (j.verdict == VERDICT_NO_TOKENS)
        assert(j.tokens < MAX(c.min_tokens, (uint64_t) 1));
    if (j.detail)
        check_detail(j.detail);
    judgement_release(&j);
    judge_free(judge);
}

static void check_model(const struct http_answer *a, uint8_t how)
{
    const char *wanted = how & 16 ? "model" : NULL;
    enum verdict verdict = N_VERDICTS;
    char *model = NULL;

    assert(canary_pick_model(wanted, a, &model, &verdict) == 0);
    assert((verdict == VERDICT_GENERATED) == (model != NULL));
    if (model)
        assert(wanted ? str_equal(model, wanted) : *model != '\0');
    free(model);
}

/* Whatever is asked is JSON and says what was meant. */
static void check_request(const char *bytes, size_t n, uint8_t how)
{
    _cleanup_free_ char *prompt = strndup(bytes, n);
    _cleanup_free_ char *clean = utf8_sanitize(prompt, strlen(prompt));
    const struct canary_config c = {.kind = how & 1 ? CANARY_CHAT : CANARY_COMPLETIONS,
                                    .prompt = prompt,
                                    .max_tokens = how,
                                    .top_p = -1,
                                    .min_p = -1,
                                    .repetition_penalty = -1,
                                    .frequency_penalty = -1,
                                    .presence_penalty = -1};
    const struct canary_inputs inputs = {.model = prompt};
    struct canary_request r = {};
    const char *why = NULL;
    json_t *body, *asked;

    assert(canary_build(&c, &inputs, &r, &why) == 0 && r.path[0] == '/');
    body = json_loads(r.body, 0, NULL);
    asked = json_object_get(body, "prompt");
    if (c.kind == CANARY_CHAT)
        asked = json_object_get(json_array_get(json_object_get(body, "messages"), 0), "content");
    assert(str_equal(json_string_value(asked), clean));
    assert(str_equal(json_string_value(json_object_get(body, "model")), clean));
    assert(json_integer_value(json_object_get(body, "max_tokens")) == how);
    json_decref(body);
    canary_request_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct http_answer a = answer_from(bytes, n);
    uint8_t how = n > 1 ? bytes[1] : 0;

    check_judgement(&a, how);
    check_model(&a, how);
    check_request((const char *) bytes, n, how);
    return 0;
}
