/* SPDX-License-Identifier: MIT */
#pragma once

/* A canary: the request that it sends and what its answer is worth. Pure: port/http carries both. */

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/timeutil.h"
#include "core/config/config.h"

/* X(constant, name, what it means to people). One vocabulary for status, bus, reports and metrics. */
#define VERDICTS(X)                                                                     \
    X(VERDICT_NONE, "none", "no canary has been answered")                              \
    X(VERDICT_GENERATED, "generated", "tokens were generated")                          \
    X(VERDICT_REFUSED, "refused", "no connection to the server")                        \
    X(VERDICT_RESET, "reset", "connection broken before the answer was whole")          \
    X(VERDICT_TIMEOUT, "timeout", "no whole answer in time")                            \
    X(VERDICT_HTTP_4XX, "http-4xx", "the request was rejected")                         \
    X(VERDICT_HTTP_5XX, "http-5xx", "the server reported an error of its own")          \
    X(VERDICT_NOT_READY, "not-ready", "the server says that it cannot answer yet")      \
    X(VERDICT_AUTH_REQUIRED, "auth-required", "the server wants an API key")            \
    X(VERDICT_WRONG_MODEL, "wrong-model", "another model than the configured one")      \
    X(VERDICT_NO_TOKENS, "no-tokens", "a well-formed answer without a generated token") \
    X(VERDICT_BAD_JSON, "bad-json", "the answer is not what the API promises")          \
    X(VERDICT_TOO_LARGE, "too-large", "the answer is larger than any honest one")       \
    X(VERDICT_FOREIGN_LISTENER, "foreign-listener", "another process owns the port")    \
    X(VERDICT_TLS, "tls", "TLS could not be agreed on")

#define X(constant, ...) constant,
enum verdict { VERDICTS(X) N_VERDICTS };
#undef X

/* How a transfer ended below HTTP. */
enum http_outcome {
    HTTP_COMPLETE, /* status, headers and the whole body came */
    HTTP_REFUSED,
    HTTP_RESET, /* closed, reset or malformed before the end */
    HTTP_TIMEOUT,
    HTTP_TOO_LARGE,
    HTTP_TLS,
    HTTP_UNREACHABLE, /* name, route, local error */
    HTTP_CANCELLED,
};

struct http_answer {
    enum http_outcome outcome;
    long status;     /* 0 when no status line came */
    const char *body; /* borrowed, not NUL-terminated; may hold any byte */
    size_t body_len;
    usec_t total_usec;
    const char *detail; /* the library's words for a failed transfer, or NULL; borrowed */
};

struct canary_request {
    char *path; /* with a leading slash */
    char *body; /* JSON */
};

/* The judgement of one answer. */
struct judgement {
    enum verdict verdict;
    uint64_t tokens;   /* as the server counts; where it does not, 1 stands for "some" */
    usec_t total_usec;
    char *detail;      /* one line for people, at most 200 bytes, with the server's own message (secrets in
                        * it are not redacted yet); owned; NULL when the verdict says it all */
};

void canary_request_release(struct canary_request *r);
void judgement_release(struct judgement *j);

/* `model` as the server names it, NULL to leave it out. -ENOMEM only. */
must_check int canary_build(const struct canary_config *c, const char *model, struct canary_request *ret);
/* Any answer gives a verdict. HTTP 408, 425, 429 and 503 say "not now" and are not-ready; another name of
 * the model in a good answer is mentioned in `detail`, since aliases are honest. -ENOMEM only. */
must_check int canary_judge(const struct canary_config *c, const char *model,
                            const struct http_answer *answer, struct judgement *ret);
/* From the answer of ModelsPath: the model to ask for, which is `wanted` when the list has it, or the first
 * of the list when `wanted` is NULL. Verdicts: GENERATED when it is found, and then only *ret is set, owned;
 * WRONG_MODEL when `wanted` is not in the list; NOT_READY while the list is empty; otherwise why there is
 * none. A server that has no list (http-4xx) is believed to have what is wanted. -ENOMEM only. */
must_check int canary_pick_model(const char *wanted, const struct http_answer *answer, char **ret,
                                 enum verdict *ret_verdict);

const char *verdict_name(enum verdict v);
const char *verdict_text(enum verdict v);
/* While starting: may the same request, sent again later, come back better? False for verdicts that
 * only another configuration or another server can change (auth-required, wrong-model, http-4xx,
 * foreign-listener, tls, too-large). */
bool verdict_may_improve(enum verdict v);
