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

/* The name to ask by, NULL when the list has none that will do. */
static const char *choose(const json_t *list, const char *wanted)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);

        if (wanted && answers_to(entry, wanted))
            return wanted;
        if (!wanted && model_name(entry))
            return model_name(entry);
    }
    return NULL;
}

static enum verdict pick(const json_t *root, const char *wanted, const char **ret)
{
    const json_t *list = json_object_get(root, "data");

    if (!json_is_array(list))
        list = json_object_get(root, "models");
    if (!json_is_array(list))
        return VERDICT_BAD_JSON;
    if (json_array_size(list) == 0)
        return VERDICT_NOT_READY;
    *ret = choose(list, wanted);
    if (*ret)
        return VERDICT_GENERATED;
    return wanted ? VERDICT_WRONG_MODEL : VERDICT_BAD_JSON;
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
