/* SPDX-License-Identifier: MIT */
#include "core/canary/expect.h"

#include <errno.h>
#include <inttypes.h>

#include "core/canary/answer.h"
#include "core/canary/json_text.h"
#include "core/canary/sanity.h"
#include "core/config/config_match.h"

/* More generated tokens without any text than may be the end of a text, or parts of a character. */
#define EMPTY_TOKENS UINT64_C(4)

/* One expectation at work. */
struct check {
    const struct canary_config *canary;
    const struct outcome_facts *facts;
    enum verdict verdict;
    struct strbuf detail;
};

typedef int (*check_fn)(struct check *k);

/* A stranger's word in a line for people. */
static void append_quoted(struct strbuf *b, const char *text, size_t n)
{
    _cleanup_free_ char *line = answer_line("", text, MIN(n, (size_t) 80));

    if (line)
        strbuf_appendf(b, "\"%s\"", line);
    else
        b->failed = true;
}

static bool generates_text(enum canary_kind kind)
{
    return kind != CANARY_EMBEDDINGS && kind != CANARY_RERANK && kind != CANARY_TRITON_INFER;
}

static int check_model(struct check *k)
{
    const char *named = k->facts->harvest->model, *expected = k->canary->expect_model;

    if (!expected)
        expected = k->facts->known_model;
    if (!expected || (!named && !k->canary->expect_model) || str_equal(named, expected))
        return 0;
    k->verdict = VERDICT_WRONG_MODEL;
    strbuf_append(&k->detail, "answered as model ");
    append_quoted(&k->detail, str_or_empty(named), strlen(str_or_empty(named)));
    strbuf_append(&k->detail, " instead of ");
    append_quoted(&k->detail, expected, strlen(expected));
    return 0;
}

static int check_shape(struct check *k)
{
    static const char *const missing[] = {
        [CANARY_CHAT] = "choices",          [CANARY_COMPLETIONS] = "choices",
        [CANARY_EMBEDDINGS] = "vectors",    [CANARY_RERANK] = "scores",
        [CANARY_SGLANG_GENERATE] = "text",  [CANARY_TGI_GENERATE] = "generated text",
        [CANARY_LLAMA_COMPLETION] = "content", [CANARY_TRITON_GENERATE] = "text output",
        [CANARY_TRITON_INFER] = "outputs",  [CANARY_OLLAMA_GENERATE] = "response",
        [CANARY_OLLAMA_CHAT] = "message",   [CANARY_RAW] = "anything",
    };

    if (k->facts->harvest->recognised)
        return 0;
    k->verdict = VERDICT_BAD_JSON;
    strbuf_appendf(&k->detail, "no %s in the answer", missing[k->canary->kind]);
    return 0;
}

/* A server that does not count is not condemned for it: n bytes may be n tokens. Of a raw request nobody
 * knows what it was to bring. */
static int check_tokens(struct check *k)
{
    const struct harvest *h = k->facts->harvest;
    uint64_t wanted = MAX(k->canary->min_tokens, (uint64_t) 1), most = k->facts->tokens;

    if (k->canary->kind == CANARY_RAW && h->counted == 0)
        return 0;
    if (h->counted == 0)
        most = MAX(most, (uint64_t) h->text_bytes);
    if (most >= wanted)
        return 0;
    k->verdict = VERDICT_NO_TOKENS;
    if (k->facts->tokens > 0)
        strbuf_appendf(&k->detail, "fewer than the %" PRIu64 " tokens that it must be", wanted);
    return 0;
}

static const char *nonsense_of(const struct strbuf *b, uint64_t tokens)
{
    return b->len > 0 ? sanity_check(b->data, b->len, tokens) : NULL;
}

/* Where there are thoughts as well, nobody knows whose the tokens are. */
static const char *find_nonsense(const struct check *k)
{
    const struct harvest *h = k->facts->harvest;
    uint64_t tokens = h->thoughts.len > 0 ? 0 : h->counted;
    const char *what;

    if (h->not_finite)
        return "numbers that are none (NaN)";
    if (h->zeros)
        return "a vector of zeros";
    if (!generates_text(k->canary->kind))
        return NULL;
    if (h->text_bytes == 0)
        return h->counted >= EMPTY_TOKENS && !h->hidden ? "tokens, but no text" : NULL;
    what = nonsense_of(&h->text, tokens);
    return what ? what : nonsense_of(&h->thoughts, 0);
}

static int check_sanity(struct check *k)
{
    const char *what = k->canary->expect_sane ? find_nonsense(k) : NULL;

    if (!what)
        return 0;
    k->verdict = VERDICT_DEGENERATE;
    strbuf_append(&k->detail, what);
    return 0;
}

static int check_finish(struct check *k)
{
    const char *finish = k->facts->harvest->finish;

    if (!k->canary->expect_finish || (finish && strv_contains(k->canary->expect_finish, finish)))
        return 0;
    k->verdict = VERDICT_DEGENERATE;
    strbuf_append(&k->detail, "ended for the reason ");
    append_quoted(&k->detail, str_or_empty(finish), strlen(str_or_empty(finish)));
    return 0;
}

/* A constrained answer that MaxTokens= has cut off is as good as one can ask for. */
static bool expects_json(const struct check *k)
{
    bool cut = str_equal(k->facts->harvest->finish, "length");

    return k->canary->expect_json || (k->canary->schema && !cut);
}

static int check_json(struct check *k)
{
    const struct strbuf *text = &k->facts->harvest->text;
    struct json_text json = {};
    int r;

    if (!expects_json(k))
        return 0;
    r = json_text_load(str_or_empty(text->data), text->len, &json);
    if (r < 0)
        return r;
    if (!json.value) {
        k->verdict = VERDICT_BAD_JSON;
        strbuf_append(&k->detail, "the text is no JSON: ");
        append_quoted(&k->detail, str_or_empty(text->data), text->len);
    }
    json_text_release(&json);
    return 0;
}

static int check_text(struct check *k)
{
    const struct strbuf *text = &k->facts->harvest->text;
    int r;

    if (!k->canary->expect_text)
        return 0;
    r = config_match(k->canary->expect_text, str_or_empty(text->data), text->len);
    if (r != 0)
        return r < 0 ? r : 0;
    k->verdict = VERDICT_DEGENERATE;
    strbuf_append(&k->detail, "the text is not the expected one: ");
    append_quoted(&k->detail, str_or_empty(text->data), text->len);
    return 0;
}

static int check_speed(struct check *k)
{
    const struct canary_config *c = k->canary;
    const struct outcome_facts *f = k->facts;
    char first[FORMAT_TIMESPAN_MAX], limit[FORMAT_TIMESPAN_MAX];

    if (!f->speed)
        return 0;
    if (c->first_token_usec > 0 && f->first_token_usec > c->first_token_usec) {
        k->verdict = VERDICT_SLOW;
        strbuf_appendf(&k->detail, "the first token after %s, at most %s expected",
                       format_timespan(first, f->first_token_usec),
                       format_timespan(limit, c->first_token_usec));
    } else if (c->min_tokens_per_sec > 0 && f->tokens_per_sec > 0 &&
               f->tokens_per_sec < c->min_tokens_per_sec) {
        k->verdict = VERDICT_SLOW;
        strbuf_appendf(&k->detail, "%.1f tokens/s, at least %.7g expected", f->tokens_per_sec,
                       c->min_tokens_per_sec);
    }
    return 0;
}

/* Many servers answer under a name other than the one that they were asked by (aliases, snapshots,
 * paths) and are right: worth a word, no verdict. */
static int note_other_model(struct check *k)
{
    const char *named = k->facts->harvest->model;

    if (!k->facts->asked_model || !named || str_equal(named, k->facts->asked_model))
        return 0;
    strbuf_append(&k->detail, "answered as model ");
    append_quoted(&k->detail, named, strlen(named));
    return 0;
}

int expect_check(const struct canary_config *c, const struct outcome_facts *f, enum verdict *ret_verdict,
                 char **ret_detail)
{
    static const check_fn checks[] = {check_shape, check_model, check_tokens, check_sanity, check_json,
                                      check_text,  check_finish, check_speed};
    struct check k = {.canary = c, .facts = f, .verdict = VERDICT_GENERATED};
    int r = 0;

    for (size_t i = 0; r == 0 && k.verdict == VERDICT_GENERATED && i < ARRAY_SIZE(checks); i++)
        r = checks[i](&k);
    if (r == 0 && k.verdict == VERDICT_GENERATED)
        r = note_other_model(&k);
    if (r == 0 && k.detail.failed)
        r = -ENOMEM;
    if (r == 0) {
        *ret_verdict = k.verdict;
        *ret_detail = k.detail.len > 0 ? strbuf_steal(&k.detail) : NULL;
    }
    strbuf_release(&k.detail);
    return r;
}

bool expect_lets_off(const struct canary_config *c, enum verdict v)
{
    return c->optional && v == VERDICT_HTTP_4XX;
}
