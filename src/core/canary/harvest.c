/* SPDX-License-Identifier: MIT */
#include "core/canary/harvest.h"

#include <errno.h>
#include <math.h>

/* Longer names are no names. */
#define NAME_MAX_BYTES ((size_t) 1024)

void harvest_release(struct harvest *h)
{
    strbuf_release(&h->text);
    strbuf_release(&h->thoughts);
    free(h->model);
    free(h->finish);
    *h = (struct harvest){};
}

/* Pieces */

static void keep(struct harvest *h, struct strbuf *b, const char *text, size_t n)
{
    size_t room = HARVEST_TEXT_MAX - MIN(b->len, HARVEST_TEXT_MAX);

    h->text_bytes += n;
    h->pieces += n > 0;
    strbuf_append_n(b, text, n <= room ? n : utf8_cut(text, n, room));
}

int harvest_add_text(struct harvest *h, const char *text, size_t n)
{
    keep(h, &h->text, text, n);
    return h->text.failed ? -ENOMEM : 0;
}

static void take_text(struct harvest *h, const json_t *value)
{
    keep(h, &h->text, str_or_empty(json_string_value(value)), json_string_length(value));
}

static void take_thought(struct harvest *h, const json_t *value)
{
    keep(h, &h->thoughts, str_or_empty(json_string_value(value)), json_string_length(value));
}

/* Some engines send all of the text so far with each event. */
static void take_growing_text(struct harvest *h, const json_t *value)
{
    const char *text = str_or_empty(json_string_value(value));
    size_t n = json_string_length(value), known = MIN(h->taken, h->text.len);
    bool grows = n >= h->taken && memcmp(text, str_or_empty(h->text.data), known) == 0;
    size_t old = grows ? h->taken : 0;

    keep(h, &h->text, text + old, n - old);
    h->taken = grows ? n : h->taken + n;
}

/* What the library cannot make sense of stays 0. */
static uint64_t count(const json_t *value)
{
    json_int_t n = json_integer_value(value);

    return n > 0 ? (uint64_t) n : 0;
}

/* Of counts that grow with a stream, the last. */
static void take_count(struct harvest *h, const json_t *value)
{
    h->counted = MAX(h->counted, count(value));
}

/* Names go into messages: what is no name is left out. */
static int take_name(char **name, const json_t *value)
{
    const char *s = json_string_value(value);
    size_t n = json_string_length(value);

    return n > 0 && n <= NAME_MAX_BYTES && strlen(s) == n ? str_replace(name, s) : 0;
}

static bool is_finite(const json_t *value)
{
    return json_is_number(value) && isfinite(json_number_value(value));
}

/* orjson writes null for a number that is none. */
static void take_number(struct harvest *h, const json_t *value)
{
    if (value && !is_finite(value))
        h->not_finite = true;
}

static void take_numbers(struct harvest *h, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        take_number(h, json_array_get(array, i));
}

/* Each item's own log-probability. */
static void take_logprobs(struct harvest *h, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        take_number(h, json_object_get(json_array_get(array, i), "logprob"));
}

/* OpenAI: chat and completions */

static void take_content_parts(struct harvest *h, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        take_text(h, json_object_get(json_array_get(array, i), "text"));
}

/* The name and the arguments of a tool are generated, too. */
static void take_tool_calls(struct harvest *h, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *function = json_object_get(json_array_get(array, i), "function");

        take_text(h, json_object_get(function, "name"));
        take_text(h, json_object_get(function, "arguments"));
    }
}

/* With a reasoning model the first tokens are in one of the other fields, `content` being empty. */
static void take_message(struct harvest *h, const json_t *message)
{
    static const char *const thoughts[] = {"reasoning_content", "reasoning", "thinking"};
    const json_t *content = json_object_get(message, "content");

    take_text(h, content);
    take_content_parts(h, content);
    take_tool_calls(h, json_object_get(message, "tool_calls"));
    for (size_t i = 0; i < ARRAY_SIZE(thoughts); i++)
        take_thought(h, json_object_get(message, thoughts[i]));
}

static int take_choice(struct harvest *h, const json_t *choice)
{
    const json_t *logprobs = json_object_get(choice, "logprobs");

    take_text(h, json_object_get(choice, "text"));
    take_message(h, json_object_get(choice, "message"));
    take_message(h, json_object_get(choice, "delta"));
    take_logprobs(h, json_object_get(logprobs, "content"));
    take_numbers(h, json_object_get(logprobs, "token_logprobs"));
    return take_name(&h->finish, json_object_get(choice, "finish_reason"));
}

static void take_usage(struct harvest *h, const json_t *usage)
{
    const json_t *details = json_object_get(usage, "completion_tokens_details");

    take_count(h, json_object_get(usage, "completion_tokens"));
    if (count(json_object_get(details, "reasoning_tokens")) > 0 ||
        count(json_object_get(usage, "reasoning_tokens")) > 0)
        h->hidden = true;
}

/* The last event of a stream has no choices, but the usage. */
static int take_openai(struct harvest *h, bool streamed, const json_t *root)
{
    const json_t *choices = json_object_get(root, "choices");
    int r = take_name(&h->model, json_object_get(root, "model"));

    if (json_array_size(choices) > 0 || (streamed && json_is_array(choices)))
        h->recognised = true;
    take_usage(h, json_object_get(root, "usage"));
    for (size_t i = 0; r == 0 && i < json_array_size(choices); i++)
        r = take_choice(h, json_array_get(choices, i));
    return r;
}

/* Vectors and scores */

static bool is_zero(const json_t *vector)
{
    for (size_t i = 0; i < json_array_size(vector); i++) {
        if (fpclassify(json_number_value(json_array_get(vector, i))) != FP_ZERO)
            return false;
    }
    return true;
}

/* As numbers, or packed into base64, which is not looked into. */
static void take_vector(struct harvest *h, const json_t *vector)
{
    if (json_array_size(vector) > 0) {
        take_numbers(h, vector);
        h->zeros = h->zeros || is_zero(vector);
        h->results++;
    } else if (json_string_length(vector) > 0) {
        h->results++;
    }
}

/* "data" is OpenAI's, "embeddings" Ollama's; text-embeddings-inference sends the list itself. */
static int take_embeddings(struct harvest *h, bool streamed unused, const json_t *root)
{
    const json_t *data = json_object_get(root, "data"), *list = json_object_get(root, "embeddings");

    if (json_is_array(root))
        list = root;
    h->recognised = h->recognised || json_is_array(data) || json_is_array(list);
    for (size_t i = 0; i < json_array_size(data); i++)
        take_vector(h, json_object_get(json_array_get(data, i), "embedding"));
    for (size_t i = 0; i < json_array_size(list); i++)
        take_vector(h, json_array_get(list, i));
    return take_name(&h->model, json_object_get(root, "model"));
}

static void take_score(struct harvest *h, const json_t *item)
{
    static const char *const keys[] = {"relevance_score", "score"};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const json_t *score = json_object_get(item, keys[i]);

        take_number(h, score);
        h->results += score != NULL;
    }
}

/* "results" is what most have, "data" vLLM's score API; SGLang sends the list itself. */
static int take_scores(struct harvest *h, bool streamed unused, const json_t *root)
{
    const json_t *list = json_object_get(root, "results");

    if (!list)
        list = json_is_array(root) ? root : json_object_get(root, "data");
    h->recognised = h->recognised || json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++)
        take_score(h, json_array_get(list, i));
    return take_name(&h->model, json_object_get(root, "model"));
}

/* Engines' own */

/* {"finish_reason": {"type": "length", "length": 16}}, or only the word. */
static int take_finish(struct harvest *h, const json_t *value)
{
    return take_name(&h->finish, json_is_object(value) ? json_object_get(value, "type") : value);
}

/* [[logprob, token, text], ...] */
static void take_token_rows(struct harvest *h, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        take_number(h, json_array_get(json_array_get(array, i), 0));
}

static int take_sglang(struct harvest *h, bool streamed unused, const json_t *root)
{
    const json_t *text = json_object_get(root, "text"), *meta = json_object_get(root, "meta_info");

    h->recognised = h->recognised || json_is_string(text);
    take_growing_text(h, text);
    take_count(h, json_object_get(meta, "completion_tokens"));
    take_token_rows(h, json_object_get(meta, "output_token_logprobs"));
    return take_finish(h, json_object_get(meta, "finish_reason"));
}

/* The last event repeats the whole text. */
static int take_tgi(struct harvest *h, bool streamed, const json_t *root)
{
    const json_t *object = json_is_array(root) ? json_array_get(root, 0) : root;
    const json_t *text = json_object_get(object, "generated_text"), *token = json_object_get(object, "token");
    const json_t *details = json_object_get(object, "details");

    h->recognised = h->recognised || json_is_string(text) || json_is_object(token);
    h->finished = h->finished || json_is_string(text);
    if (!streamed)
        take_text(h, text);
    else if (!json_is_true(json_object_get(token, "special")))
        take_text(h, json_object_get(token, "text"));
    take_number(h, json_object_get(token, "logprob"));
    take_logprobs(h, json_object_get(details, "tokens"));
    take_count(h, json_object_get(details, "generated_tokens"));
    return take_finish(h, json_object_get(details, "finish_reason"));
}

static int take_llama(struct harvest *h, bool streamed unused, const json_t *root)
{
    const json_t *content = json_object_get(root, "content");
    int r = take_name(&h->model, json_object_get(root, "model"));

    h->recognised = h->recognised || json_is_string(content);
    h->finished = h->finished || json_is_true(json_object_get(root, "stop"));
    take_text(h, content);
    take_count(h, json_object_get(root, "tokens_predicted"));
    take_logprobs(h, json_object_get(root, "completion_probabilities"));
    return r < 0 ? r : take_name(&h->finish, json_object_get(root, "stop_type"));
}

/* A tensor comes as its value where it has one only. */
static int take_triton_generate(struct harvest *h, bool streamed unused, const json_t *root)
{
    const json_t *output = json_object_get(root, "text_output");

    h->recognised = h->recognised || json_is_string(output) || json_is_array(output);
    take_text(h, output);
    for (size_t i = 0; i < json_array_size(output); i++)
        take_text(h, json_array_get(output, i));
    return take_name(&h->model, json_object_get(root, "model_name"));
}

static void take_tensor(struct harvest *h, const json_t *data)
{
    for (size_t i = 0; i < json_array_size(data); i++) {
        const json_t *value = json_array_get(data, i);

        if (json_is_string(value))
            take_text(h, value);
        else if (!json_is_boolean(value) && !json_is_array(value))
            take_number(h, value);
    }
    h->results += json_array_size(data) > 0;
}

static int take_triton_infer(struct harvest *h, bool streamed unused, const json_t *root)
{
    const json_t *outputs = json_object_get(root, "outputs");

    h->recognised = h->recognised || json_is_array(outputs);
    for (size_t i = 0; i < json_array_size(outputs); i++)
        take_tensor(h, json_object_get(json_array_get(outputs, i), "data"));
    return take_name(&h->model, json_object_get(root, "model_name"));
}

static int take_ollama(struct harvest *h, bool streamed unused, const json_t *root)
{
    int r = take_name(&h->model, json_object_get(root, "model"));

    h->recognised = h->recognised || json_is_boolean(json_object_get(root, "done"));
    h->finished = h->finished || json_is_true(json_object_get(root, "done"));
    take_text(h, json_object_get(root, "response"));
    take_thought(h, json_object_get(root, "thinking"));
    take_message(h, json_object_get(root, "message"));
    take_count(h, json_object_get(root, "eval_count"));
    return r < 0 ? r : take_name(&h->finish, json_object_get(root, "done_reason"));
}

/* Nobody knows what it is: whatever looks like generated text and its count. */
static int take_anything(struct harvest *h, bool streamed, const json_t *root)
{
    int r = take_openai(h, streamed, root);

    if (r == 0)
        r = take_ollama(h, streamed, root);
    if (r == 0)
        r = take_llama(h, streamed, root);
    if (r == 0)
        r = take_triton_generate(h, streamed, root);
    if (r == 0)
        r = take_tgi(h, streamed, root);
    if (r == 0)
        r = take_sglang(h, streamed, root);
    h->recognised = true;
    return r;
}

static int take(struct harvest *h, enum canary_kind kind, bool streamed, const json_t *root)
{
    switch (kind) {
    case CANARY_CHAT:
    case CANARY_COMPLETIONS:
        return take_openai(h, streamed, root);
    case CANARY_EMBEDDINGS:
        return take_embeddings(h, streamed, root);
    case CANARY_RERANK:
        return take_scores(h, streamed, root);
    case CANARY_SGLANG_GENERATE:
        return take_sglang(h, streamed, root);
    case CANARY_TGI_GENERATE:
        return take_tgi(h, streamed, root);
    case CANARY_LLAMA_COMPLETION:
        return take_llama(h, streamed, root);
    case CANARY_TRITON_GENERATE:
        return take_triton_generate(h, streamed, root);
    case CANARY_TRITON_INFER:
        return take_triton_infer(h, streamed, root);
    case CANARY_OLLAMA_GENERATE:
    case CANARY_OLLAMA_CHAT:
        return take_ollama(h, streamed, root);
    case CANARY_RAW:
        break;
    }
    return take_anything(h, streamed, root);
}

int harvest_add(struct harvest *h, enum canary_kind kind, bool streamed, const json_t *root)
{
    int r = take(h, kind, streamed, root);

    return r < 0 ? r : h->text.failed || h->thoughts.failed ? -ENOMEM : 0;
}
