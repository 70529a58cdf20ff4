/* SPDX-License-Identifier: MIT */
#include "core/canary/answer.h"

#include <errno.h>

#include "base/str.h"

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

static enum verdict transfer_verdict(enum http_outcome outcome)
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

/* A redirect is a rejection, too: it is not followed. 408, 425, 429 and 503 all say "not now". */
static enum verdict status_verdict(long status)
{
    if (status >= 200 && status < 300)
        return VERDICT_GENERATED;
    if (status == 401 || status == 403)
        return VERDICT_AUTH_REQUIRED;
    if (status == 408 || status == 425 || status == 429 || status == 503)
        return VERDICT_NOT_READY;
    if (status >= 300 && status < 500)
        return VERDICT_HTTP_4XX;
    return status >= 500 && status < 600 ? VERDICT_HTTP_5XX : VERDICT_BAD_JSON;
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

/* *ret_root is NULL for what is not a JSON object; then *error says why. jansson takes many a
 * failed allocation for a mistake in the text, and a good server must not be condemned for that:
 * errno knows. */
static int parse(const struct http_answer *a, json_t **ret_root, json_error_t *error)
{
    json_auto_t *root = NULL;

    errno = 0;
    root = json_loadb(str_or_empty(a->body), a->body_len, JSON_ALLOW_NUL, error);
    if (!root && errno == ENOMEM)
        return -ENOMEM;
    *ret_root = json_is_object(root) ? steal_pointer(&root) : NULL;
    return 0;
}

static int describe_bad_json(const struct http_answer *a, const json_error_t *error, char **ret)
{
    if (a->body_len == 0)
        *ret = strdup("an empty answer");
    else if (str_empty(error->text))
        *ret = strdup("not a JSON object");
    else
        *ret = answer_line("not JSON: ", error->text, strlen(error->text));
    return *ret ? 0 : -ENOMEM;
}

/* "HTTP 500: CUDA error": the server's words where it has any, else the beginning of its body. */
static int describe_error(const struct http_answer *a, const json_t *text, char **ret)
{
    char prefix[sizeof("HTTP : ") + 20];
    const char *words = text ? json_string_value(text) : str_or_empty(a->body);
    size_t n = text ? json_string_length(text) : a->body_len;

    (void) snprintf(prefix, sizeof(prefix), n > 0 ? "HTTP %ld: " : "HTTP %ld", a->status);
    *ret = answer_line(prefix, words, n);
    return *ret ? 0 : -ENOMEM;
}

static enum verdict error_verdict(long status, const struct server_error *e)
{
    enum verdict verdict = status_verdict(status);

    return verdict == VERDICT_HTTP_4XX && e->no_such_model ? VERDICT_WRONG_MODEL : verdict;
}

static int open_complete(const struct http_answer *a, struct answer *answer)
{
    json_error_t error = {};
    struct server_error own = {};
    bool good_status = status_verdict(a->status) == VERDICT_GENERATED;
    int r = parse(a, &answer->root, &error);

    if (r < 0)
        return r;
    if (good_status && !answer->root) {
        answer->verdict = VERDICT_BAD_JSON;
        return describe_bad_json(a, &error, &answer->detail);
    }
    if (good_status && !tells_of_error(answer->root)) {
        answer->verdict = VERDICT_GENERATED;
        return 0;
    }
    own = read_error(answer->root);
    /* An error under a good status is as bad as it says itself, or else the server's own. */
    answer->verdict = good_status ? error_verdict(own.status ? own.status : 500, &own)
                                  : error_verdict(a->status, &own);
    r = describe_error(a, own.text, &answer->detail);
    json_decref(steal_pointer(&answer->root));
    return r;
}

int answer_open(const struct http_answer *a, struct answer *ret)
{
    _cleanup_(answer_release) struct answer answer = {.verdict = transfer_verdict(a->outcome)};
    int r = 0;

    if (a->outcome == HTTP_COMPLETE)
        r = open_complete(a, &answer);
    else if (!str_empty(a->detail) &&
             !(answer.detail = answer_line("", a->detail, strlen(a->detail))))
        r = -ENOMEM;
    if (r < 0)
        return r;
    *ret = answer;
    answer = (struct answer){};
    return 0;
}
