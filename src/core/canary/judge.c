/* SPDX-License-Identifier: MIT */
#include "core/canary/judge.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"

void judgement_release(struct judgement *j)
{
    free(j->detail);
    *j = (struct judgement){};
}

/* What an answer carries of generated tokens. */
struct harvest {
    uint64_t counted; /* by the server; 0 where it does not say */
    size_t text;      /* bytes of generated text */
};

static uint64_t counted_tokens(const json_t *root)
{
    json_int_t n =
        json_integer_value(json_object_get(json_object_get(root, "usage"), "completion_tokens"));

    return n > 0 ? (uint64_t) n : 0;
}

/* With a reasoning model the first tokens are in one of the other fields, `content` being empty. */
static size_t text_of_choice(const json_t *choice)
{
    static const char *const keys[] = {"content", "reasoning_content", "reasoning"};
    const json_t *message = json_object_get(choice, "message");
    size_t n = json_string_length(json_object_get(choice, "text"));

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        n += json_string_length(json_object_get(message, keys[i]));
    return n;
}

static struct harvest harvest(const json_t *root, const json_t *choices)
{
    struct harvest h = {.counted = counted_tokens(root)};

    for (size_t i = 0; i < json_array_size(choices); i++)
        h.text += text_of_choice(json_array_get(choices, i));
    return h;
}

/* A server that does not count is not condemned for it: n bytes may be n tokens. */
static bool enough(const struct harvest *h, uint64_t wanted)
{
    return h->counted > 0 ? h->counted >= wanted : h->text >= wanted;
}

/* Many servers answer under a name other than the one that they were asked by (aliases, snapshots,
 * paths) and are right: worth a word, no verdict. */
static int note_other_model(const json_t *root, const char *model, struct judgement *j)
{
    const json_t *named = json_object_get(root, "model");

    if (!model || json_string_length(named) == 0 || str_equal(json_string_value(named), model))
        return 0;
    j->detail =
        answer_line("answered as model ", json_string_value(named), json_string_length(named));
    return j->detail ? 0 : -ENOMEM;
}

static int judge_tokens(const struct canary_config *c, const char *model, const json_t *root,
                        const struct harvest *h, struct judgement *j)
{
    uint64_t wanted = MAX(c->min_tokens, (uint64_t) 1);

    j->tokens = h->counted > 0 ? h->counted : h->text > 0;
    if (enough(h, wanted)) {
        j->verdict = VERDICT_GENERATED;
        return note_other_model(root, model, j);
    }
    j->verdict = VERDICT_NO_TOKENS;
    if (j->tokens == 0)
        return 0;
    j->detail = str_format("fewer than the %" PRIu64 " tokens that it must be", wanted);
    return j->detail ? 0 : -ENOMEM;
}

static int judge_object(const struct canary_config *c, const char *model, const json_t *root,
                        struct judgement *j)
{
    const json_t *choices = json_object_get(root, "choices");
    struct harvest h = harvest(root, choices);

    if (json_array_size(choices) > 0)
        return judge_tokens(c, model, root, &h, j);
    j->verdict = VERDICT_BAD_JSON;
    j->detail = strdup("no choices in the answer");
    return j->detail ? 0 : -ENOMEM;
}

int canary_judge(const struct canary_config *c, const char *model, const struct http_answer *answer,
                 struct judgement *ret)
{
    _cleanup_(answer_release) struct answer a = {};
    _cleanup_(judgement_release) struct judgement j = {};
    int r = answer_open(answer, &a);

    if (r < 0)
        return r;
    j = (struct judgement){
        .verdict = a.verdict,
        .total_usec = answer->total_usec,
        .detail = steal_pointer(&a.detail),
    };
    if (a.verdict == VERDICT_GENERATED)
        r = judge_object(c, model, a.root, &j);
    if (r < 0)
        return r;
    *ret = j;
    j = (struct judgement){};
    return 0;
}
