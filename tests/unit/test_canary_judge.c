/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "chaos.h"
#include "core/canary/judge.h"

#define DETAIL_MAX 200

static const struct canary_config chat = {
    .kind = CANARY_CHAT, .max_tokens = 16, .min_tokens = 1, .expect_sane = true};
static const struct canary_config any_tokens = {.kind = CANARY_CHAT, .min_tokens = 0};
static const struct canary_config five_tokens = {
    .kind = CANARY_CHAT, .max_tokens = 16, .min_tokens = 5, .expect_sane = true};

static struct http_answer answer(long status, const char *body)
{
    return (struct http_answer){.outcome = HTTP_COMPLETE,
                                .status = status,
                                .body = body,
                                .body_len = strlen(body),
                                .total_usec = 7};
}

/* An answer that comes whole. */
static int judge_whole(const struct canary_config *c, const char *model, const struct http_answer *a,
                       struct judgement *ret)
{
    const struct judge_facts facts = {.asked_model = model};
    _cleanup_(judge_freep) struct judge *judge = NULL;
    int r = judge_new(c, &judge);

    return r < 0 ? r : judge_end(judge, a, &facts, ret);
}

/* Judgements */

struct judge_row {
    long status;
    const char *body;
    enum verdict verdict;
    uint64_t tokens;
    const char *detail;
};

static void judge_rows(const struct canary_config *c, const char *model,
                       const struct judge_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct http_answer a = answer(rows[i].status, rows[i].body);
        struct judgement j = {};

        assert_int_equal(judge_whole(c, model, &a, &j), 0);
        if (j.verdict != rows[i].verdict || j.tokens != rows[i].tokens ||
            !str_equal(j.detail, rows[i].detail))
            fail_msg("%ld %s: %s, %llu tokens, %s", rows[i].status, rows[i].body,
                     verdict_name(j.verdict), (unsigned long long) j.tokens,
                     j.detail ? j.detail : "(no detail)");
        assert_int_equal(j.total_usec, 7);
        judgement_release(&j);
        assert_null(j.detail);
    }
}

#define JUDGE(c, model, ...)                                  \
    do {                                                      \
        static const struct judge_row rows[] = {__VA_ARGS__}; \
        judge_rows((c), (model), rows, ARRAY_SIZE(rows));     \
    } while (0)

#define GENERATED(tokens, body) {200, body, VERDICT_GENERATED, tokens, NULL}
#define BAD(why, body) {200, body, VERDICT_BAD_JSON, 0, why}
#define NOTHING(body) {200, body, VERDICT_NO_TOKENS, 0, NULL}

static void test_tokens(void **state unused)
{
    JUDGE(
        &chat, NULL,
        GENERATED(16, "{\"choices\":[{\"message\":{\"content\":\"one "
                      "two\"}}],\"usage\":{\"completion_tokens\":16}}"),
        /* A reasoning model, before and after its servers agreed on a name. */
        GENERATED(1,
                  "{\"choices\":[{\"message\":{\"content\":\"\",\"reasoning_content\":\"Hm\"}}]}"),
        GENERATED(1, "{\"choices\":[{\"message\":{\"content\":null,\"reasoning\":\"Hm\"}}]}"),
        /* A token may be no text yet. */
        GENERATED(
            3,
            "{\"choices\":[{\"message\":{\"content\":\"\"}}],\"usage\":{\"completion_tokens\":3}}"),
        GENERATED(3, "{\"choices\":[{}],\"usage\":{\"completion_tokens\":3}}"),
        GENERATED(1, "{\"choices\":[{\"text\":\" one\"}]}"),
        GENERATED(1, "{\"choices\":[{\"text\":\"\"},{\"text\":\"x\"}]}"),
        /* Usage that says nothing, or nonsense, leaves it to the text. */
        GENERATED(1, "{\"choices\":[{\"text\":\"x\"}],\"usage\":null}"),
        GENERATED(1, "{\"choices\":[{\"text\":\"x\"}],\"usage\":{\"completion_tokens\":0}}"),
        GENERATED(1, "{\"choices\":[{\"text\":\"x\"}],\"usage\":{\"completion_tokens\":-4}}"),
        GENERATED(1, "{\"choices\":[{\"text\":\"x\"}],\"usage\":{\"completion_tokens\":\"9\"}}"),
        GENERATED(1, "{\"choices\":[{\"text\":\"x\"}],\"usage\":[9]}"),
        GENERATED(9223372036854775807, "{\"choices\":[{\"text\":\"x\"}],\"usage\":{\"completion_"
                                       "tokens\":9223372036854775807}}"),
        /* Byte tokens make any character, this one too. */
        GENERATED(1, "{\"choices\":[{\"text\":\"\\u0000\"}]}"),
        GENERATED(1, "{\"choices\":[{\"text\":\"x\"}],\"error\":null}"),
        GENERATED(1, "{\"choices\":[{\"text\":\"x\"}],\"error\":\"\"}"),
        {201, "{\"choices\":[{\"text\":\"x\"}]}", VERDICT_GENERATED, 1, NULL});
    JUDGE(
        &chat, NULL, NOTHING("{\"choices\":[{\"message\":{\"content\":\"\"}}]}"),
        NOTHING(
            "{\"choices\":[{\"message\":{\"content\":\"\"}}],\"usage\":{\"completion_tokens\":0}}"),
        NOTHING("{\"choices\":[{\"message\":{\"content\":null}}],\"usage\":{\"prompt_tokens\":9}}"),
        NOTHING("{\"choices\":[{\"message\":{\"role\":\"assistant\"}}]}"),
        NOTHING("{\"choices\":[{}]}"), NOTHING("{\"choices\":[null,7,\"text\",[\"x\"]]}"),
        NOTHING("{\"choices\":[{\"message\":\"text\"}]}"),
        NOTHING("{\"choices\":[{\"message\":{\"content\":[1]}}]}"),
        NOTHING("{\"choices\":[{\"text\":\"x\",\"text\":\"\"}]}"));
}

static void test_min_tokens(void **state unused)
{
    JUDGE(&five_tokens, NULL,
          GENERATED(5, "{\"choices\":[{\"text\":\"x\"}],\"usage\":{\"completion_tokens\":5}}"),
          {200, "{\"choices\":[{\"text\":\"a long story\"}],\"usage\":{\"completion_tokens\":4}}",
           VERDICT_NO_TOKENS, 4, "fewer than the 5 tokens that it must be"},
          /* Where nobody counts, five bytes may be five tokens. */
          GENERATED(1, "{\"choices\":[{\"text\":\"abcde\"}]}"),
          {200, "{\"choices\":[{\"text\":\"abcd\"}]}", VERDICT_NO_TOKENS, 1,
           "fewer than the 5 tokens that it must be"},
          NOTHING("{\"choices\":[{\"text\":\"\"}]}"));
    JUDGE(&any_tokens, NULL, NOTHING("{\"choices\":[{\"text\":\"\"}]}"));
}

/* Aliases and snapshots are honest. */
static void test_other_name_of_the_model(void **state unused)
{
    JUDGE(&chat, "kimi", GENERATED(1, "{\"model\":\"kimi\",\"choices\":[{\"text\":\"x\"}]}"),
          GENERATED(1, "{\"model\":null,\"choices\":[{\"text\":\"x\"}]}"),
          {200, "{\"model\":\"/srv/models\\nKimi\",\"choices\":[{\"text\":\"x\"}]}",
           VERDICT_GENERATED, 1, "answered as model \"/srv/models Kimi\""},
          NOTHING("{\"model\":\"other\",\"choices\":[{\"text\":\"\"}]}"));
    JUDGE(&chat, NULL, GENERATED(1, "{\"model\":\"kimi\",\"choices\":[{\"text\":\"x\"}]}"));
}

static void test_bad_json(void **state unused)
{
    JUDGE(
        &chat, NULL, BAD("an empty answer", ""), BAD("no choices in the answer", "[]"),
        BAD("not JSON: string or '}' expected near end of file", "{"),
        BAD("not JSON: '[' or '{' expected near '<'", "<html>\n<body>It works!</body>"),
        BAD("not JSON: '[' or '{' expected near 'null'", "null"),
        BAD("not JSON: end of file expected near '{'", "{} {}"),
        BAD("not JSON: too big integer near '99999999999999999999'",
            "{\"usage\":{\"completion_tokens\":99999999999999999999}}"),
        BAD("not JSON: real number overflow near '1e999'",
            "{\"usage\":{\"completion_tokens\":1e999}}"),
        BAD("not JSON: invalid Unicode '\\uD800' near '\"\\ud800\"'",
            "{\"choices\":[{\"text\":\"\\ud800\"}]}"),
        BAD("no choices in the answer", "{}"), BAD("no choices in the answer", "{\"choices\":[]}"),
        BAD("no choices in the answer", "{\"choices\":{\"text\":\"x\"}}"),
        {200, "{\"choices\":null,\"usage\":{\"completion_tokens\":3}}", VERDICT_BAD_JSON, 3,
         "no choices in the answer"});
    JUDGE(&chat, NULL,
          {0, "{\"choices\":[{\"text\":\"x\"}]}", VERDICT_BAD_JSON, 0,
           "HTTP 0: {\"choices\":[{\"text\":\"x\"}]}"},
          {101, "", VERDICT_BAD_JSON, 0, "HTTP 101"}, {600, "", VERDICT_BAD_JSON, 0, "HTTP 600"},
          {-5, "", VERDICT_BAD_JSON, 0, "HTTP -5"});
}

/* Invalid UTF-8 and NUL are no JSON; what is said of them is valid, and one line. */
static void test_hostile_bytes(void **state unused)
{
    static const char bytes[] = "{\"a\":\"\xff\"}\0{}";
    struct http_answer a = answer(200, "");
    struct judgement j = {};

    a.body = bytes;
    a.body_len = sizeof(bytes) - 1;
    assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
    assert_int_equal(j.verdict, VERDICT_BAD_JSON);
    judgement_release(&j);
    a.body = "{\"choices\":[{\"text\":\"x\"}]}\0";
    a.body_len = strlen(a.body) + 1;
    assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
    assert_int_equal(j.verdict, VERDICT_BAD_JSON);
    judgement_release(&j);
    a.status = 500;
    a.body = "\t a\x1b[31mb\000c\x7f\xc2\x85 d\xff\r\n\xc3";
    a.body_len = 20;
    assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
    assert_string_equal(j.detail, "HTTP 500: a [31mb\xef\xbf\xbd"
                                  "c d\xef\xbf\xbd \xef\xbf\xbd");
    judgement_release(&j);
}

static void test_deep_nesting(void **state unused)
{
    static const struct {
        int depth;
        enum verdict verdict;
        const char *detail;
    } rows[] = {
        {3000, VERDICT_BAD_JSON, "not JSON: maximum parsing depth reached near '['"},
        {500000, VERDICT_TOO_LARGE, "more values than any honest answer has"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strbuf_ struct strbuf body = {};
        struct http_answer a;
        struct judgement j = {};

        strbuf_append(&body, "{\"choices\":");
        for (int k = 0; k < rows[i].depth; k++)
            strbuf_append_char(&body, '[');
        a = answer(200, body.data);
        assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
        assert_int_equal(j.verdict, rows[i].verdict);
        assert_string_equal(j.detail, rows[i].detail);
        judgement_release(&j);
    }
}

#define STATUS(status, verdict, detail, body) {status, body, verdict, 0, detail}

static void test_rejections(void **state unused)
{
    JUDGE(&chat, "kimi",
          STATUS(401, VERDICT_AUTH_REQUIRED, "HTTP 401: Unauthorized",
                 "{\"error\":\"Unauthorized\"}"),
          STATUS(403, VERDICT_AUTH_REQUIRED, "HTTP 403", ""),
          STATUS(401, VERDICT_AUTH_REQUIRED, "HTTP 401: model not found",
                 "{\"error\":{\"message\":\"model not found\"}}"),
          STATUS(400, VERDICT_HTTP_4XX, "HTTP 400: bad temperature",
                 "{\"error\":{\"message\":\"bad temperature\",\"code\":400}}"),
          STATUS(404, VERDICT_HTTP_4XX, "HTTP 404: Not Found", "{\"detail\":\"Not Found\"}"),
          STATUS(404, VERDICT_HTTP_4XX, "HTTP 404: no route", "no route"),
          STATUS(422, VERDICT_HTTP_4XX, "HTTP 422: Field required",
                 "{\"detail\":[{\"loc\":[\"body\",\"prompt\"],\"msg\":\"Field required\"}]}"),
          STATUS(307, VERDICT_HTTP_4XX, "HTTP 307", ""),
          STATUS(499, VERDICT_HTTP_4XX, "HTTP 499: {}", "{}"));
    JUDGE(&chat, "kimi",
          STATUS(404, VERDICT_WRONG_MODEL, "HTTP 404: The model `kimi` does not exist.",
                 "{\"object\":\"error\",\"message\":\"The model `kimi` does not "
                 "exist.\",\"type\":\"NotFoundError\","
                 "\"param\":null,\"code\":404}"),
          STATUS(404, VERDICT_WRONG_MODEL,
                 "HTTP 404: model \"kimi\" not found, try pulling it first",
                 "{\"error\":{\"message\":\"model \\\"kimi\\\" not found, try pulling it "
                 "first\",\"type\":\"api_error\"}}"),
          STATUS(400, VERDICT_WRONG_MODEL, "HTTP 400: nope",
                 "{\"error\":{\"message\":\"nope\",\"code\":\"model_not_found\"}}"),
          STATUS(404, VERDICT_WRONG_MODEL, "HTTP 404: Unknown model",
                 "{\"error\":\"Unknown model\"}"));
}

static void test_not_now(void **state unused)
{
    JUDGE(&chat, NULL,
          STATUS(503, VERDICT_NOT_READY, "HTTP 503: Loading model",
                 "{\"error\":{\"code\":503,\"message\":\"Loading "
                 "model\",\"type\":\"unavailable_error\"}}"),
          STATUS(503, VERDICT_NOT_READY, "HTTP 503", ""),
          STATUS(408, VERDICT_NOT_READY, "HTTP 408", ""),
          STATUS(425, VERDICT_NOT_READY, "HTTP 425", ""),
          STATUS(429, VERDICT_NOT_READY, "HTTP 429: Model is overloaded",
                 "{\"error\":\"Model is overloaded\",\"error_type\":\"overloaded\"}"));
}

static void test_errors_of_its_own(void **state unused)
{
    JUDGE(&chat, NULL,
          STATUS(500, VERDICT_HTTP_5XX,
                 "HTTP 500: CUDA error: an illegal memory access was encountered",
                 "{\"error\":{\"message\":\"CUDA error:\\n  an illegal memory access was "
                 "encountered\"}}"),
          STATUS(500, VERDICT_HTTP_5XX, "HTTP 500: Internal Server Error", "Internal Server Error"),
          STATUS(502, VERDICT_HTTP_5XX, "HTTP 502: <html> <h1>Bad Gateway</h1>",
                 "<html>\r\n<h1>Bad Gateway</h1>\r\n"),
          STATUS(504, VERDICT_HTTP_5XX, "HTTP 504", ""),
          STATUS(500, VERDICT_HTTP_5XX, "HTTP 500: {\"message\":7}", "{\"message\":7}"),
          STATUS(599, VERDICT_HTTP_5XX, "HTTP 599: []", "[]"));
}

/* An error is one, whatever the status says. */
static void test_errors_with_good_status(void **state unused)
{
    JUDGE(&chat, NULL,
          STATUS(200, VERDICT_HTTP_5XX, "HTTP 200: engine died",
                 "{\"error\":{\"message\":\"engine died\"}}"),
          STATUS(200, VERDICT_HTTP_5XX, "HTTP 200: engine died",
                 "{\"error\":\"engine died\",\"choices\":[{\"text\":\"x\"}]}"),
          STATUS(200, VERDICT_HTTP_5XX, "HTTP 200: {\"error\":{}}", "{\"error\":{}}"),
          STATUS(200, VERDICT_HTTP_5XX, "HTTP 200: x",
                 "{\"error\":{\"message\":\"x\",\"code\":200}}"),
          STATUS(200, VERDICT_HTTP_5XX, "HTTP 200: x",
                 "{\"error\":{\"message\":\"x\",\"code\":700}}"),
          STATUS(200, VERDICT_HTTP_4XX, "HTTP 200: x",
                 "{\"object\":\"error\",\"message\":\"x\",\"code\":400}"),
          STATUS(200, VERDICT_NOT_READY, "HTTP 200: x",
                 "{\"error\":{\"message\":\"x\",\"code\":503}}"),
          STATUS(200, VERDICT_AUTH_REQUIRED, "HTTP 200: x",
                 "{\"error\":{\"message\":\"x\",\"code\":401}}"),
          STATUS(
              200, VERDICT_WRONG_MODEL, "HTTP 200: The model `a` does not exist.",
              "{\"object\":\"error\",\"message\":\"The model `a` does not exist.\",\"code\":404}"));
}

static void test_transfers(void **state unused)
{
    static const struct {
        enum http_outcome outcome;
        enum verdict verdict;
    } rows[] = {
        {HTTP_REFUSED, VERDICT_REFUSED}, {HTTP_RESET, VERDICT_RESET},
        {HTTP_TIMEOUT, VERDICT_TIMEOUT}, {HTTP_TOO_LARGE, VERDICT_TOO_LARGE},
        {HTTP_TLS, VERDICT_TLS},         {HTTP_UNREACHABLE, VERDICT_REFUSED},
        {HTTP_CANCELLED, VERDICT_NONE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        /* The body of a broken transfer proves nothing. */
        struct http_answer a = answer(200, "{\"choices\":[{\"text\":\"x\"}]}");
        struct judgement j = {};

        a.outcome = rows[i].outcome;
        assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
        assert_int_equal(j.verdict, rows[i].verdict);
        assert_int_equal(j.tokens, 0);
        assert_null(j.detail);
        a.detail = "Could not resolve\nhost";
        assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
        assert_int_equal(j.verdict, rows[i].verdict);
        assert_string_equal(j.detail, "Could not resolve host");
        judgement_release(&j);
    }
}

/* Cut at 200 bytes, never within a character. */
static void test_detail_is_bounded(void **state unused)
{
    for (size_t shift = 0; shift < 4; shift++) {
        _cleanup_strbuf_ struct strbuf body = {};
        struct http_answer a;
        struct judgement j = {};

        strbuf_append_n(&body, "abcd", shift);
        for (int i = 0; i < 100000; i++)
            strbuf_append(&body, "\xe6\xb2\xa1");
        a = answer(500, body.data);
        assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
        assert_true(strlen(j.detail) <= DETAIL_MAX && strlen(j.detail) > DETAIL_MAX - 4);
        assert_true(str_ends_with(j.detail, "\xb2\xa1..."));
        for (size_t i = 0, n = strlen(j.detail); i < n;
             i += utf8_sequence_length(j.detail + i, n - i))
            assert_true(utf8_sequence_length(j.detail + i, n - i) > 0);
        judgement_release(&j);
    }
}

static void test_detail_of_just_the_length(void **state unused)
{
    char body[DETAIL_MAX + 2 - sizeof("HTTP 500: ")];
    struct http_answer a;
    struct judgement j = {};

    memset(body, 'x', sizeof(body));
    a = answer(500, "");
    a.body = body;
    a.body_len = sizeof(body) - 1;
    assert_int_equal(judge_whole(&chat, NULL, &a, &j), 0);
    assert_int_equal(strlen(j.detail), DETAIL_MAX - 0);
    assert_true(str_ends_with(j.detail, "xxxx"));
    judgement_release(&j);
}

/* Vocabulary */

static void test_verdicts(void **state unused)
{
    static const bool hopeless[N_VERDICTS] = {
        [VERDICT_AUTH_REQUIRED] = true,    [VERDICT_WRONG_MODEL] = true, [VERDICT_HTTP_4XX] = true,
        [VERDICT_FOREIGN_LISTENER] = true, [VERDICT_TLS] = true,         [VERDICT_TOO_LARGE] = true,
    };

    for (enum verdict v = 0; v < N_VERDICTS; v++) {
        assert_false(str_empty(verdict_name(v)));
        assert_false(str_empty(verdict_text(v)));
        assert_row(verdict_name(v), verdict_may_improve(v) == !hopeless[v]);
        for (enum verdict w = 0; w < v; w++)
            assert_string_not_equal(verdict_name(v), verdict_name(w));
    }
    assert_string_equal(verdict_name(VERDICT_GENERATED), "generated");
    assert_string_equal(verdict_name(VERDICT_TLS), "tls");
}

/* When memory is out */

static int judge_once(void *data)
{
    struct http_answer a =
        answer(*(long *) data, "{\"model\":\"other\",\"choices\":[{\"text\":\"x\"}]}");
    struct judgement j = {};
    int r = judge_whole(&five_tokens, "model", &a, &j);

    assert_true(r == 0 || !j.detail);
    judgement_release(&j);
    return r;
}

static int judge_broken_once(void *data)
{
    struct http_answer a = answer(200, data);
    struct judgement j = {};
    int r = judge_whole(&chat, "model", &a, &j);

    if (r == 0)
        assert_true(j.detail || j.verdict == VERDICT_GENERATED);
    judgement_release(&j);
    return r;
}

static void test_out_of_memory(void **state unused)
{
    static char empty[] = "", no_json[] = "{\"a\":",
                other[] = "{\"model\":\"other\",\"choices\":[{\"text\":\"x\"}]}";
    long good = 200, bad = 500;

    json_set_alloc_funcs(chaos_malloc, free);
    chaos_each(judge_once, &good);
    chaos_each(judge_once, &bad);
    chaos_each(judge_broken_once, empty);
    chaos_each(judge_broken_once, no_json);
    chaos_each(judge_broken_once, other);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_min_tokens),
        cmocka_unit_test(test_other_name_of_the_model),
        cmocka_unit_test(test_bad_json),
        cmocka_unit_test(test_hostile_bytes),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_rejections),
        cmocka_unit_test(test_not_now),
        cmocka_unit_test(test_errors_of_its_own),
        cmocka_unit_test(test_errors_with_good_status),
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_detail_is_bounded),
        cmocka_unit_test(test_detail_of_just_the_length),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests_name("canary judge", tests, NULL, NULL);
}
