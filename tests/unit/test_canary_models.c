/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <jansson.h>

#include "base/str.h"
#include "chaos.h"
#include "core/canary/models.h"

static struct http_answer answer(long status, const char *body)
{
    return (struct http_answer){.outcome = HTTP_COMPLETE,
                                .status = status,
                                .body = body,
                                .body_len = strlen(body)};
}

struct pick_row {
    const char *wanted;
    long status;
    const char *body;
    enum verdict verdict;
    const char *model;
};

static void pick_rows(const struct pick_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct http_answer a = answer(rows[i].status, rows[i].body);
        enum verdict verdict = N_VERDICTS;
        char *model = NULL;

        assert_int_equal(canary_pick_model(rows[i].wanted, &a, &model, &verdict), 0);
        if (verdict != rows[i].verdict || !str_equal(model, rows[i].model))
            fail_msg("%s of %ld %s: %s, %s", str_or_empty(rows[i].wanted), rows[i].status,
                     rows[i].body, verdict_name(verdict), model ? model : "(none)");
        free(model);
    }
}

#define PICK(...)                                            \
    do {                                                     \
        static const struct pick_row rows[] = {__VA_ARGS__}; \
        pick_rows(rows, ARRAY_SIZE(rows));                   \
    } while (0)

static void picks_the_first(void **state unused)
{
    PICK({NULL, 200, "{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}",
          VERDICT_GENERATED, "a"},
         {NULL, 200,
          "{\"data\":[{},7,null,{\"id\":\"\"},{\"id\":\"a\\u0000b\"},{\"id\":5},{\"id\":\"c\"}]}",
          VERDICT_GENERATED, "c"},
         {NULL, 200, "{\"models\":[{\"name\":\"llama3:latest\",\"model\":\"llama3:latest\"}]}",
          VERDICT_GENERATED, "llama3:latest"},
         {NULL, 200, "{\"models\":[{\"name\":\"x\"}],\"data\":[{\"id\":\"a\"}]}", VERDICT_GENERATED,
          "a"});
}

static void picks_the_wanted(void **state unused)
{
    PICK({"b", 200, "{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}", VERDICT_GENERATED, "b"},
         {"a", 200, "{\"data\":[{\"id\":\"ab\"},{\"id\":\"A\"}]}", VERDICT_WRONG_MODEL, NULL},
         {"ab", 200, "{\"data\":[{\"id\":\"a\"}]}", VERDICT_WRONG_MODEL, NULL},
         {"llama3", 200, "{\"data\":[{\"id\":\"llama3:latest\"}]}", VERDICT_GENERATED, "llama3"},
         {"llama3", 200, "{\"data\":[{\"id\":\"llama3:8b\"}]}", VERDICT_WRONG_MODEL, NULL},
         {"kimi", 200, "{\"data\":[{\"id\":\"/srv/kimi.gguf\",\"aliases\":[7,\"k\",\"kimi\"]}]}",
          VERDICT_GENERATED, "kimi"});
}

/* Triton's repository, and what text-generation-inference says of itself. */
static void other_lists(void **state unused)
{
    PICK({NULL, 200, "[{\"name\":\"a\",\"state\":\"UNAVAILABLE\"},{\"name\":\"b\",\"state\":\"READY\"}]",
          VERDICT_GENERATED, "b"},
         {"a", 200, "[{\"name\":\"a\",\"state\":\"LOADING\"},{\"name\":\"b\",\"state\":\"READY\"}]",
          VERDICT_NOT_READY, NULL},
         {"b", 200, "[{\"name\":\"b\",\"version\":\"1\"}]", VERDICT_GENERATED, "b"},
         {NULL, 200, "[{\"name\":\"a\",\"state\":\"LOADING\"}]", VERDICT_NOT_READY, NULL},
         {NULL, 200, "[]", VERDICT_NOT_READY, NULL},
         {NULL, 200, "{\"model_id\":\"org/m\",\"version\":\"3\"}", VERDICT_GENERATED, "org/m"},
         {"org/m", 200, "{\"model_id\":\"org/m\"}", VERDICT_GENERATED, "org/m"},
         {"x", 200, "{\"model_id\":\"org/m\"}", VERDICT_WRONG_MODEL, NULL});
}

static void no_usable_list(void **state unused)
{
    PICK({NULL, 200, "{\"data\":[]}", VERDICT_NOT_READY, NULL},
         {"a", 200, "{\"data\":[]}", VERDICT_NOT_READY, NULL},
         {NULL, 200, "{}", VERDICT_BAD_JSON, NULL},
         {NULL, 200, "{\"data\":{\"id\":\"a\"}}", VERDICT_BAD_JSON, NULL},
         {NULL, 200, "{\"data\":[{\"id\":7}]}", VERDICT_BAD_JSON, NULL},
         {NULL, 200, "", VERDICT_BAD_JSON, NULL},
         {NULL, 503, "{\"error\":{\"message\":\"Loading model\"}}", VERDICT_NOT_READY, NULL},
         {NULL, 401, "", VERDICT_AUTH_REQUIRED, NULL}, {"a", 401, "", VERDICT_AUTH_REQUIRED, NULL},
         {NULL, 404, "", VERDICT_HTTP_4XX, NULL}, {"a", 404, "", VERDICT_GENERATED, "a"},
         {"a", 500, "", VERDICT_HTTP_5XX, NULL});
}

static void endless_name_is_no_name(void **state unused)
{
    _cleanup_strbuf_ struct strbuf body = {};
    struct http_answer a;
    enum verdict verdict;
    char *model = NULL;

    strbuf_append(&body, "{\"data\":[{\"id\":\"");
    for (int i = 0; i < 1025; i++)
        strbuf_append_char(&body, 'm');
    strbuf_append(&body, "\"}]}");
    a = answer(200, body.data);
    assert_int_equal(canary_pick_model(NULL, &a, &model, &verdict), 0);
    assert_int_equal(verdict, VERDICT_BAD_JSON);
    assert_null(model);
}

static int pick_once(void *data)
{
    struct http_answer a =
        answer(200, "{\"data\":[{\"id\":\"a\",\"aliases\":[\"b\"]},{\"id\":\"c\"}]}");
    enum verdict verdict = N_VERDICTS;
    char *model = NULL;
    int r = canary_pick_model(data, &a, &model, &verdict);

    assert_true(r == 0 ? verdict == VERDICT_GENERATED && model : verdict == N_VERDICTS && !model);
    free(model);
    return r;
}

static void out_of_memory(void **state unused)
{
    static char wanted[] = "b";

    json_set_alloc_funcs(chaos_malloc, free);
    chaos_each(pick_once, wanted);
    chaos_each(pick_once, NULL);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_the_first),
        cmocka_unit_test(picks_the_wanted),
        cmocka_unit_test(other_lists),
        cmocka_unit_test(no_usable_list),
        cmocka_unit_test(endless_name_is_no_name),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests_name("canary models", tests, NULL, NULL);
}
