/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/redact.h"

#include <errno.h>
#include <strings.h>

#include "base/str.h"
#include "core/diagnosis/secret.h"

#define REDACTED "[redacted]"
#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define BASE64 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
#define BLANKS " \t"

/* Ends a value without quotes. */
#define VALUE_END " \t\r\n\"'&,;)}]>`\\"
/* Ends the credentials in a URL without one. */
#define AUTHORITY_END " \t\r\n\"'/?#<>`\\"

/* Of base64 on a line of its own: the body of a key. */
#define BODY_MIN ((size_t) 40)
#define PADDED_BODY_MIN ((size_t) 16)

#define KEY_HEADER_MAX ((size_t) 64)
#define BEARER_MIN ((size_t) 6)

/* What is being copied. */
struct redaction {
    struct strbuf out;
    const char *s;     /* what is left */
    const char *begin; /* of the text */
};

static void copy(struct redaction *r, size_t n)
{
    strbuf_append_n(&r->out, r->s, n);
    r->s += n;
}

static void hide(struct redaction *r, size_t n)
{
    strbuf_append(&r->out, REDACTED);
    r->s += n;
}

/* A quotation mark with the backslashes before it, as JSON inside a string has them; 0 if there is none. */
static size_t quote_length(const char *s)
{
    size_t n = strspn(s, "\\");

    return s[n] == '"' || s[n] == '\'' ? n + 1 : 0;
}

/* The length of a value in quotes, without them. */
static size_t quoted_length(const char *s, char quote)
{
    size_t n = 0;

    while (s[n] != '\0' && s[n] != quote)
        n += s[n] == '\\' && s[n + 1] != '\0' && s[n + 1] != quote ? 2 : 1;
    while (s[n] == quote && n > 0 && s[n - 1] == '\\')
        n--;
    return n;
}

static size_t value_length(const char *value, const char *quote, size_t n_quote)
{
    return n_quote > 0 ? quoted_length(value, quote[n_quote - 1]) : strcspn(value, VALUE_END);
}

/* "Basic", "Bearer" and the like, which may be seen. */
static size_t scheme_length(const char *s)
{
    static const char *const schemes[] = {"Basic ", "Bearer ", "Token ", "Digest ", "ApiKey ", "Negotiate "};

    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        if (strncasecmp(s, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    }
    return 0;
}

/* Behind a name: what separates it from its value, 0 if nothing does. "=" and ":", blanks around them, and
 * the closing quote of the name. */
static size_t separator_length(const char *s)
{
    size_t n = quote_length(s);

    n += strspn(s + n, BLANKS);
    if (s[n] != '=' && s[n] != ':')
        return 0;
    if (s[n] == ':' && s[n + 1] == '/' && s[n + 2] == '/')
        return 0;
    n++;
    n += s[n] == '>' || (s[n] == '=' && s[n - 1] == ':');
    return n + strspn(s + n, BLANKS);
}

static bool is_header(const char *name, size_t n)
{
    return (n >= 13 && strncasecmp(name + n - 13, "authorization", 13) == 0) ||
        (n >= 6 && strncasecmp(name + n - 6, "cookie", 6) == 0);
}

/* Hides the value behind a secret's name and its separator. */
static void hide_value(struct redaction *r, const char *name, size_t n_name, enum secrecy secrecy)
{
    size_t quote = quote_length(r->s), scheme, n;
    const char *opening = r->s;

    copy(r, quote);
    scheme = scheme_length(r->s);
    copy(r, scheme);
    n = value_length(r->s, opening, quote);
    if (is_header(name, n_name) && quote == 0)
        n = strcspn(r->s, "\r\n\"'");
    if (secret_value(r->s, n, secrecy))
        hide(r, n);
}

/* An option's value stands behind a blank: "--api-key X". */
static bool is_option(const struct redaction *r, const char *name)
{
    return name >= r->begin + 2 && name[-1] == '-' && name[-2] == '-';
}

static bool is_parameter(const struct redaction *r, const char *name)
{
    return name > r->begin && (name[-1] == '?' || name[-1] == '&');
}

static enum secrecy secrecy_of(const struct redaction *r, const char *name, size_t n)
{
    if (is_parameter(r, name) && ((n == 3 && strncmp(name, "sig", 3) == 0) ||
                                  (n == 9 && strncasecmp(name, "signature", 9) == 0)))
        return SECRECY_STRONG;
    return secret_name(name, n);
}

/* "Bearer X", wherever it stands. */
static bool redact_bearer(struct redaction *r)
{
    size_t scheme = strncasecmp(r->s, "bearer ", 7) == 0 ? 7 : 0;
    size_t n = scheme > 0 ? strcspn(r->s + scheme, VALUE_END) : 0;

    if (n < BEARER_MIN || !secret_value(r->s + scheme, n, SECRECY_STRONG))
        return false;
    copy(r, scheme);
    hide(r, n);
    return true;
}

/* A word: a token by its shape, or the name of a secret, or neither. */
static void redact_word(struct redaction *r)
{
    size_t token = secret_token_length(r->s), n = strspn(r->s, WORD), dashes = strspn(r->s, "-");
    const char *name = r->s + dashes;
    enum secrecy secrecy;
    size_t separator;

    if (token > 0) {
        hide(r, token);
        return;
    }
    if (n == strlen("bearer") && redact_bearer(r))
        return;
    secrecy = secrecy_of(r, name, n - dashes);
    separator = secrecy == SECRECY_NONE ? 0 : separator_length(r->s + n);
    copy(r, n);
    if (secrecy != SECRECY_NONE && separator == 0 && is_option(r, name))
        separator = strspn(r->s, BLANKS "\n");
    if (separator == 0 || r->s[separator] == '\0')
        return;
    copy(r, separator);
    hide_value(r, name, n - dashes, secrecy);
}

/* "://user:password@": who may enter, and with what. */
static void redact_authority(struct redaction *r)
{
    const char *at;

    copy(r, 3);
    at = memrchr(r->s, '@', strcspn(r->s, AUTHORITY_END));
    if (at && at > r->s)
        hide(r, (size_t) (at - r->s));
}

/* The whole of a private key, or as much of it as is here. */
static bool redact_key_block(struct redaction *r)
{
    static const char end[] = "PRIVATE KEY-----";
    const char *header, *footer;

    if (strncmp(r->s, "-----BEGIN ", 11) != 0)
        return false;
    header = memmem(r->s, strnlen(r->s, KEY_HEADER_MAX), end, strlen(end));
    if (!header)
        return false;
    copy(r, (size_t) (header - r->s) + strlen(end));
    footer = strstr(r->s, "-----END ");
    hide(r, footer ? (size_t) (footer - r->s) : strlen(r->s));
    return true;
}

/* A line of nothing but base64 is the body of a key whose header stands on another line. */
static bool is_key_body(const char *s)
{
    size_t n, padding;

    s += strspn(s, BLANKS);
    n = strspn(s, BASE64);
    padding = strspn(s + n, "=");
    if (s[n + padding] != '\0' || padding > 2)
        return false;
    return n >= (padding > 0 ? PADDED_BODY_MIN : BODY_MIN) && strcspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") < n &&
        strcspn(s, "abcdefghijklmnopqrstuvwxyz") < n && strcspn(s, "0123456789+/=") < n + padding;
}

char *redact_text(const char *text)
{
    struct redaction r = {.s = text, .begin = text};

    if (is_key_body(text))
        return strdup(REDACTED);
    while (*r.s != '\0') {
        if (*r.s == '-' && redact_key_block(&r))
            continue;
        if (strspn(r.s, WORD) > 0)
            redact_word(&r);
        else if (strncmp(r.s, "://", 3) == 0)
            redact_authority(&r);
        else
            copy(&r, 1);
    }
    return strbuf_steal(&r.out);
}

char *redact_environment(const char *assignment)
{
    size_t n = strcspn(assignment, "=");

    if (assignment[n] == '=' && secret_variable(assignment, n) &&
        secret_value(assignment + n + 1, strlen(assignment + n + 1), SECRECY_STRONG))
        return str_format("%.*s=" REDACTED, (int) n, assignment);
    return redact_text(assignment);
}

/* "-e", "--env" take an assignment, which looks like nothing else: capitals before the first "=". */
static bool is_assignment(const char *word)
{
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    return n > 0 && word[n] == '=';
}

static bool is_secret_option(const char *word)
{
    return word && strncmp(word, "--", 2) == 0 && !strchr(word, '=') &&
        secret_name(word + 2, strlen(word + 2)) != SECRECY_NONE;
}

int redact_command(char *const *argv, char ***ret)
{
    _cleanup_strv_ char **words = NULL;

    for (size_t i = 0; argv && argv[i]; i++) {
        _cleanup_free_ char *word = NULL;

        if (i > 0 && is_secret_option(argv[i - 1]))
            word = strdup(REDACTED);
        else
            word = is_assignment(argv[i]) ? redact_environment(argv[i]) : redact_text(argv[i]);
        if (!word || strv_push(&words, word) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&words);
    return 0;
}
