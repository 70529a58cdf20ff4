/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <jansson.h>

#include "base/str.h"
#include "canaries.h"
#include "chaos.h"
#include "core/canary/prompt.h"
#include "core/canary/request.h"

struct row {
    const char *name;
    const char *lines; /* of the canary */
    const char *model;
    const char *file; /* what BodyFile= holds */
    const char *method, *path, *body;
};

static void check(const struct row *row)
{
    _cleanup_(config_freep) struct config *config = canaries_parse(row->lines);
    const struct canary_inputs in = {
        .model = row->model,
        .body = row->file,
        .body_len = row->file ? strlen(row->file) : 0,
    };
    struct canary_request r = {};
    const char *why = NULL;

    assert_int_equal(canary_build(canaries_x(config), &in, &r, &why), 0);
    assert_row(row->name, str_equal(r.method, row->method));
    assert_row(row->name, str_equal(r.path, row->path));
    if (!str_equal(r.body, row->body))
        fail_msg("%s: %s", row->name, r.body ? r.body : "(none)");
    assert_row(row->name, r.body_len == strlen(str_or_empty(row->body)));
    canary_request_release(&r);
    assert_null(r.path);
    assert_null(r.body);
}

#define EVERYTHING                                                                   \
    "Prompt=Hi\nTemperature=0.6\nTopP=0.95\nTopK=40\nMinP=0.05\nRepetitionPenalty=1.1\n" \
    "FrequencyPenalty=0.2\nPresencePenalty=0.3\nMaxTokens=9\n"
#define SCHEMA "Schema={\"type\": \"object\"}\n"

static void bodies(void **state unused)
{
    static const struct row rows[] = {
        {"chat", "Prompt=Count \"from\" one\n", "org/model", NULL, "POST", "/v1/chat/completions",
         "{\"model\":\"org/model\",\"messages\":[{\"role\":\"user\",\"content\":\"Count \\\"from\\\" "
         "one\"}],\"max_tokens\":16,\"temperature\":0.0,\"stream\":false}"},
        {"chat with everything", EVERYTHING SCHEMA "Stream=yes\nLogprobs=yes\n", NULL, NULL, "POST",
         "/v1/chat/completions",
         "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":9,\"temperature\":0.6,"
         "\"top_p\":0.95,\"top_k\":40,\"min_p\":0.05,\"repetition_penalty\":1.1,"
         "\"frequency_penalty\":0.2,\"presence_penalty\":0.3,\"stream\":true,"
         "\"stream_options\":{\"include_usage\":true},\"response_format\":{\"type\":\"json_schema\","
         "\"json_schema\":{\"name\":\"canary\",\"strict\":true,\"schema\":{\"type\":\"object\"}}},"
         "\"logprobs\":true}"},
        {"completions", "Kind=completions\nPrompt=Hi\nLogprobs=yes\nModel=adapter\n", "m", NULL, "POST",
         "/v1/completions",
         "{\"model\":\"adapter\",\"prompt\":\"Hi\",\"max_tokens\":16,\"temperature\":0.0,"
         "\"stream\":false,\"logprobs\":1}"},
        {"another path and method", "Kind=completions\nPrompt=Hi\nPath=/x?y=1\nMethod=PUT\n", NULL, NULL,
         "PUT", "/x?y=1",
         "{\"prompt\":\"Hi\",\"max_tokens\":16,\"temperature\":0.0,\"stream\":false}"},
        {"embeddings", "Kind=embeddings\nPrompt=Hi\n", "m", NULL, "POST", "/v1/embeddings",
         "{\"model\":\"m\",\"input\":\"Hi\"}"},
        {"rerank", "Kind=rerank\nPrompt=Hi\n", "m", NULL, "POST", "/v1/rerank",
         "{\"model\":\"m\",\"query\":\"Hi\",\"documents\":[\"Hi\",\"The ship left the harbour at "
         "dawn\"]}"},
        {"sglang", "Kind=sglang-generate\n" EVERYTHING SCHEMA "Model=lora\nStream=yes\nLogprobs=yes\n",
         "m", NULL, "POST", "/generate",
         "{\"sampling_params\":{\"max_new_tokens\":9,\"temperature\":0.6,\"top_p\":0.95,\"top_k\":40,"
         "\"min_p\":0.05,\"repetition_penalty\":1.1,\"frequency_penalty\":0.2,"
         "\"presence_penalty\":0.3,\"json_schema\":\"{\\\"type\\\": \\\"object\\\"}\"},\"text\":\"Hi\","
         "\"lora_path\":\"lora\",\"stream\":true,\"return_logprob\":true}"},
        {"tgi", "Kind=tgi-generate\n" EVERYTHING SCHEMA "Model=lora\nStream=yes\n", "m", NULL, "POST",
         "/generate_stream",
         "{\"parameters\":{\"max_new_tokens\":9,\"do_sample\":true,\"temperature\":0.6,\"top_p\":0.95,"
         "\"top_k\":40,\"repetition_penalty\":1.1,\"frequency_penalty\":0.2,\"details\":true,"
         "\"grammar\":{\"type\":\"json\",\"value\":{\"type\":\"object\"}},\"adapter_id\":\"lora\"},"
         "\"inputs\":\"Hi\"}"},
        {"greedy tgi", "Kind=tgi-generate\nPrompt=Hi\n", NULL, NULL, "POST", "/generate",
         "{\"parameters\":{\"max_new_tokens\":16,\"do_sample\":false,\"details\":true},"
         "\"inputs\":\"Hi\"}"},
        {"llama", "Kind=llama-completion\n" EVERYTHING SCHEMA "Logprobs=yes\n", "m", NULL, "POST",
         "/completion",
         "{\"prompt\":\"Hi\",\"n_predict\":9,\"temperature\":0.6,\"top_p\":0.95,\"top_k\":40,"
         "\"min_p\":0.05,\"repeat_penalty\":1.1,\"frequency_penalty\":0.2,\"presence_penalty\":0.3,"
         "\"stream\":false,\"json_schema\":{\"type\":\"object\"},\"n_probs\":1}"},
        {"triton", "Kind=triton-generate\nPrompt=Hi\nTopK=2\n", "my model", NULL, "POST",
         "/v2/models/my%20model/generate",
         "{\"parameters\":{\"max_tokens\":16,\"temperature\":0.0,\"top_k\":2,\"stream\":false},"
         "\"text_input\":\"Hi\",\"max_tokens\":16,\"temperature\":0.0,\"top_k\":2}"},
        {"streamed triton", "Kind=triton-generate\nPrompt=Hi\nStream=yes\nModel=n\n", "m", NULL, "POST",
         "/v2/models/n/generate_stream",
         "{\"parameters\":{\"max_tokens\":16,\"temperature\":0.0,\"stream\":true},"
         "\"text_input\":\"Hi\",\"max_tokens\":16,\"temperature\":0.0}"},
        {"triton's inference", "Kind=triton-infer\nPrompt=Hi\n", "m", NULL, "POST", "/v2/models/m/infer",
         "{\"inputs\":[{\"name\":\"text_input\",\"shape\":[1,1],\"datatype\":\"BYTES\",\"data\":[\"Hi\"]},"
         "{\"name\":\"max_tokens\",\"shape\":[1,1],\"datatype\":\"INT32\",\"data\":[16]}],"
         "\"outputs\":[{\"name\":\"text_output\"}]}"},
        {"ollama", "Kind=ollama-generate\n" EVERYTHING SCHEMA, "m:8b", NULL, "POST", "/api/generate",
         "{\"prompt\":\"Hi\",\"model\":\"m:8b\",\"stream\":false,\"options\":{\"num_predict\":9,"
         "\"temperature\":0.6,\"top_p\":0.95,\"top_k\":40,\"min_p\":0.05,\"repeat_penalty\":1.1,"
         "\"frequency_penalty\":0.2,\"presence_penalty\":0.3},\"format\":{\"type\":\"object\"}}"},
        {"ollama's chat", "Kind=ollama-chat\nPrompt=Hi\nStream=yes\n", "m", NULL, "POST", "/api/chat",
         "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"model\":\"m\",\"stream\":true,"
         "\"options\":{\"num_predict\":16,\"temperature\":0.0}}"},
        {"raw", "Kind=raw\nPath=/health\n", "m", NULL, "GET", "/health", NULL},
        {"raw with a body", "Kind=raw\nPath=/x\nBody={\"a\": 1}\n", "m", NULL, "POST", "/x", "{\"a\": 1}"},
        {"raw from a file", "Kind=raw\nPath=/x\nMethod=PATCH\nBodyFile=/f\n", "m", "a,b\xff\n", "PATCH",
         "/x", "a,b\xff\n"},
        {"raw with the model in its path", "Kind=raw\nPath=/a/{model}/b\n", "\xc3\xa9/", NULL, "GET",
         "/a/%C3%A9%2F/b", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check(&rows[i]);
}

static void members_are_added(void **state unused)
{
    static const struct row rows[] = {
        {"added and replaced",
         "Kind=ollama-generate\nPrompt=Hi\nBody={\"stream\": true, \"options\": {\"num_ctx\": 4096}}\n",
         NULL, NULL, "POST", "/api/generate",
         "{\"prompt\":\"Hi\",\"stream\":true,\"options\":{\"num_predict\":16,\"temperature\":0.0,"
         "\"num_ctx\":4096}}"},
        {"from a file", "Kind=embeddings\nPrompt=Hi\nBodyFile=/f\n", NULL, " {\"input\":[\"a\"],\"b\":null}",
         "POST", "/v1/embeddings", "{\"input\":[\"a\"],\"b\":null}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check(&rows[i]);
}

static void odd_values(void **state unused)
{
    static char prompt[] = "\xc3\xa9\xff", hash[] = "m\xff";
    _cleanup_(config_freep) struct config *config = canaries_parse("Kind=completions\n");
    struct canary_config c = *canaries_x(config);
    const struct canary_inputs in = {.model = hash};
    struct canary_request r = {};
    const char *why = NULL;

    c.prompt = prompt;
    c.temperature = __builtin_nan("");
    c.top_p = __builtin_inf();
    c.max_tokens = UINT64_MAX;
    assert_int_equal(canary_build(&c, &in, &r, &why), 0);
    assert_string_equal(r.body, "{\"model\":\"m\xef\xbf\xbd\",\"prompt\":\"\xc3\xa9\xef\xbf\xbd\","
                                "\"max_tokens\":9223372036854775807,\"stream\":false}");
    canary_request_release(&r);
}

static void what_cannot_be_made(void **state unused)
{
    static const struct {
        const char *lines, *file, *why;
    } rows[] = {
        {"Kind=triton-generate\n", NULL,
         "its path needs the model's name, which is not known: set Server.Model="},
        {"BodyFile=/f\n", "[1]", "what BodyFile= holds is no JSON object"},
        {"BodyFile=/f\n", "{", "what BodyFile= holds is no JSON object"},
        {"BodyFile=/f\n", "", "what BodyFile= holds is no JSON object"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *config = canaries_parse(rows[i].lines);
        const struct canary_inputs in = {
            .body = rows[i].file,
            .body_len = strlen(str_or_empty(rows[i].file)),
        };
        struct canary_request r = {};
        const char *why = NULL;

        assert_int_equal(canary_build(canaries_x(config), &in, &r, &why), -EINVAL);
        assert_string_equal(why, rows[i].why);
        assert_null(r.body);
    }
}

static size_t count_words(const char *s)
{
    size_t n = 0;

    for (; *s != '\0'; s++)
        n += *s == ' ';
    return n;
}

static void long_prompts(void **state unused)
{
    static const struct {
        const char *lines;
        size_t words;
    } rows[] = {
        {"Prompt=Go\nPromptTokens=0\n", 0},
        {"Prompt=Go\nPromptTokens=1\n", 1},
        {"Prompt=Go\nPromptTokens=5000\n", 5000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *config = canaries_parse(rows[i].lines);
        _cleanup_free_ char *prompt = canary_prompt(canaries_x(config));

        assert_true(str_ends_with(prompt, "Go"));
        assert_row(rows[i].lines, count_words(prompt) == rows[i].words);
    }
}

/* What a model would be tempted to go on with: a part that comes again at once. */
static void long_prompts_do_not_repeat_themselves(void **state unused)
{
    _cleanup_(config_freep) struct config *config = canaries_parse("Prompt=Go\nPromptTokens=900\n");
    _cleanup_free_ char *prompt = canary_prompt(canaries_x(config));
    size_t n = strlen(prompt);

    for (size_t period = 1; period < 400; period++) {
        size_t same = 0, longest = 0;

        for (size_t i = period; i < n; i++) {
            same = prompt[i] == prompt[i - period] ? same + 1 : 0;
            longest = MAX(longest, same);
        }
        assert_true(longest < 2 * period + 16);
    }
}

static int build_once(void *data)
{
    const struct canary_inputs in = {.model = "model"};
    struct canary_request r = {};
    const char *why = NULL;
    int error = canary_build(data, &in, &r, &why);

    assert_true(error == 0 || (!r.path && !r.body));
    canary_request_release(&r);
    return error;
}

static void out_of_memory(void **state unused)
{
    static const char *const lines[] = {
        EVERYTHING SCHEMA "Stream=yes\nLogprobs=yes\n",
        "Kind=completions\nBody={\"a\":{\"b\":1}}\n",
        "Kind=rerank\n",
        "Kind=sglang-generate\n" SCHEMA "Model=l\n",
        "Kind=tgi-generate\n" SCHEMA "Model=l\n",
        "Kind=llama-completion\n" SCHEMA,
        "Kind=triton-generate\n",
        "Kind=triton-infer\n",
        "Kind=ollama-chat\n" SCHEMA,
        "Kind=raw\nPath=/\nBody={}\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        _cleanup_(config_freep) struct config *config = canaries_parse(lines[i]);

        json_set_alloc_funcs(chaos_malloc, free);
        chaos_each(build_once, (void *) (uintptr_t) canaries_x(config));
        json_set_alloc_funcs(malloc, free);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies),
        cmocka_unit_test(members_are_added),
        cmocka_unit_test(odd_values),
        cmocka_unit_test(what_cannot_be_made),
        cmocka_unit_test(long_prompts),
        cmocka_unit_test(long_prompts_do_not_repeat_themselves),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests_name("canary request", tests, NULL, NULL);
}
