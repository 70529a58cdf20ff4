/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/secret.h"

#include <string.h>
#include <strings.h>

#include "base/macro.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define ALNUM LOWER UPPER DIGITS

/* Longer names are none. */
#define NAME_MAX_BYTES ((size_t) 64)
#define WEAK_VALUE_MIN ((size_t) 8)

/* A token is a prefix and at least `min` of `characters`. */
static const struct shape {
    const char *prefix;
    const char *characters;
    size_t min;
} shapes[] = {
    {"hf_", ALNUM, 20},          {"api_org_", ALNUM, 20},      {"sk-", ALNUM "_-", 16},
    {"sk_live_", ALNUM, 10},     {"sk_test_", ALNUM, 10},      {"rk_live_", ALNUM, 10},
    {"AKIA", UPPER DIGITS, 16},  {"ASIA", UPPER DIGITS, 16},   {"ghp_", ALNUM, 20},
    {"gho_", ALNUM, 20},         {"ghu_", ALNUM, 20},          {"ghs_", ALNUM, 20},
    {"ghr_", ALNUM, 20},         {"github_pat_", ALNUM "_", 20}, {"glpat-", ALNUM "_-", 16},
    {"gldt-", ALNUM "_-", 16},   {"xoxb-", ALNUM "-", 10},     {"xoxp-", ALNUM "-", 10},
    {"xoxa-", ALNUM "-", 10},    {"xoxr-", ALNUM "-", 10},     {"xoxs-", ALNUM "-", 10},
    {"xapp-", ALNUM "-", 10},    {"nvapi-", ALNUM "_-", 20},   {"AIza", ALNUM "_-", 30},
    {"ya29.", ALNUM "_-.", 20},  {"pypi-", ALNUM "_-", 20},    {"npm_", ALNUM, 20},
    {"dop_v1_", ALNUM, 20},      {"SG.", ALNUM "_-.", 20},     {"r8_", ALNUM, 20},
    {"gsk_", ALNUM, 20},         {"pplx-", ALNUM, 20},         {"hvs.", ALNUM "_-", 20},
    {"dckr_pat_", ALNUM "_-", 16}, {"tskey-", ALNUM "_-", 16}, {"whsec_", ALNUM "+/=", 16},
    {"ATATT3", ALNUM "_-=", 20}, {"AGE-SECRET-KEY-1", UPPER DIGITS, 40},
};

/* Names as they end, in small letters with _ between their parts. */
static const char *const strong_endings[] = {
    "password", "passwd", "pwd", "passphrase", "secret", "secrets", "apikey", "credential", "credentials",
    "authorization", "cookie", "api_key", "access_key", "secret_key", "private_key", "encryption_key",
    "auth_key", "signing_key", "account_key", "shared_key", "master_key", "subscription_key",
    "connection_string", "accesskeyid", "amz_signature", "amz_credential", "goog_signature",
};

/* What stands before "token" where tokens are pieces of text. */
static const char *const text_tokens[] = {
    "eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "next", "new", "special", "image", "audio",
    "video", "start", "end", "begin", "first", "last", "prompt", "per", "max", "min", "num", "total",
    "output", "input", "generated", "completion", "draft", "cached", "think", "tool", "each", "by", "of",
    "every", "the", "a", "one", "reasoning", "padding", "extra",
};

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Writes the name in small letters with _ between its parts; false if it is none. */
static bool spell(const char *name, size_t n, char out[2 * NAME_MAX_BYTES + 1])
{
    size_t length = 0;

    if (n == 0 || n > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (is_upper(name[i]) && i > 0 && is_lower(name[i - 1]))
            out[length++] = '_';
        if (is_upper(name[i]))
            out[length++] = (char) (name[i] - 'A' + 'a');
        else
            out[length++] = strchr("-. ", name[i]) ? '_' : name[i];
    }
    out[length] = '\0';
    return true;
}

/* Whether s ends with the part, or is it: parts are separated by _. */
static bool ends_with_part(const char *s, const char *part)
{
    size_t n = strlen(s), length = strlen(part);

    return n >= length && strcmp(s + n - length, part) == 0 && (n == length || s[n - length - 1] == '_');
}

static enum secrecy token_secrecy(char *s)
{
    char *before;

    if (!ends_with_part(s, "token"))
        return SECRECY_NONE;
    if (strlen(s) == strlen("token"))
        return SECRECY_WEAK;
    before = s + strlen(s) - strlen("_token");
    *before = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(text_tokens); i++) {
        if (ends_with_part(s, text_tokens[i]))
            return SECRECY_NONE;
    }
    return SECRECY_STRONG;
}

enum secrecy secret_name(const char *name, size_t n)
{
    char s[2 * NAME_MAX_BYTES + 1];

    if (!spell(name, n, s))
        return SECRECY_NONE;
    for (size_t i = 0; i < ARRAY_SIZE(strong_endings); i++) {
        if (ends_with_part(s, strong_endings[i]))
            return SECRECY_STRONG;
    }
    return token_secrecy(s);
}

bool secret_variable(const char *name, size_t n)
{
    static const char *const endings[] = {"key", "token", "pass", "auth", "dsn"};
    char s[2 * NAME_MAX_BYTES + 1];

    if (!spell(name, n, s) || strcmp(s, "pwd") == 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        if (ends_with_part(s, endings[i]))
            return true;
    }
    return secret_name(name, n) != SECRECY_NONE;
}

/* "eyJ...", three parts with dots between them */
static size_t jwt_length(const char *s)
{
    size_t n = strncmp(s, "eyJ", 3) == 0 ? strspn(s, ALNUM "_-") : 0, part;

    if (n < 10 || s[n] != '.')
        return 0;
    part = strspn(s + n + 1, ALNUM "_-");
    if (part < 4)
        return 0;
    n += 1 + part;
    return s[n] == '.' ? n + 1 + strspn(s + n + 1, ALNUM "_-") : n;
}

size_t secret_token_length(const char *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        size_t prefix = strlen(shapes[i].prefix), n;

        if (strncmp(s, shapes[i].prefix, prefix) != 0)
            continue;
        n = strspn(s + prefix, shapes[i].characters);
        if (n >= shapes[i].min)
            return prefix + n;
    }
    return jwt_length(s);
}

static bool consists_of(const char *s, size_t n, const char *characters)
{
    for (size_t i = 0; i < n; i++) {
        if (!strchr(characters, s[i]))
            return false;
    }
    return true;
}

bool secret_value(const char *value, size_t n, enum secrecy secrecy)
{
    static const char *const harmless[] = {"none", "null", "nil", "true", "false"};
    static const char hidden[] = "[redacted";

    if (n == 0 || secrecy == SECRECY_NONE)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
        if (strlen(harmless[i]) == n && strncasecmp(value, harmless[i], n) == 0)
            return false;
    }
    if (n >= strlen(hidden) && strncmp(value, hidden, strlen(hidden)) == 0)
        return false;
    /* A path leads to a secret, and is none. */
    if (*value == '/' || (n > 1 && value[1] == '/' && (*value == '~' || *value == '.')))
        return false;
    /* Stars, dots, <secret> and the capitals of a usage text. */
    if (*value == '<' || consists_of(value, n, "*.") || consists_of(value, n, UPPER "_"))
        return false;
    if (secrecy == SECRECY_STRONG)
        return true;
    return n >= WEAK_VALUE_MIN && !consists_of(value, n, DIGITS ".") && !consists_of(value, n, LOWER "_");
}
