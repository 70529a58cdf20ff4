/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/regex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define UTF8_MAX ((size_t) 4)
/* Larger counts are none that a sane pattern has. */
#define COUNT_MAX ((size_t) 10000)

static struct regex_token token(enum regex_kind kind)
{
    return (struct regex_token){.kind = kind, .min_count = 1, .max_count = 1, .max_bytes = UTF8_MAX};
}

static struct regex_token literal(const char *s, size_t n)
{
    struct regex_token t = token(REGEX_LITERAL);

    memcpy(t.bytes, s, MIN(n, sizeof(t.bytes)));
    t.n_bytes = n;
    return t;
}

static struct regex_token class(size_t max_bytes)
{
    struct regex_token t = token(REGEX_CLASS);

    t.max_bytes = max_bytes;
    return t;
}

/* The character that stands here. */
static struct regex_token character(struct regex *x)
{
    size_t n = utf8_sequence_length(x->s, strlen(x->s));
    struct regex_token t = n > 0 ? literal(x->s, n) : token(REGEX_ALIEN);

    x->s += n;
    return n > 1 && x->caseless ? class(UTF8_MAX) : t;
}

static size_t read_count(const char **s)
{
    size_t n = 0;

    for (; **s >= '0' && **s <= '9'; (*s)++)
        n = MIN(COUNT_MAX, 10 * n + (size_t) (**s - '0'));
    return n;
}

/* "{2}", "{2,}", "{2,5}"; anything else in braces is text. */
static bool read_braces(struct regex *x, struct regex_token *t)
{
    const char *s = x->s + 1;

    if (strspn(s, DIGITS) == 0)
        return false;
    t->min_count = t->max_count = read_count(&s);
    if (*s == ',') {
        s++;
        t->max_count = strspn(s, DIGITS) > 0 ? read_count(&s) : SIZE_MAX;
    }
    if (*s != '}')
        return false;
    x->s = s + 1;
    return true;
}

void regex_quantify(struct regex *x, struct regex_token *t)
{
    char c = *x->s;

    if (c == '{') {
        struct regex_token counted = *t;

        if (!read_braces(x, &counted))
            return;
        *t = counted;
    } else if (c == '*' || c == '+' || c == '?') {
        t->min_count = c == '+';
        t->max_count = c == '?' ? 1 : SIZE_MAX;
        x->s++;
    } else {
        return;
    }
    x->s += *x->s == '?' || *x->s == '+';
}

/* \x41, \x{41} */
static struct regex_token hex_escape(struct regex *x)
{
    const char *digits = x->s + 1 + (x->s[1] == '{');
    size_t n = strspn(digits, HEX);
    char number[3] = "", byte;

    if (n != 2 || (x->s[1] == '{' && digits[n] != '}'))
        return token(REGEX_ALIEN);
    memcpy(number, digits, 2);
    byte = (char) strtoul(number, NULL, 16);
    x->s = digits + n + (x->s[1] == '{');
    return (byte & 0x80) || byte == '\0' ? token(REGEX_ALIEN) : literal(&byte, 1);
}

/* \p{L}, \pL */
static struct regex_token property_escape(struct regex *x)
{
    const char *close = x->s[1] == '{' ? strchr(x->s, '}') : x->s + (x->s[1] != '\0');

    if (!close)
        return token(REGEX_ALIEN);
    x->s = close + 1;
    return class(UTF8_MAX);
}

/* Behind a backslash. */
static struct regex_token escape(struct regex *x)
{
    static const char controls[] = "tnrfea", values[] = "\t\n\r\f\x1b\a";
    char c = *x->s;
    const char *control = c != '\0' ? strchr(controls, c) : NULL;

    if (control) {
        x->s++;
        return literal(&values[control - controls], 1);
    }
    if (c == 'x')
        return hex_escape(x);
    if (c == 'p' || c == 'P')
        return property_escape(x);
    if (c != '\0' && strchr("dwhv", c)) {
        x->s++;
        return class(c == 'd' || c == 'w' ? 1 : UTF8_MAX);
    }
    if (c != '\0' && strchr("sDWSNHV", c)) {
        x->s++;
        return class(UTF8_MAX);
    }
    if (c != '\0' && strchr("bBAzZG", c)) {
        x->s++;
        return token(REGEX_NOTHING);
    }
    if (c == '\0' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return token(REGEX_ALIEN);
    return character(x);
}

/* The end of a bracketed class at s, its ] included; NULL without one. A ] that comes first belongs to the
 * class, and [:alpha:] may stand in it. */
static const char *class_end(const char *s)
{
    s += 1 + (s[1] == '^');
    s += *s == ']';
    while (*s != '\0' && *s != ']') {
        const char *posix = strncmp(s, "[:", 2) == 0 ? strstr(s, ":]") : NULL;

        if (posix)
            s = posix + 2;
        else
            s += *s == '\\' && s[1] != '\0' ? 2 : 1;
    }
    return *s == ']' ? s + 1 : NULL;
}

/* [.] and [Ff] are literals, since case does not count. */
static struct regex_token bracketed(struct regex *x)
{
    const char *s = x->s, *end = class_end(s);
    size_t n;
    bool ascii = true;

    if (!end)
        return token(REGEX_ALIEN);
    x->s = end;
    n = (size_t) (end - s) - 2;
    for (size_t i = 1; i <= n; i++)
        ascii = ascii && !((unsigned char) s[i] & 0x80);
    if (!ascii || s[1] == '^' || memchr(s, '\\', n))
        return class(UTF8_MAX);
    if (n == 1 || (n == 2 && ascii_lower(s[1]) == ascii_lower(s[2])))
        return literal(&s[1], 1);
    return class(1);
}

/* What stands behind "(?" and does not end a group at once. */
static struct regex_token special_group(struct regex *x)
{
    static const char *const plain[] = {":", ">", "|", "i:", "s:", "m:", "J:"};
    static const char *const aside[] = {"=", "!", "<=", "<!"};
    static const char *const options[] = {"i)", "s)", "m)", "J)", "-i)"};
    const char *close;

    for (size_t i = 0; i < ARRAY_SIZE(aside); i++) {
        if (str_after(x->s, aside[i])) {
            x->s += strlen(aside[i]);
            return token(REGEX_OPEN_ASIDE);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
        if (str_after(x->s, plain[i])) {
            x->caseless = x->caseless || *x->s == 'i';
            x->s += strlen(plain[i]);
            return token(REGEX_OPEN);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (str_after(x->s, options[i])) {
            x->caseless = x->caseless || *x->s == 'i';
            x->s += strlen(options[i]);
            return token(REGEX_NOTHING);
        }
    }
    close = *x->s == '<' || str_after(x->s, "P<") ? strchr(x->s, '>') : NULL;
    if (!close)
        return token(REGEX_ALIEN);
    x->s = close + 1;
    return token(REGEX_OPEN);
}

static struct regex_token group(struct regex *x)
{
    x->s++;
    if (*x->s == '*')
        return token(REGEX_ALIEN);
    if (*x->s != '?')
        return token(REGEX_OPEN);
    x->s++;
    return special_group(x);
}

/* Punctuation that is no literal, and stands for itself alone. */
static struct regex_token punctuation(struct regex *x)
{
    switch (*x->s++) {
    case ')':
        return token(REGEX_CLOSE);
    case '|':
        return token(REGEX_OR);
    case '.':
        return class(UTF8_MAX);
    default:
        return token(REGEX_NOTHING);
    }
}

struct regex_token regex_next(struct regex *x)
{
    struct regex_token t;

    if (*x->s == '\0')
        return token(REGEX_END);
    if (*x->s == '(')
        return group(x);
    if (*x->s == '\\') {
        x->s++;
        t = escape(x);
    } else if (*x->s == '[') {
        t = bracketed(x);
    } else if (strchr(")|.^$", *x->s)) {
        t = punctuation(x);
    } else {
        t = character(x);
    }
    if (t.kind == REGEX_LITERAL || t.kind == REGEX_CLASS || t.kind == REGEX_NOTHING)
        regex_quantify(x, &t);
    return t;
}
