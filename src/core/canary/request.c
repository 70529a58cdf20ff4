/* SPDX-License-Identifier: MIT */
#include "core/canary/request.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/str.h"
#include "core/canary/prompt.h"

/* Digits that show a temperature as the operator wrote it: 0.6, not 0.59999999999999998. */
#define REAL_DIGITS 6
/* A second document for rankers, which has nothing to do with the first. */
#define OTHER_DOCUMENT "The ship left the harbour at dawn"
/* Where an API's path has the model in it. */
#define MODEL_MARK "{model}"

/* A body on its way; a failed allocation is remembered. */
struct body {
    const struct canary_config *canary;
    const char *model;  /* as the server names it, or NULL */
    const char *prompt;
    json_t *root;
    bool failed;
};

/* What an API calls the parameters of sampling; NULL: it has no such thing. */
struct dialect {
    const char *max_tokens, *top_k, *min_p, *repetition, *presence;
};

static const struct dialect openai = {"max_tokens", "top_k", "min_p", "repetition_penalty",
                                      "presence_penalty"};
static const struct dialect sglang = {"max_new_tokens", "top_k", "min_p", "repetition_penalty",
                                      "presence_penalty"};
static const struct dialect tgi = {"max_new_tokens", "top_k", NULL, "repetition_penalty", NULL};
static const struct dialect llama = {"n_predict", "top_k", "min_p", "repeat_penalty", "presence_penalty"};
static const struct dialect ollama = {"num_predict", "top_k", "min_p", "repeat_penalty",
                                      "presence_penalty"};
static const struct dialect triton = {"max_tokens", "top_k", NULL, "repetition_penalty",
                                      "presence_penalty"};

void canary_request_release(struct canary_request *r)
{
    free(r->path);
    free(r->body);
    *r = (struct canary_request){};
}

/* Pieces */

/* A NULL key is one that the API does not have; a NULL value is memory that ran out. */
static void put(struct body *b, json_t *object, const char *key, json_t *value)
{
    if (!key)
        json_decref(value);
    else if (json_object_set_new(object, key, value) < 0)
        b->failed = true;
}

/* JSON knows no invalid UTF-8, a configuration file may. */
static json_t *text(const char *s)
{
    _cleanup_free_ char *clean = utf8_sanitize(str_or_empty(s), strlen(str_or_empty(s)));

    return clean ? json_string(clean) : NULL;
}

/* A new object in `object`, borrowed. */
static json_t *put_object(struct body *b, json_t *object, const char *key)
{
    put(b, object, key, json_object());
    return json_object_get(object, key);
}

/* What is below 0 (or no number) is left to the server. */
static void put_real(struct body *b, json_t *object, const char *key, double value)
{
    if (key && value >= 0 && isfinite(value))
        put(b, object, key, json_real(value));
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t) MIN(value, (uint64_t) INT64_MAX));
}

static void put_limit(struct body *b, json_t *object, const struct dialect *d)
{
    put(b, object, d->max_tokens, number(b->canary->max_tokens));
}

static void put_choice(struct body *b, json_t *object, const struct dialect *d)
{
    const struct canary_config *c = b->canary;

    put_real(b, object, "top_p", c->top_p);
    if (c->top_k > 0)
        put(b, object, d->top_k, number(c->top_k));
    put_real(b, object, d->min_p, c->min_p);
    put_real(b, object, d->repetition, c->repetition_penalty);
    put_real(b, object, "frequency_penalty", c->frequency_penalty);
    put_real(b, object, d->presence, c->presence_penalty);
}

static void put_sampling(struct body *b, json_t *object, const struct dialect *d)
{
    put_limit(b, object, d);
    put_real(b, object, "temperature", b->canary->temperature);
    put_choice(b, object, d);
}

static void put_model(struct body *b)
{
    if (b->model)
        put(b, b->root, "model", text(b->model));
}

static void put_messages(struct body *b)
{
    put(b, b->root, "messages", json_pack("[{s:s, s:s}]", "role", "user", "content", b->prompt));
}

/* The configuration has made sure that it is JSON: only memory can be lacking. */
static json_t *schema_of(const struct body *b)
{
    return json_loads(b->canary->schema, 0, NULL);
}

static void put_schema(struct body *b, json_t *object, const char *key)
{
    if (b->canary->schema)
        put(b, object, key, schema_of(b));
}

/* APIs */

static void fill_openai(struct body *b)
{
    put_sampling(b, b->root, &openai);
    put(b, b->root, "stream", json_boolean(b->canary->stream));
    if (b->canary->stream)
        put(b, b->root, "stream_options", json_pack("{s:b}", "include_usage", 1));
    if (b->canary->schema)
        put(b, b->root, "response_format",
            json_pack("{s:s, s:{s:s, s:b, s:o}}", "type", "json_schema", "json_schema", "name", "canary",
                      "strict", 1, "schema", schema_of(b)));
}

static void fill_chat(struct body *b)
{
    put_model(b);
    put_messages(b);
    fill_openai(b);
    if (b->canary->logprobs)
        put(b, b->root, "logprobs", json_true());
}

static void fill_completions(struct body *b)
{
    put_model(b);
    put(b, b->root, "prompt", text(b->prompt));
    fill_openai(b);
    if (b->canary->logprobs)
        put(b, b->root, "logprobs", json_integer(1));
}

static void fill_embeddings(struct body *b)
{
    put_model(b);
    put(b, b->root, "input", text(b->prompt));
}

static void fill_rerank(struct body *b)
{
    put_model(b);
    put(b, b->root, "query", text(b->prompt));
    put(b, b->root, "documents", json_pack("[s, s]", b->prompt, OTHER_DOCUMENT));
}

static void fill_sglang(struct body *b)
{
    json_t *sampling = put_object(b, b->root, "sampling_params");

    put(b, b->root, "text", text(b->prompt));
    put_sampling(b, sampling, &sglang);
    if (b->canary->schema)
        put(b, sampling, "json_schema", text(b->canary->schema));
    if (b->canary->model)
        put(b, b->root, "lora_path", text(b->canary->model));
    put(b, b->root, "stream", json_boolean(b->canary->stream));
    if (b->canary->logprobs)
        put(b, b->root, "return_logprob", json_true());
}

/* It takes no temperature of 0. */
static void fill_tgi(struct body *b)
{
    json_t *parameters = put_object(b, b->root, "parameters");
    bool samples = b->canary->temperature > 0;

    put(b, b->root, "inputs", text(b->prompt));
    put_limit(b, parameters, &tgi);
    put(b, parameters, "do_sample", json_boolean(samples));
    if (samples)
        put_real(b, parameters, "temperature", b->canary->temperature);
    put_choice(b, parameters, &tgi);
    put(b, parameters, "details", json_true());
    if (b->canary->schema)
        put(b, parameters, "grammar", json_pack("{s:s, s:o}", "type", "json", "value", schema_of(b)));
    if (b->canary->model)
        put(b, parameters, "adapter_id", text(b->canary->model));
}

static void fill_llama(struct body *b)
{
    put(b, b->root, "prompt", text(b->prompt));
    put_sampling(b, b->root, &llama);
    put(b, b->root, "stream", json_boolean(b->canary->stream));
    put_schema(b, b->root, "json_schema");
    if (b->canary->logprobs)
        put(b, b->root, "n_probs", json_integer(1));
}

/* What the model has as an input is one at the top, as with TensorRT-LLM; vLLM's backend reads the
 * parameters. */
static void fill_triton_generate(struct body *b)
{
    json_t *parameters = put_object(b, b->root, "parameters");

    put(b, b->root, "text_input", text(b->prompt));
    put_sampling(b, b->root, &triton);
    put_sampling(b, parameters, &triton);
    put(b, parameters, "stream", json_boolean(b->canary->stream));
}

static json_t *triton_input(const char *name, const char *type, json_t *value)
{
    return json_pack("{s:s, s:[i, i], s:s, s:[o]}", "name", name, "shape", 1, 1, "datatype", type, "data",
                     value);
}

static void fill_triton_infer(struct body *b)
{
    json_t *inputs = json_pack("[o, o]", triton_input("text_input", "BYTES", text(b->prompt)),
                               triton_input("max_tokens", "INT32", number(b->canary->max_tokens)));

    put(b, b->root, "inputs", inputs);
    put(b, b->root, "outputs", json_pack("[{s:s}]", "name", "text_output"));
}

/* It streams unless it is told not to. */
static void fill_ollama(struct body *b)
{
    put_model(b);
    put(b, b->root, "stream", json_boolean(b->canary->stream));
    put_sampling(b, put_object(b, b->root, "options"), &ollama);
    put_schema(b, b->root, "format");
}

static void fill_ollama_generate(struct body *b)
{
    put(b, b->root, "prompt", text(b->prompt));
    fill_ollama(b);
}

static void fill_ollama_chat(struct body *b)
{
    put_messages(b);
    fill_ollama(b);
}

static const struct {
    const char *path, *stream_path; /* the second NULL: the same */
    void (*fill)(struct body *b);   /* NULL: no body of its own */
} apis[] = {
    [CANARY_CHAT] = {"/v1/chat/completions", NULL, fill_chat},
    [CANARY_COMPLETIONS] = {"/v1/completions", NULL, fill_completions},
    [CANARY_EMBEDDINGS] = {"/v1/embeddings", NULL, fill_embeddings},
    [CANARY_RERANK] = {"/v1/rerank", NULL, fill_rerank},
    [CANARY_SGLANG_GENERATE] = {"/generate", NULL, fill_sglang},
    [CANARY_TGI_GENERATE] = {"/generate", "/generate_stream", fill_tgi},
    [CANARY_LLAMA_COMPLETION] = {"/completion", NULL, fill_llama},
    [CANARY_TRITON_GENERATE] = {"/v2/models/" MODEL_MARK "/generate",
                                "/v2/models/" MODEL_MARK "/generate_stream", fill_triton_generate},
    [CANARY_TRITON_INFER] = {"/v2/models/" MODEL_MARK "/infer", NULL, fill_triton_infer},
    [CANARY_OLLAMA_GENERATE] = {"/api/generate", NULL, fill_ollama_generate},
    [CANARY_OLLAMA_CHAT] = {"/api/chat", NULL, fill_ollama_chat},
    [CANARY_RAW] = {"/", NULL, NULL},
};

/* The whole */

static void append_escaped(struct strbuf *b, const char *s)
{
    for (; *s != '\0'; s++) {
        if (isalnum((unsigned char) *s) || strchr("-._~", *s))
            strbuf_append_char(b, *s);
        else
            strbuf_appendf(b, "%%%02X", (unsigned) (unsigned char) *s);
    }
}

static int make_path(const struct canary_config *c, const char *model, char **ret, const char **ret_why)
{
    const char *usual = c->stream && apis[c->kind].stream_path ? apis[c->kind].stream_path
                                                               : apis[c->kind].path;
    const char *path = c->path ? c->path : usual;
    const char *mark = strstr(path, MODEL_MARK);
    struct strbuf b = {};

    if (mark && !model) {
        *ret_why = "its path needs the model's name, which is not known: set Server.Model=";
        return -EINVAL;
    }
    strbuf_append_n(&b, path, mark ? (size_t) (mark - path) : strlen(path));
    if (mark) {
        append_escaped(&b, model);
        strbuf_append(&b, mark + strlen(MODEL_MARK));
    }
    *ret = strbuf_steal(&b);
    return *ret ? 0 : -ENOMEM;
}

/* jansson takes many a failed allocation for a mistake in the text; errno knows. */
static int load_members(const char *bytes, size_t n, json_t **ret, const char **ret_why)
{
    json_auto_t *members = NULL;

    errno = 0;
    members = json_loadb(bytes, n, 0, NULL);
    if (!members && errno == ENOMEM)
        return -ENOMEM;
    if (!json_is_object(members)) {
        *ret_why = "what BodyFile= holds is no JSON object";
        return -EINVAL;
    }
    *ret = steal_pointer(&members);
    return 0;
}

static int add_members(struct body *b, const struct canary_inputs *in, const char **ret_why)
{
    const char *own = b->canary->body;
    json_auto_t *members = NULL;
    int r = 0;

    if (in->body)
        r = load_members(in->body, in->body_len, &members, ret_why);
    else if (own)
        r = load_members(own, strlen(own), &members, ret_why);
    if (r < 0 || !members)
        return r;
    return json_object_update_recursive(b->root, members) < 0 ? -ENOMEM : 0;
}

static int append(const char *bytes, size_t n, void *buffer)
{
    strbuf_append_n(buffer, bytes, n);
    return 0;
}

/* Not json_dumps(): where memory runs out on an object's key, it leaves the key out and goes on.
 * The buffer remembers. */
static int write_out(const json_t *object, struct canary_request *r)
{
    _cleanup_strbuf_ struct strbuf b = {};
    size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS);

    if (json_dump_callback(object, append, &b, flags) < 0 || b.failed)
        return -ENOMEM;
    r->body_len = b.len;
    r->body = strbuf_steal(&b);
    return 0;
}

static int make_json(const struct canary_config *c, const struct canary_inputs *in, const char *model,
                     struct canary_request *r, const char **ret_why)
{
    json_auto_t *root = json_object();
    _cleanup_free_ char *prompt = canary_prompt(c);
    struct body b = {.canary = c, .model = model, .prompt = prompt, .root = root};
    int error;

    if (!root || !prompt)
        return -ENOMEM;
    apis[c->kind].fill(&b);
    if (b.failed)
        return -ENOMEM;
    error = add_members(&b, in, ret_why);
    return error < 0 ? error : write_out(root, r);
}

/* As it stands, byte by byte. */
static int make_raw(const struct canary_config *c, const struct canary_inputs *in,
                    struct canary_request *r)
{
    const char *bytes = in->body ? in->body : c->body;
    size_t n = in->body ? in->body_len : strlen(str_or_empty(c->body));

    if (!bytes)
        return 0;
    r->body = malloc(n + 1);
    if (!r->body)
        return -ENOMEM;
    memcpy(r->body, bytes, n);
    r->body[n] = '\0';
    r->body_len = n;
    return 0;
}

int canary_build(const struct canary_config *c, const struct canary_inputs *in, struct canary_request *ret,
                 const char **ret_why)
{
    const char *model = c->model ? c->model : in->model;
    _cleanup_(canary_request_release) struct canary_request r = {};
    int error = make_path(c, model, &r.path, ret_why);

    if (error < 0)
        return error;
    if (apis[c->kind].fill)
        error = make_json(c, in, model, &r, ret_why);
    else
        error = make_raw(c, in, &r);
    if (error < 0)
        return error;
    r.method = c->method ? c->method : r.body ? "POST" : "GET";
    *ret = r;
    r = (struct canary_request){};
    return 0;
}
