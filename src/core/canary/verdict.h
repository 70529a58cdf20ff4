/* SPDX-License-Identifier: MIT */
#pragma once

/* What a canary came back with, in words that everybody uses. */

#include <stdbool.h>

/* X(constant, name, what it means to people). One vocabulary for status, bus, reports and metrics. */
#define VERDICTS(X)                                                                     \
    X(VERDICT_NONE, "none", "no canary has been answered")                              \
    X(VERDICT_GENERATED, "generated", "answered with what was asked for")               \
    X(VERDICT_REFUSED, "refused", "no connection to the server")                        \
    X(VERDICT_RESET, "reset", "connection broken before the answer was whole")          \
    X(VERDICT_TIMEOUT, "timeout", "no whole answer in time")                            \
    X(VERDICT_FIRST_TOKEN_TIMEOUT, "first-token-timeout", "no token in time")           \
    X(VERDICT_BUSY, "busy", "late, while the server answers others")                    \
    X(VERDICT_HTTP_4XX, "http-4xx", "the request was rejected")                         \
    X(VERDICT_HTTP_5XX, "http-5xx", "the server reported an error of its own")          \
    X(VERDICT_NOT_READY, "not-ready", "the server says that it cannot answer yet")      \
    X(VERDICT_AUTH_REQUIRED, "auth-required", "the server wants an API key")            \
    X(VERDICT_WRONG_MODEL, "wrong-model", "another model than the configured one")      \
    X(VERDICT_NO_TOKENS, "no-tokens", "a well-formed answer without a generated token") \
    X(VERDICT_DEGENERATE, "degenerate", "what was generated makes no sense")            \
    X(VERDICT_SLOW, "slow", "generated, but slower than it must be")                    \
    X(VERDICT_BAD_JSON, "bad-json", "the answer is not what the API promises")          \
    X(VERDICT_TOO_LARGE, "too-large", "the answer is larger than any honest one")       \
    X(VERDICT_FOREIGN_LISTENER, "foreign-listener", "another process owns the port")    \
    X(VERDICT_TLS, "tls", "TLS could not be agreed on")

#define X(constant, ...) constant,
enum verdict { VERDICTS(X) N_VERDICTS };
#undef X

const char *verdict_name(enum verdict v);
const char *verdict_text(enum verdict v);
/* While starting: may the same request, sent again later, come back better? False for verdicts that
 * only another configuration or another server can change (auth-required, wrong-model, http-4xx,
 * foreign-listener, tls, too-large). */
bool verdict_may_improve(enum verdict v);
