/* SPDX-License-Identifier: MIT */
/* What each API's answers, whole and streamed, are worth. */
#include "unit.h"

#include <errno.h>
#include <jansson.h>

#include "base/str.h"
#include "canaries.h"
#include "chaos.h"
#include "core/canary/judge.h"

/* Each line of a streamed answer that is not blank comes a tenth of a second after the one before, the end a
 * tenth later. */
#define STEP (100 * USEC_PER_MSEC)

struct row {
    const char *name;
    const char *lines; /* of the canary */
    const char *body;
    enum verdict verdict;
    uint64_t tokens;
    const char *detail;
    usec_t first_token;
};

/* Returns what judge_feed() returned last. */
static int feed_lines(struct judge *judge, const char *body, usec_t *now)
{
    int r = 0;

    while (r == 0 && *body != '\0') {
        size_t n = strcspn(body, "\n") + (strchr(body, '\n') ? 1 : 0);

        *now += *body == '\n' ? 0 : STEP;
        r = judge_feed(judge, body, n, *now);
        body += n;
    }
    return r;
}

static int judge_body(const struct canary_config *c, const char *body, const struct judge_facts *facts,
                      struct judgement *ret)
{
    _cleanup_(judge_freep) struct judge *judge = NULL;
    struct http_answer a = {.outcome = HTTP_COMPLETE, .status = 200, .body = body};
    usec_t now = 0;
    int r = judge_new(c, &judge);

    if (r == 0 && c->stream)
        r = feed_lines(judge, body, &now);
    if (r < 0 && r != -EMSGSIZE)
        return r;
    a.outcome = r == -EMSGSIZE ? HTTP_TOO_LARGE : HTTP_COMPLETE;
    a.body_len = c->stream ? 0 : strlen(body);
    a.total_usec = now + STEP;
    return judge_end(judge, &a, facts, ret);
}

static int judge(const struct row *row, const struct judge_facts *facts, struct judgement *ret)
{
    _cleanup_(config_freep) struct config *config = canaries_parse(row->lines);

    return judge_body(canaries_x(config), row->body, facts, ret);
}

static void check_rows(const struct row *rows, size_t n)
{
    const struct judge_facts facts = {.asked_model = "m"};

    for (size_t i = 0; i < n; i++) {
        struct judgement j = {};

        assert_int_equal(judge(&rows[i], &facts, &j), 0);
        if (j.verdict != rows[i].verdict || j.tokens != rows[i].tokens ||
            !str_equal(j.detail, rows[i].detail) || j.first_token_usec != rows[i].first_token)
            fail_msg("%s: %s, %ju tokens, first after %ju us, %s", rows[i].name, verdict_name(j.verdict),
                     (uintmax_t) j.tokens, (uintmax_t) j.first_token_usec, j.detail ? j.detail : "(no detail)");
        judgement_release(&j);
    }
}

#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}],\"model\":\"m\"}\n\n"
#define USAGE(n) "data: {\"choices\":[],\"usage\":{\"completion_tokens\":" n "}}\n\n"
#define DONE "data: [DONE]\n\n"
#define GENERATED VERDICT_GENERATED
#define CHAT "Stream=yes\n"

static void streams(void unused **state)
{
    static const struct row rows[] = {
        /* The first chunk carries a role and no token. */
        {"chat", CHAT, CHUNK("\"role\":\"assistant\",\"content\":\"\"") CHUNK("\"content\":\"a\"")
         CHUNK("\"content\":\"b\"") USAGE("2") DONE, GENERATED, 2, NULL, 2 * STEP},
        {"no usage", CHAT, CHUNK("\"content\":\"a\"") CHUNK("\"content\":\"b\"") DONE, GENERATED, 2, NULL,
         STEP},
        {"reasoning", CHAT, CHUNK("\"content\":null") CHUNK("\"reasoning_content\":\"hm\"") DONE, GENERATED,
         1, NULL, 2 * STEP},
        {"tools", CHAT, CHUNK("\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]") DONE,
         GENERATED, 1, NULL, STEP},
        {"only a role", CHAT, CHUNK("\"role\":\"assistant\",\"content\":\"\"") DONE, VERDICT_NO_TOKENS, 0,
         NULL, 0},
        {"what stands behind the end", CHAT, CHUNK("\"content\":\"a\"") DONE "data: no JSON\n\n", GENERATED, 1,
         NULL, STEP},
        {"comments", CHAT, ": ping\n\n" CHUNK("\"content\":\"a\"") ": ping\n" DONE, GENERATED, 1, NULL,
         2 * STEP},
        {"cut off", CHAT, CHUNK("\"content\":\"a\""), VERDICT_RESET, 1,
         "the stream stopped before the server had said that it was over", STEP},
        {"an error", CHAT, CHUNK("\"content\":\"a\"") "data: {\"error\":{\"message\":\"CUDA error\"}}\n\n",
         VERDICT_HTTP_5XX, 1, "HTTP 200: CUDA error", STEP},
        {"no JSON", CHAT, "data: hello\n\n" DONE, VERDICT_BAD_JSON, 0,
         "not JSON: '[' or '{' expected near 'hello'", 0},
        {"other JSON", CHAT, "data: {\"text\":\"a\"}\n\n" DONE, VERDICT_BAD_JSON, 0, "no choices in the answer",
         0},
        {"not streamed at all", CHAT, "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}", VERDICT_BAD_JSON, 0,
         "not one event in the stream", 0},
        {"nothing", CHAT, "", VERDICT_BAD_JSON, 0, "not one event in the stream", 0},
        {"degenerate", CHAT, CHUNK("\"content\":\"!!!!\"") DONE, VERDICT_DEGENERATE, 1,
         "nothing but exclamation marks", STEP},
        {"NaN", CHAT, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":{\"content\":[{"
         "\"logprob\":NaN}]}}]}\n\n" DONE, VERDICT_DEGENERATE, 1, "numbers that are none (NaN)", STEP},
        {"completions", "Kind=completions\nStream=yes\n", "data: {\"choices\":[{\"text\":\" a\"}]}\n\n" DONE,
         GENERATED, 1, NULL, STEP},
        {"whole text each time", "Kind=sglang-generate\nStream=yes\n",
         "data: {\"text\":\" a\",\"meta_info\":{\"completion_tokens\":1}}\n\n"
         "data: {\"text\":\" a b\",\"meta_info\":{\"completion_tokens\":2,\"finish_reason\":{\"type\":"
         "\"length\",\"length\":2}}}\n\n" DONE, GENERATED, 2, NULL, STEP},
        {"sglang without an end", "Kind=sglang-generate\nStream=yes\n", "data: {\"text\":\" a\"}\n\n",
         VERDICT_RESET, 1, "the stream stopped before the server had said that it was over", STEP},
        {"tgi", "Kind=tgi-generate\nStream=yes\n",
         "data:{\"token\":{\"text\":\" a\",\"logprob\":-0.5,\"special\":false},\"generated_text\":null}\n\n"
         "data:{\"token\":{\"text\":\"</s>\",\"logprob\":-0.5,\"special\":true},\"generated_text\":\" a\","
         "\"details\":{\"finish_reason\":\"eos_token\",\"generated_tokens\":2}}\n\n", GENERATED, 2, NULL,
         STEP},
        {"tgi's error", "Kind=tgi-generate\nStream=yes\n",
         "data:{\"error\":\"Request failed during generation: Server error: CUDA error\","
         "\"error_type\":\"generation\"}\n\n", VERDICT_HTTP_5XX, 0,
         "HTTP 200: Request failed during generation: Server error: CUDA error", 0},
        {"llama", "Kind=llama-completion\nStream=yes\n",
         "data: {\"content\":\" a\",\"stop\":false}\n\n"
         "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"limit\",\"tokens_predicted\":1}\n\n", GENERATED,
         1, NULL, STEP},
        {"triton", "Kind=triton-generate\nStream=yes\n",
         "data: {\"model_name\":\"m\",\"text_output\":\"a\"}\n\ndata: {\"text_output\":\"b\"}\n\n", GENERATED,
         2, NULL, STEP},
        {"ollama", "Kind=ollama-generate\nStream=yes\n",
         "{\"model\":\"m\",\"response\":\"a\",\"done\":false}\n"
         "{\"model\":\"m\",\"response\":\"\",\"done\":true,\"done_reason\":\"stop\",\"eval_count\":1}\n",
         GENERATED, 1, NULL, STEP},
        {"ollama without an end", "Kind=ollama-chat\nStream=yes\n",
         "{\"message\":{\"content\":\"a\"},\"done\":false}\n", VERDICT_RESET, 1,
         "the stream stopped before the server had said that it was over", STEP},
        {"ollama's thoughts", "Kind=ollama-chat\nStream=yes\n",
         "{\"message\":{\"thinking\":\"a\"},\"done\":true}\n", GENERATED, 1, NULL, STEP},
        {"raw", "Kind=raw\nPath=/x\nStream=yes\n", "data: hello\n\ndata: {\"b\":1}\n\n", GENERATED, 1, NULL,
         STEP},
    };

    check_rows(rows, ARRAY_SIZE(rows));
}

static void whole_answers(void unused **state)
{
    static const struct row rows[] = {
        {"embeddings", "Kind=embeddings\n", "{\"data\":[{\"embedding\":[0.5,-1]}],\"model\":\"m\"}", GENERATED,
         1, NULL, 0},
        {"packed", "Kind=embeddings\n", "{\"data\":[{\"embedding\":\"AAAA\"}]}", GENERATED, 1, NULL, 0},
        {"Ollama's", "Kind=embeddings\nMinTokens=2\n", "{\"embeddings\":[[0.5],[0.25]]}", GENERATED, 2, NULL, 0},
        {"bare list", "Kind=embeddings\n", "[[0.5]]", GENERATED, 1, NULL, 0},
        {"too few", "Kind=embeddings\nMinTokens=2\n", "[[0.5]]", VERDICT_NO_TOKENS, 1,
         "fewer than the 2 tokens that it must be", 0},
        {"zeros", "Kind=embeddings\n", "{\"data\":[{\"embedding\":[0,0.0]}]}", VERDICT_DEGENERATE, 1,
         "a vector of zeros", 0},
        {"NaN", "Kind=embeddings\n", "{\"data\":[{\"embedding\":[0.5,NaN]}]}", VERDICT_DEGENERATE, 1,
         "numbers that are none (NaN)", 0},
        {"null", "Kind=embeddings\n", "{\"data\":[{\"embedding\":[0.5,null]}]}", VERDICT_DEGENERATE, 1,
         "numbers that are none (NaN)", 0},
        {"unasked for", "Kind=embeddings\nExpectSane=no\n", "{\"data\":[{\"embedding\":[0,null]}]}", GENERATED,
         1, NULL, 0},
        {"empty vector", "Kind=embeddings\n", "{\"data\":[{\"embedding\":[]}]}", VERDICT_NO_TOKENS, 0, NULL, 0},
        {"no vectors", "Kind=embeddings\n", "{\"choices\":[]}", VERDICT_BAD_JSON, 0, "no vectors in the answer",
         0},
        {"rerank", "Kind=rerank\n",
         "{\"results\":[{\"index\":0,\"relevance_score\":0.9},{\"index\":1,\"relevance_score\":0.1}]}",
         GENERATED, 2, NULL, 0},
        {"scores", "Kind=rerank\n", "[{\"score\":0,\"index\":0}]", GENERATED, 1, NULL, 0},
        {"no number", "Kind=rerank\n", "{\"results\":[{\"relevance_score\":null}]}", VERDICT_DEGENERATE, 1,
         "numbers that are none (NaN)", 0},
        {"sglang", "Kind=sglang-generate\n",
         "{\"text\":\" a b\",\"meta_info\":{\"completion_tokens\":2,\"finish_reason\":{\"type\":\"length\"},"
         "\"output_token_logprobs\":[[-0.5,7,null],[-1,8,null]]}}", GENERATED, 2, NULL, 0},
        {"sglang's NaN", "Kind=sglang-generate\n",
         "{\"text\":\" a\",\"meta_info\":{\"output_token_logprobs\":[[NaN,7,null]]}}", VERDICT_DEGENERATE, 1,
         "numbers that are none (NaN)", 0},
        {"tgi", "Kind=tgi-generate\n",
         "{\"generated_text\":\" a\",\"details\":{\"finish_reason\":\"length\",\"generated_tokens\":1,"
         "\"tokens\":[{\"text\":\" a\",\"logprob\":-1}]}}", GENERATED, 1, NULL, 0},
        {"tgi in a list", "Kind=tgi-generate\n", "[{\"generated_text\":\" a\"}]", GENERATED, 1, NULL, 0},
        {"llama", "Kind=llama-completion\n",
         "{\"content\":\" a\",\"tokens_predicted\":1,\"stop\":true,\"model\":\"m\","
         "\"completion_probabilities\":[{\"logprob\":-1.5}]}", GENERATED, 1, NULL, 0},
        {"triton", "Kind=triton-generate\n", "{\"model_name\":\"m\",\"text_output\":\"a\"}", GENERATED, 1, NULL, 0},
        {"triton's tensor", "Kind=triton-generate\n", "{\"text_output\":[\"a\",\"b\"]}", GENERATED, 1, NULL, 0},
        {"inference", "Kind=triton-infer\n",
         "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"text_output\",\"datatype\":\"BYTES\",\"data\":[\"a\"]}]}",
         GENERATED, 1, NULL, 0},
        {"numbers", "Kind=triton-infer\n", "{\"outputs\":[{\"data\":[0.5,true]},{\"data\":[1]}]}", GENERATED, 2,
         NULL, 0},
        {"no outputs", "Kind=triton-infer\n", "{\"outputs\":[]}", VERDICT_NO_TOKENS, 0, NULL, 0},
        {"ollama", "Kind=ollama-chat\n",
         "{\"message\":{\"content\":\"a\"},\"done\":true,\"eval_count\":3,\"done_reason\":\"stop\"}", GENERATED,
         3, NULL, 0},
        {"content in parts", "", "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}]}",
         GENERATED, 1, NULL, 0},
        {"raw", "Kind=raw\nPath=/x\n", "OK", GENERATED, 1, NULL, 0},
        {"empty raw", "Kind=raw\nPath=/x\n", "", GENERATED, 0, NULL, 0},
        {"raw with a count", "Kind=raw\nPath=/x\nMinTokens=5\n",
         "{\"generated_text\":\"a\",\"details\":{\"generated_tokens\":4}}", VERDICT_NO_TOKENS, 4,
         "fewer than the 5 tokens that it must be", 0},
        {"raw error", "Kind=raw\nPath=/x\n", "{\"error\":\"x\"}", GENERATED, 1, NULL, 0},
    };

    check_rows(rows, ARRAY_SIZE(rows));
}

#define TEXT(text) "{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"" text "\"},\"finish_reason\":\"length\"}]}"

static void expectations(void unused **state)
{
    static const struct row rows[] = {
        {"text", "ExpectText=^Par(is|ma)$\n", TEXT("Paris"), GENERATED, 1, NULL, 0},
        {"one of two", "ExpectText=London\nExpectText=Paris\n", TEXT("Paris"), GENERATED, 1, NULL, 0},
        {"other text", "ExpectText=^Paris$\n", TEXT("Par\\nis"), VERDICT_DEGENERATE, 1,
         "the text is not the expected one: \"Par is\"", 0},
        {"JSON", "ExpectJSON=yes\n", TEXT(" {\\\"a\\\": 1}"), GENERATED, 1, NULL, 0},
        {"no JSON", "ExpectJSON=yes\n", TEXT("{a: 1}"), VERDICT_BAD_JSON, 1,
         "the text is no JSON: \"{a: 1}\"", 0},
        {"a schema", "Schema={}\n", "{\"choices\":[{\"text\":\"{a}\",\"finish_reason\":\"stop\"}]}",
         VERDICT_BAD_JSON, 1, "the text is no JSON: \"{a}\"", 0},
        {"cut off", "Schema={}\n", TEXT("{\\\"a\\\": "), GENERATED, 1, NULL, 0},
        {"cut off, and must not be", "Schema={}\nExpectJSON=yes\n", TEXT("{\\\"a\\\": "), VERDICT_BAD_JSON, 1,
         "the text is no JSON: \"{\"a\":\"", 0},
        {"finish", "ExpectFinish=stop length\n", TEXT("a"), GENERATED, 1, NULL, 0},
        {"other finish", "ExpectFinish=stop\n", TEXT("a"), VERDICT_DEGENERATE, 1,
         "ended for the reason \"length\"", 0},
        {"no finish", "ExpectFinish=stop\n", "{\"choices\":[{\"text\":\"a\"}]}", VERDICT_DEGENERATE, 1,
         "ended for the reason \"\"", 0},
        {"model", "ExpectModel=m\n", TEXT("a"), GENERATED, 1, NULL, 0},
        {"other model", "ExpectModel=n\n", TEXT("a"), VERDICT_WRONG_MODEL, 1,
         "answered as model \"m\" instead of \"n\"", 0},
        {"no model", "ExpectModel=n\n", "{\"choices\":[{\"text\":\"a\"}]}", VERDICT_WRONG_MODEL, 1,
         "answered as model \"\" instead of \"n\"", 0},
        {"degenerate", "", TEXT("the the the the the the the the the"), VERDICT_DEGENERATE, 1,
         "one token again and again", 0},
        {"degenerate thoughts", "", "{\"choices\":[{\"message\":{\"content\":\"a\",\"reasoning\":\"!!!!!!\"}}]}",
         VERDICT_DEGENERATE, 1, "nothing but exclamation marks", 0},
        {"degenerate, and may be", "ExpectSane=no\n", TEXT("!!!!!!"), GENERATED, 1, NULL, 0},
        {"tokens without text", "", "{\"choices\":[{\"message\":{\"content\":null}}],\"usage\":{\"completion_tokens\":"
         "16}}", VERDICT_DEGENERATE, 16, "tokens, but no text", 0},
        {"hidden thoughts", "", "{\"choices\":[{\"message\":{\"content\":\"\"}}],\"usage\":{\"completion_tokens\":16,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":16}}}", GENERATED, 16, NULL, 0},
        {"log-probabilities", "Logprobs=yes\n",
         "{\"choices\":[{\"text\":\"a\",\"logprobs\":{\"token_logprobs\":[-1,null]}}]}", VERDICT_DEGENERATE, 1,
         "numbers that are none (NaN)", 0},
        {"status", "ExpectStatus=200\n", TEXT("a"), GENERATED, 1, NULL, 0},
        {"other status", "ExpectStatus=201\n", TEXT("a"), VERDICT_BAD_JSON, 1, "HTTP 200 instead of 201", 0},
        {"raw's other status", "Kind=raw\nPath=/x\nExpectStatus=204\n", "a", VERDICT_BAD_JSON, 1,
         "HTTP 200 instead of 204", 0},
    };

    check_rows(rows, ARRAY_SIZE(rows));
}

static void wanted_refusals(void unused **state)
{
    _cleanup_(config_freep) struct config *config = canaries_parse("ExpectStatus=404\nModel=none\n");
    static const char body[] = "{\"error\":{\"message\":\"The model `none` does not exist\"}}";
    const struct judge_facts facts = {};
    struct http_answer a = {.outcome = HTTP_COMPLETE, .body = body, .body_len = sizeof(body) - 1};
    static const struct {
        long status;
        enum verdict verdict;
    } rows[] = {{404, GENERATED}, {400, VERDICT_WRONG_MODEL}, {500, VERDICT_HTTP_5XX}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(judge_freep) struct judge *judge = NULL;
        struct judgement j = {};

        a.status = rows[i].status;
        assert_int_equal(judge_new(canaries_x(config), &judge), 0);
        assert_int_equal(judge_end(judge, &a, &facts, &j), 0);
        assert_int_equal(j.verdict, rows[i].verdict);
        judgement_release(&j);
    }
}

/* Aliases are honest, but another name than before means that somebody else answers. */
static void models_stay_the_same(void unused **state)
{
    static const struct row row = {"alias", "", TEXT("a"), GENERATED, 1, NULL, 0};
    static const struct {
        struct judge_facts facts;
        enum verdict verdict;
        const char *detail;
    } rows[] = {
        {{.asked_model = "m"}, GENERATED, NULL},
        {{.asked_model = "alias"}, GENERATED, "answered as model \"m\""},
        {{.asked_model = "alias", .known_model = "m"}, GENERATED, "answered as model \"m\""},
        {{.asked_model = "alias", .known_model = "n"}, VERDICT_WRONG_MODEL,
         "answered as model \"m\" instead of \"n\""},
        {{}, GENERATED, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct judgement j = {};

        assert_int_equal(judge(&row, &rows[i].facts, &j), 0);
        assert_int_equal(j.verdict, rows[i].verdict);
        if (!str_equal(j.detail, rows[i].detail))
            fail_msg("%s", j.detail ? j.detail : "(none)");
        assert_string_equal(j.model, "m");
        judgement_release(&j);
    }
}

static void speed(void unused **state)
{
    /* The first token after 200 ms, then one every 100 ms. */
#define SLOWLY CHUNK("\"role\":\"assistant\"") CHUNK("\"content\":\"a\"") CHUNK("\"content\":\"b\"") \
    CHUNK("\"content\":\"c\"") DONE
    static const struct {
        const char *lines;
        bool speed;
        enum verdict verdict;
        const char *detail;
    } rows[] = {
        {"Stream=yes\nFirstTokenSec=200ms\nMinTokensPerSec=9.9\n", true, GENERATED, NULL},
        {"Stream=yes\nFirstTokenSec=199ms\n", true, VERDICT_SLOW,
         "the first token after 200 ms, at most 199 ms expected"},
        {"Stream=yes\nMinTokensPerSec=10.1\n", true, VERDICT_SLOW, "10.0 tokens/s, at least 10.1 expected"},
        {"Stream=yes\nFirstTokenSec=1ms\nMinTokensPerSec=1000\n", false, GENERATED, NULL},
    };
    const struct row whole = {"whole", "MinTokensPerSec=11\n", TEXT("a"), VERDICT_SLOW, 1, NULL, 0};
    struct judgement j = {};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row row = {rows[i].lines, rows[i].lines, SLOWLY, rows[i].verdict, 3, NULL, 0};

        assert_int_equal(judge(&row, &(struct judge_facts){.speed = rows[i].speed}, &j), 0);
        assert_row(rows[i].lines, j.verdict == rows[i].verdict);
        assert_row(rows[i].lines, str_equal(j.detail, rows[i].detail));
        assert_true(j.tokens_per_sec > 9.99 && j.tokens_per_sec < 10.01);
        judgement_release(&j);
    }
    assert_int_equal(judge(&whole, &(struct judge_facts){.speed = true}, &j), 0);
    assert_string_equal(j.detail, "10.0 tokens/s, at least 11 expected");
    judgement_release(&j);
}

/* How far a broken stream had come. */
static void broken_streams(void unused **state)
{
    static const struct {
        const char *body;
        enum http_outcome outcome;
        enum verdict verdict;
        const char *detail;
    } rows[] = {
        {"", HTTP_TIMEOUT, VERDICT_FIRST_TOKEN_TIMEOUT, "why"},
        {CHUNK("\"role\":\"assistant\",\"content\":\"\""), HTTP_TIMEOUT, VERDICT_FIRST_TOKEN_TIMEOUT, "why"},
        {CHUNK("\"content\":\"a\""), HTTP_TIMEOUT, VERDICT_TIMEOUT, "after 1 pieces with text"},
        {CHUNK("\"content\":\"a\""), HTTP_RESET, VERDICT_RESET, "after 1 pieces with text"},
        {"", HTTP_REFUSED, VERDICT_REFUSED, "why"},
    };
    _cleanup_(config_freep) struct config *config = canaries_parse(CHAT);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct http_answer a = {.outcome = rows[i].outcome, .detail = "why"};
        _cleanup_(judge_freep) struct judge *judge = NULL;
        struct judgement j = {};
        usec_t now = 0;

        assert_int_equal(judge_new(canaries_x(config), &judge), 0);
        assert_int_equal(feed_lines(judge, rows[i].body, &now), 0);
        assert_int_equal(judge_end(judge, &a, &(struct judge_facts){}, &j), 0);
        assert_int_equal(j.verdict, rows[i].verdict);
        assert_string_equal(j.detail, rows[i].detail);
        judgement_release(&j);
    }
}

/* A refused stream's answer comes whole. */
static void refused_streams(void unused **state)
{
    static const char body[] = "{\"detail\":\"Not authenticated\"}";
    _cleanup_(config_freep) struct config *config = canaries_parse(CHAT);
    struct http_answer a = {.status = 403, .body = body, .body_len = sizeof(body) - 1};
    _cleanup_(judge_freep) struct judge *judge = NULL;
    struct judgement j = {};

    assert_int_equal(judge_new(canaries_x(config), &judge), 0);
    assert_int_equal(judge_end(judge, &a, &(struct judge_facts){}, &j), 0);
    assert_int_equal(j.verdict, VERDICT_AUTH_REQUIRED);
    assert_string_equal(j.detail, "HTTP 403: Not authenticated");
    judgement_release(&j);
}

static int feed_endlessly(const char *lines, const char *piece, uint64_t most)
{
    _cleanup_(config_freep) struct config *config = canaries_parse(lines);
    _cleanup_(judge_freep) struct judge *judge = NULL;
    uint64_t fed = 0;
    int r = judge_new(canaries_x(config), &judge);

    while (r == 0 && fed < most) {
        r = judge_feed(judge, piece, strlen(piece), 1);
        fed += strlen(piece);
    }
    return r;
}

static void endless_streams_are_cut(void unused **state)
{
    assert_int_equal(feed_endlessly(CHAT, CHUNK("\"content\":\"word \""), 2 << 20), -EMSGSIZE);
    assert_int_equal(feed_endlessly(CHAT, ": ping\n", 2 << 20), -EMSGSIZE);
    assert_int_equal(feed_endlessly(CHAT, "data: [", 100000), -EMSGSIZE);
    /* An answer of so many tokens may be as long. */
    assert_int_equal(feed_endlessly("Stream=yes\nMaxTokens=4096\n", CHUNK("\"content\":\"word \""), 2 << 20), 0);
}

/* A canary and what it is answered. */
struct once {
    const struct canary_config *canary;
    const char *body;
};

static int judge_once(void *data)
{
    const struct once *once = data;
    struct judgement j = {};
    int r = judge_body(once->canary, once->body, &(struct judge_facts){.asked_model = "a"}, &j);

    assert_true(r == 0 || (!j.detail && !j.model));
    judgement_release(&j);
    return r;
}

/* Of a word of more than 16 bytes the library itself loses a byte, without a word, when it cannot grow its
 * buffer. */
static void survives_lack_of_memory(void unused **state)
{
    static const struct {
        const char *lines, *body;
    } rows[] = {
        {CHAT, CHUNK("\"content\":\"a\"") DONE},
        {CHAT, "data: x\n\n"},
        {"Kind=raw\nPath=/x\n", "OK"},
        {"Kind=raw\nPath=/x\nStream=yes\n", "data: x\n\n"},
        {"ExpectText=^\\[1\\]$\nExpectJSON=yes\n", TEXT("[1]")},
        {"ExpectModel=x\n", TEXT("a")},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *config = canaries_parse(rows[i].lines);
        struct once once = {.canary = canaries_x(config), .body = rows[i].body};

        json_set_alloc_funcs(chaos_malloc, free);
        chaos_each(judge_once, &once);
        json_set_alloc_funcs(malloc, free);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(expectations),
        cmocka_unit_test(wanted_refusals),
        cmocka_unit_test(models_stay_the_same),
        cmocka_unit_test(speed),
        cmocka_unit_test(broken_streams),
        cmocka_unit_test(refused_streams),
        cmocka_unit_test(endless_streams_are_cut),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("canary apis", tests, NULL, NULL);
}
