/* SPDX-License-Identifier: MIT */
#include "core/canary/models.h"

#include <errno.h>

#include "base/str.h"

/* Longer names of models are no names. */
#define MODEL_NAME_MAX 1024

/* NULL for what cannot be a name. */
static const char *usable_name(const json_t *value)
{
    const char *s = json_string_value(value);
    size_t n = json_string_length(value);

    return n > 0 && n <= MODEL_NAME_MAX && strlen(s) == n ? s : NULL;
}

static const char *model_name(const json_t *entry)
{
    const char *id = usable_name(json_object_get(entry, "id"));

    return id ? id : usable_name(json_object_get(entry, "name"));
}

/* Ollama's names end in a tag that may be left out. */
static bool is_called(const char *name, const char *wanted)
{
    const char *tag = name ? str_after(name, wanted) : NULL;

    return tag && (*tag == '\0' || str_equal(tag, ":latest"));
}

static bool answers_to(const json_t *entry, const char *wanted)
{
    const json_t *aliases = json_object_get(entry, "aliases");

    if (is_called(model_name(entry), wanted))
        return true;
    for (size_t i = 0; i < json_array_size(aliases); i++) {
        if (is_called(json_string_value(json_array_get(aliases, i)), wanted))
            return true;
    }
    return false;
}

/* Triton's repository has models that are being loaded, and such as could not be. */
static bool is_loaded(const json_t *entry)
{
    const json_t *state = json_object_get(entry, "state");

    return !state || str_equal(json_string_value(state), "READY");
}

/* WRONG_MODEL: it is not in the list; NOT_READY: it is, but cannot be asked yet. */
static enum verdict choose(const json_t *list, const char *wanted, const char **ret)
{
    enum verdict verdict = wanted ? VERDICT_WRONG_MODEL : VERDICT_BAD_JSON;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        bool fits = wanted ? answers_to(entry, wanted) : model_name(entry) != NULL;

        if (fits && is_loaded(entry)) {
            *ret = wanted ? wanted : model_name(entry);
            return VERDICT_GENERATED;
        }
        if (fits)
            verdict = VERDICT_NOT_READY;
    }
    return verdict;
}

/* "data" is OpenAI's, "models" Ollama's, the bare list Triton's. */
static const json_t *list_in(const json_t *root)
{
    const json_t *list = json_is_array(root) ? root : json_object_get(root, "data");

    return json_is_array(list) ? list : json_object_get(root, "models");
}

static enum verdict pick(const json_t *root, const char *wanted, const char **ret)
{
    const json_t *list = list_in(root);
    const char *only = usable_name(json_object_get(root, "model_id"));

    if (only) {
        *ret = wanted ? wanted : only;
        return !wanted || is_called(only, wanted) ? VERDICT_GENERATED : VERDICT_WRONG_MODEL;
    }
    if (!json_is_array(list))
        return VERDICT_BAD_JSON;
    return json_array_size(list) == 0 ? VERDICT_NOT_READY : choose(list, wanted, ret);
}

int canary_pick_model(const char *wanted, const struct http_answer *answer, char **ret,
                      enum verdict *ret_verdict)
{
    _cleanup_(answer_release) struct answer a = {};
    const char *name = NULL;
    int r = answer_open(answer, &a);

    if (r < 0)
        return r;
    if (a.verdict == VERDICT_GENERATED) {
        a.verdict = pick(a.root, wanted, &name);
    } else if (a.verdict == VERDICT_HTTP_4XX && wanted) {
        a.verdict = VERDICT_GENERATED;
        name = wanted;
    }
    if (a.verdict == VERDICT_GENERATED) {
        char *copy = strdup(name);

        if (!copy)
            return -ENOMEM;
        *ret = copy;
    }
    *ret_verdict = a.verdict;
    return 0;
}
