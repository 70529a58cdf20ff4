/* SPDX-License-Identifier: MIT */
#include "core/canary/answer.h"

#include <errno.h>

#include "base/str.h"
#include "core/canary/json_text.h"

#define CUT "..."

/* What the server says went wrong. */
struct server_error {
    const json_t *text; /* a string, or NULL */
    long status;        /* the HTTP status it gives itself, 0 if none */
    bool no_such_model;
};

void answer_release(struct answer *a)
{
    json_decref(a->root);
    free(a->detail);
    *a = (struct answer){};
}

/* One line out of anything */

/* Also the controls of ISO 8859-1, two bytes in UTF-8: one of them breaks lines. */
static bool is_blank(const char *s, size_t length)
{
    unsigned char first = (unsigned char) s[0];

    if (length == 2)
        return first == 0xc2 && (unsigned char) s[1] < 0xa0;
    return length == 1 && (first <= ' ' || first == 0x7f);
}

static void append_flat(struct strbuf *b, const char *clean)
{
    size_t n = strlen(clean), length;
    bool blank = true; /* leading white space goes */

    for (size_t i = 0; i < n; i += length) {
        bool was_blank = blank;

        length = utf8_sequence_length(clean + i, n - i);
        blank = is_blank(clean + i, length);
        if (!blank)
            strbuf_append_n(b, clean + i, length);
        else if (!was_blank)
            strbuf_append_char(b, ' ');
    }
    if (blank && b->len > 0 && b->data[b->len - 1] == ' ')
        b->data[--b->len] = '\0';
}

static void cut_line(struct strbuf *b)
{
    size_t end = ANSWER_DETAIL_MAX - strlen(CUT);

    if (b->failed || b->len <= ANSWER_DETAIL_MAX)
        return;
    while (((unsigned char) b->data[end] & 0xc0) == 0x80)
        end--;
    b->data[end] = '\0';
    b->len = end;
    strbuf_append(b, CUT);
}

char *answer_line(const char *prefix, const char *text, size_t n)
{
    _cleanup_strbuf_ struct strbuf line = {};
    /* Half a character at the end of what is looked at lies behind the cut. */
    _cleanup_free_ char *clean = utf8_sanitize(text, MIN(n, (size_t) 8 * ANSWER_DETAIL_MAX));

    if (!clean)
        return NULL;
    strbuf_append(&line, prefix);
    append_flat(&line, clean);
    cut_line(&line);
    return strbuf_steal(&line);
}

/* Verdicts */

enum verdict answer_transfer_verdict(enum http_outcome outcome)
{
    switch (outcome) {
    case HTTP_COMPLETE:
        return VERDICT_GENERATED;
    case HTTP_REFUSED:
    case HTTP_UNREACHABLE:
        return VERDICT_REFUSED;
    case HTTP_RESET:
        return VERDICT_RESET;
    case HTTP_TIMEOUT:
        return VERDICT_TIMEOUT;
    case HTTP_TOO_LARGE:
        return VERDICT_TOO_LARGE;
    case HTTP_TLS:
        return VERDICT_TLS;
    case HTTP_CANCELLED:
        break;
    }
    return VERDICT_NONE;
}

/* A redirect is a rejection, too: it is not followed; so is 501, which says that the server was not started
 * for this. 408, 425, 429 and 503 all say "not now"; with 424, TGI says that generating failed. */
enum verdict answer_status_verdict(long status)
{
    if (status >= 200 && status < 300)
        return VERDICT_GENERATED;
    if (status == 401 || status == 403)
        return VERDICT_AUTH_REQUIRED;
    if (status == 408 || status == 425 || status == 429 || status == 503)
        return VERDICT_NOT_READY;
    if ((status >= 300 && status < 500 && status != 424) || status == 501)
        return VERDICT_HTTP_4XX;
    return status == 424 || (status >= 500 && status < 600) ? VERDICT_HTTP_5XX : VERDICT_BAD_JSON;
}

/* The server's own error */

/* "detail" is FastAPI's: a string, or a list of objects with a "msg". */
static const json_t *find_text(const json_t *object)
{
    static const char *const keys[] = {"message", "error", "detail", "msg"};
    const json_t *value;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        value = json_object_get(object, keys[i]);
        if (json_string_length(value) > 0)
            return value;
    }
    value = json_object_get(json_array_get(json_object_get(object, "detail"), 0), "msg");
    return json_string_length(value) > 0 ? value : NULL;
}

/* Servers word it in many ways; OpenAI's has a code for it. */
static bool names_no_model(const json_t *object, const char *text)
{
    static const char *const words[] = {
        "not exist",     "not found",     "not available",
        "unknown model", "invalid model", "no such model",
    };

    if (str_equal(json_string_value(json_object_get(object, "code")), "model_not_found"))
        return true;
    if (!text || !strcasestr(text, "model"))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcasestr(text, words[i]))
            return true;
    }
    return false;
}

static long own_status(const json_t *object)
{
    json_int_t code = json_integer_value(json_object_get(object, "code"));

    return code >= 400 && code < 600 ? (long) code : 0;
}

static struct server_error read_error(const json_t *root)
{
    const json_t *inner = json_object_get(root, "error");
    const json_t *object = json_is_object(inner) ? inner : root;
    const json_t *text = find_text(object);

    return (struct server_error){
        .text = text,
        .status = own_status(object),
        .no_such_model = names_no_model(object, json_string_value(text)),
    };
}

/* Whether an answer with a good status tells of an error all the same. */
static bool tells_of_error(const json_t *root)
{
    const json_t *error = json_object_get(root, "error");

    return json_is_object(error) || json_string_length(error) > 0 ||
           str_equal(json_string_value(json_object_get(root, "object")), "error");
}

/* From the pieces to the whole */

static int describe_no_json(size_t n, const struct json_text *json, char **ret)
{
    if (json->too_heavy)
        *ret = strdup("more values than any honest answer has");
    else if (n == 0)
        *ret = strdup("an empty answer");
    else
        *ret = answer_line("not JSON: ", json->error.text, strlen(json->error.text));
    return *ret ? 0 : -ENOMEM;
}

/* "HTTP 500: CUDA error": the server's words where it has any, else the beginning of its body. */
static int describe_error(long status, const json_t *text, const char *body, size_t n, char **ret)
{
    char prefix[sizeof("HTTP : ") + 20];
    const char *words = text ? json_string_value(text) : body;

    n = text ? json_string_length(text) : n;
    (void) snprintf(prefix, sizeof(prefix), n > 0 ? "HTTP %ld: " : "HTTP %ld", status);
    *ret = answer_line(prefix, words, n);
    return *ret ? 0 : -ENOMEM;
}

static enum verdict error_verdict(long status, const struct server_error *e)
{
    enum verdict verdict = answer_status_verdict(status);

    return verdict == VERDICT_HTTP_4XX && e->no_such_model ? VERDICT_WRONG_MODEL : verdict;
}

static int open_json(struct json_text *json, long status, const char *body, size_t n,
                     struct answer *answer)
{
    bool good_status = answer_status_verdict(status) == VERDICT_GENERATED;
    struct server_error own;

    if (good_status && !json->value) {
        answer->verdict = json->too_heavy ? VERDICT_TOO_LARGE : VERDICT_BAD_JSON;
        return describe_no_json(n, json, &answer->detail);
    }
    if (good_status && !tells_of_error(json->value)) {
        answer->verdict = VERDICT_GENERATED;
        answer->root = steal_pointer(&json->value);
        answer->not_finite = json->not_finite;
        return 0;
    }
    own = read_error(json->value);
    /* An error under a good status is as bad as it says itself, or else the server's own. */
    answer->verdict = good_status ? error_verdict(own.status ? own.status : 500, &own)
                                  : error_verdict(status, &own);
    return describe_error(status, own.text, body, n, &answer->detail);
}

int answer_open_text(const char *text, size_t n, long status, struct answer *ret)
{
    _cleanup_(answer_release) struct answer answer = {};
    _cleanup_(json_text_release) struct json_text json = {};
    int r = json_text_load(text, n, &json);

    if (r == 0)
        r = open_json(&json, status, text, n, &answer);
    if (r < 0)
        return r;
    *ret = answer;
    answer = (struct answer){};
    return 0;
}

int answer_open(const struct http_answer *a, struct answer *ret)
{
    struct answer answer = {.verdict = answer_transfer_verdict(a->outcome)};

    if (a->outcome == HTTP_COMPLETE)
        return answer_open_text(str_or_empty(a->body), a->body_len, a->status, ret);
    if (!str_empty(a->detail)) {
        answer.detail = answer_line("", a->detail, strlen(a->detail));
        if (!answer.detail)
            return -ENOMEM;
    }
    *ret = answer;
    return 0;
}
