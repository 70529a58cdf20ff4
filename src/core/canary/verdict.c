/* SPDX-License-Identifier: MIT */
#include "core/canary/verdict.h"

#define X(constant, name, text) [constant] = name,
static const char *const verdict_names[] = {VERDICTS(X)};
#undef X
#define X(constant, name, text) [constant] = text,
static const char *const verdict_texts[] = {VERDICTS(X)};
#undef X

const char *verdict_name(enum verdict v)
{
    return verdict_names[v];
}

const char *verdict_text(enum verdict v)
{
    return verdict_texts[v];
}

bool verdict_may_improve(enum verdict v)
{
    switch (v) {
    case VERDICT_HTTP_4XX:
    case VERDICT_AUTH_REQUIRED:
    case VERDICT_WRONG_MODEL:
    case VERDICT_TOO_LARGE:
    case VERDICT_FOREIGN_LISTENER:
    case VERDICT_TLS:
        return false;
    case VERDICT_NONE:
    case VERDICT_GENERATED:
    case VERDICT_REFUSED:
    case VERDICT_RESET:
    case VERDICT_TIMEOUT:
    case VERDICT_FIRST_TOKEN_TIMEOUT:
    case VERDICT_BUSY:
    case VERDICT_HTTP_5XX:
    case VERDICT_NOT_READY:
    case VERDICT_NO_TOKENS:
    case VERDICT_DEGENERATE:
    case VERDICT_SLOW:
    case VERDICT_BAD_JSON:
    case N_VERDICTS:
        break;
    }
    return true;
}
