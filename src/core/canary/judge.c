/* SPDX-License-Identifier: MIT */
#include "core/canary/judge.h"

#include <errno.h>
#include <inttypes.h>

#include "base/hash.h"
#include "base/str.h"
#include "core/canary/expect.h"
#include "core/canary/harvest.h"
#include "core/canary/stream.h"

/* An event longer than this is none; nor is an honest stream longer than so many events of usual size. */
#define EVENT_MAX ((size_t) 64 * 1024)
#define STREAM_MIN_BYTES UINT64_C(1024 * 1024)
#define STREAM_BYTES_PER_TOKEN UINT64_C(4096)
#define END_MARK "[DONE]"

struct judge {
    const struct canary_config *canary;
    struct stream *stream; /* NULL: the answer comes whole */
    struct harvest harvest;
    uint64_t fed;          /* bytes */
    uint64_t events;
    usec_t now;            /* of the piece at hand */
    usec_t first_token, last_token; /* 0: none */
    bool over;             /* nothing more is wanted */
    enum verdict verdict;  /* of an event that tells of an error, or is no event; GENERATED */
    char *detail;
};

void judgement_release(struct judgement *j)
{
    free(j->detail);
    free(j->model);
    *j = (struct judgement){};
}

static int on_event(const char *data, size_t n, void *userdata);

static enum stream_format format_of(enum canary_kind kind)
{
    return kind == CANARY_OLLAMA_GENERATE || kind == CANARY_OLLAMA_CHAT ? STREAM_NDJSON : STREAM_SSE;
}

/* Whether streams of that API say where they end, beside just ending. */
static bool tells_end(enum canary_kind kind)
{
    return kind != CANARY_TRITON_GENERATE && kind != CANARY_RAW;
}

int judge_new(const struct canary_config *c, struct judge **ret)
{
    _cleanup_(judge_freep) struct judge *j = calloc(1, sizeof(*j));
    int r = 0;

    if (!j)
        return -ENOMEM;
    j->canary = c;
    j->verdict = VERDICT_GENERATED;
    if (c->stream)
        r = stream_new(format_of(c->kind), EVENT_MAX, on_event, j, &j->stream);
    if (r < 0)
        return r;
    *ret = steal_pointer(&j);
    return 0;
}

void judge_free(struct judge *j)
{
    if (!j)
        return;
    stream_free(j->stream);
    harvest_release(&j->harvest);
    free(j->detail);
    free(j);
}

uint64_t judge_pieces(const struct judge *j)
{
    return j->harvest.pieces;
}

/* As it comes */

static void note_time(struct judge *j, uint64_t pieces_before)
{
    if (j->harvest.pieces == pieces_before)
        return;
    if (j->first_token == 0)
        j->first_token = MAX(j->now, (usec_t) 1);
    j->last_token = MAX(j->now, (usec_t) 1);
}

static int add_event(struct judge *j, const char *data, size_t n)
{
    _cleanup_(answer_release) struct answer a = {};
    int r = answer_open_text(data, n, 200, &a);

    if (r < 0)
        return r;
    if (a.verdict != VERDICT_GENERATED) {
        j->verdict = a.verdict;
        j->detail = steal_pointer(&a.detail);
        j->over = true;
        return 1;
    }
    j->harvest.not_finite = j->harvest.not_finite || a.not_finite;
    return harvest_add(&j->harvest, j->canary->kind, true, a.root);
}

/* Of a raw stream nobody knows that it is JSON. */
static int add_anything(struct judge *j, const char *data, size_t n)
{
    _cleanup_(answer_release) struct answer a = {};
    _cleanup_free_ char *clean = NULL;
    int r = answer_open_text(data, n, 200, &a);

    if (r < 0)
        return r;
    if (a.verdict == VERDICT_GENERATED)
        return harvest_add(&j->harvest, j->canary->kind, true, a.root);
    j->harvest.recognised = true;
    clean = utf8_sanitize(data, MIN(n, HARVEST_TEXT_MAX));
    return clean ? harvest_add_text(&j->harvest, clean, strlen(clean)) : -ENOMEM;
}

static int on_event(const char *data, size_t n, void *userdata)
{
    struct judge *j = userdata;
    uint64_t before = j->harvest.pieces;
    int r;

    if (n == strlen(END_MARK) && memcmp(data, END_MARK, n) == 0) {
        j->harvest.finished = j->over = true;
        return 1;
    }
    j->events++;
    r = j->canary->kind == CANARY_RAW ? add_anything(j, data, n) : add_event(j, data, n);
    note_time(j, before);
    return r;
}

static uint64_t stream_limit(const struct judge *j)
{
    uint64_t tokens = MIN(j->canary->max_tokens, UINT64_MAX / STREAM_BYTES_PER_TOKEN);

    return MAX(STREAM_MIN_BYTES, tokens * STREAM_BYTES_PER_TOKEN);
}

int judge_feed(struct judge *j, const char *data, size_t n, usec_t since)
{
    if (j->over || !j->stream)
        return 1;
    j->fed += n;
    if (j->fed > stream_limit(j))
        return -EMSGSIZE;
    j->now = since;
    return stream_feed(j->stream, data, n);
}

/* At the end */

static uint64_t tokens_of(const struct judge *j)
{
    const struct harvest *h = &j->harvest;

    if (h->counted > 0)
        return h->counted;
    if (h->text_bytes == 0)
        return h->results;
    return j->stream ? h->pieces : 1;
}

/* Between the first and the last token where the answer was streamed: the wait for the first one is
 * another matter. */
static double rate_of(const struct judge *j, uint64_t tokens, usec_t total)
{
    usec_t span = j->last_token - j->first_token;

    if (j->stream && tokens > 1 && span > 0)
        return (double) (tokens - 1) * (double) USEC_PER_SEC / (double) span;
    return total > 0 ? (double) tokens * (double) USEC_PER_SEC / (double) total : 0;
}

static uint64_t hash_text(const struct harvest *h)
{
    uint64_t hash;

    if (h->text_bytes == 0)
        return 0;
    hash = hash_bytes(HASH_START, h->text.data, h->text.len);
    return hash_bytes(hash, h->thoughts.data, h->thoughts.len);
}

/* Whether the status is the one that the canary wants, said by a verdict. */
static int judge_status(const struct judge *j, const struct http_answer *a, struct judgement *ret)
{
    long wanted = (long) j->canary->expect_status;

    if (wanted == 0 || wanted == a->status || ret->verdict != VERDICT_GENERATED)
        return 0;
    ret->verdict = VERDICT_BAD_JSON;
    ret->detail = str_format("HTTP %ld instead of %ld", a->status, wanted);
    return ret->detail ? 0 : -ENOMEM;
}

static int judge_expectations(const struct judge *j, const struct judge_facts *f, struct judgement *ret)
{
    const struct outcome_facts facts = {
        .harvest = &j->harvest,
        .tokens = ret->tokens,
        .first_token_usec = ret->first_token_usec,
        .tokens_per_sec = ret->tokens_per_sec,
        .asked_model = f->asked_model,
        .known_model = f->known_model,
        .speed = f->speed,
    };

    return expect_check(j->canary, &facts, &ret->verdict, &ret->detail);
}

/* The whole of a raw answer: its status was what the request was about. */
static int open_raw(struct judge *j, const struct http_answer *a, struct judgement *ret)
{
    _cleanup_(answer_release) struct answer answer = {};
    _cleanup_free_ char *clean = NULL;
    int r = answer_open(a, &answer);

    if (r < 0)
        return r;
    j->harvest.recognised = true;
    ret->verdict = VERDICT_GENERATED;
    if (answer.verdict == VERDICT_GENERATED)
        return harvest_add(&j->harvest, CANARY_RAW, false, answer.root);
    clean = utf8_sanitize(str_or_empty(a->body), MIN(a->body_len, HARVEST_TEXT_MAX));
    if (!clean)
        return -ENOMEM;
    return harvest_add_text(&j->harvest, clean, strlen(clean));
}

static bool status_is_good(const struct http_answer *a)
{
    return a->outcome == HTTP_COMPLETE && answer_status_verdict(a->status) == VERDICT_GENERATED;
}

/* A canary may be there to be refused; then nothing else is expected. */
static bool refusal_is_wanted(const struct judge *j, const struct http_answer *a)
{
    long wanted = (long) j->canary->expect_status;

    return a->outcome == HTTP_COMPLETE && !status_is_good(a) && wanted > 0 && a->status == wanted;
}

static int open_whole(struct judge *j, const struct http_answer *a, struct judgement *ret)
{
    _cleanup_(answer_release) struct answer answer = {};
    int r;

    if (refusal_is_wanted(j, a)) {
        ret->verdict = VERDICT_GENERATED;
        return 0;
    }
    if (j->canary->kind == CANARY_RAW && status_is_good(a)) {
        r = open_raw(j, a, ret);
        return r < 0 ? r : judge_status(j, a, ret);
    }
    r = answer_open(a, &answer);
    if (r < 0)
        return r;
    ret->verdict = answer.verdict;
    ret->detail = steal_pointer(&answer.detail);
    j->harvest.not_finite = answer.not_finite;
    if (answer.verdict == VERDICT_GENERATED)
        r = harvest_add(&j->harvest, j->canary->kind, false, answer.root);
    return r < 0 ? r : judge_status(j, a, ret);
}

static int say(struct judgement *ret, enum verdict verdict, const char *detail)
{
    ret->verdict = verdict;
    ret->detail = strdup(detail);
    return ret->detail ? 0 : -ENOMEM;
}

/* A stream that broke off: how far it had come says where to look. */
static int judge_broken_stream(const struct judge *j, const struct http_answer *a, struct judgement *ret)
{
    ret->verdict = answer_transfer_verdict(a->outcome);
    if (ret->verdict == VERDICT_TIMEOUT && j->first_token == 0)
        ret->verdict = VERDICT_FIRST_TOKEN_TIMEOUT;
    if (j->harvest.pieces > 0)
        ret->detail = str_format("after %" PRIu64 " pieces with text", j->harvest.pieces);
    else if (!str_empty(a->detail))
        ret->detail = answer_line("", a->detail, strlen(a->detail));
    else
        return 0;
    return ret->detail ? 0 : -ENOMEM;
}

static int close_stream(struct judge *j, const struct http_answer *a, struct judgement *ret)
{
    int r = 0;

    if (a->outcome != HTTP_COMPLETE)
        return judge_broken_stream(j, a, ret);
    if (!j->over)
        r = stream_end(j->stream);
    if (r == -EMSGSIZE)
        return say(ret, VERDICT_TOO_LARGE, "an event longer than any honest one");
    if (r < 0)
        return r;
    ret->verdict = j->verdict;
    ret->detail = steal_pointer(&j->detail);
    if (ret->verdict != VERDICT_GENERATED)
        return 0;
    if (j->events == 0)
        return say(ret, VERDICT_BAD_JSON, "not one event in the stream");
    if (tells_end(j->canary->kind) && !j->harvest.finished)
        return say(ret, VERDICT_RESET, "the stream stopped before the server had said that it was over");
    return judge_status(j, a, ret);
}

/* Of a stream, what is not a good answer comes whole, too. */
static bool was_streamed(const struct judge *j, const struct http_answer *a)
{
    return j->stream && (a->outcome != HTTP_COMPLETE || status_is_good(a));
}

int judge_end(struct judge *j, const struct http_answer *a, const struct judge_facts *f,
              struct judgement *ret)
{
    _cleanup_(judgement_release) struct judgement result = {.total_usec = a->total_usec};
    int r = was_streamed(j, a) ? close_stream(j, a, &result) : open_whole(j, a, &result);

    if (r < 0)
        return r;
    result.tokens = tokens_of(j);
    result.first_token_usec = j->first_token;
    result.tokens_per_sec = rate_of(j, result.tokens, a->total_usec);
    result.text_hash = hash_text(&j->harvest);
    if (result.verdict == VERDICT_GENERATED && !refusal_is_wanted(j, a))
        r = judge_expectations(j, f, &result);
    if (r < 0)
        return r;
    result.model = steal_pointer(&j->harvest.model);
    *ret = result;
    result = (struct judgement){};
    return 0;
}
