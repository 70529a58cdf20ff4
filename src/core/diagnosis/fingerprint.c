/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/fingerprint.h"

#include "base/str.h"
#include "core/diagnosis/redact.h"
#include "core/diagnosis/template.h"

#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define ALNUM LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS

/* Shorter ones may be words or numbers that mean something: a GPU's architecture, a size. */
#define HASH_MIN ((size_t) 16)
#define SHORT_HASH_MIN ((size_t) 8)
#define PID_MIN ((size_t) 4)

static size_t count(const char *s, size_t n, const char *of)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += strchr(of, s[i]) ? 1 : 0;
    return found;
}

/* A hash among the words of a path: long, and letters and digits mixed. In base 32 it has small letters
 * only, unlike the mangled names of C++. */
static bool is_hash(const char *s, size_t n)
{
    size_t digits = count(s, n, DIGITS);

    if (digits < 2 || digits == n)
        return false;
    return count(s, n, HEX) == n ? n >= SHORT_HASH_MIN
                                 : n >= HASH_MIN && digits >= 4 && count(s, n, LOWER DIGITS) == n;
}

/* What mkstemp() and Python's tempfile put behind "tmp", and nvcc behind "tmpxft_". */
static bool is_temporary(const char *s, size_t n)
{
    return n >= 9 && strncmp(s, "tmp", 3) == 0 && !str_after(s, "tmpfs");
}

/* The length of 2025-01-31 and 12:34:56, 0 if neither is at s. */
static size_t clock_length(const char *s)
{
    size_t first = strspn(s, DIGITS);
    char separator = s[first];
    size_t n = first;

    if (first == 0 || first > (separator == '-' ? 4 : 2) || (separator != ':' && separator != '-'))
        return 0;
    for (int part = 0; part < 2; part++) {
        size_t digits = s[n] == separator ? strspn(s + n + 1, DIGITS) : 0;

        if (digits != 2)
            return 0;
        n += 1 + digits;
    }
    return n;
}

/* The length of the chance part at s, where a word begins; 0 if the word means something. */
static size_t chance_length(const char *s, const char *before, size_t n_before)
{
    size_t n = strspn(s, ALNUM), clock = clock_length(s);
    bool behind_pid = n_before >= 4 && (strncmp(before + n_before - 4, "pid=", 4) == 0 ||
                                        strncmp(before + n_before - 4, "pid ", 4) == 0);

    if (clock > 0)
        return clock;
    if (s[0] == '0' && s[1] == 'x' && strspn(s + 2, HEX) >= PID_MIN)
        return 2 + strspn(s + 2, HEX);
    if (behind_pid && strspn(s, DIGITS) == n)
        return n;
    return is_hash(s, n) || is_temporary(s, n) ? n : 0;
}

char *fingerprint_normalise(const char *s)
{
    struct strbuf out = {};
    const char *begin = s;

    while (*s != '\0') {
        size_t chance = chance_length(s, begin, (size_t) (s - begin)), word = strspn(s, ALNUM);

        if (chance > 0)
            strbuf_append_char(&out, '*');
        else
            strbuf_append_n(&out, s, MAX(word, (size_t) 1));
        s += chance > 0 ? chance : MAX(word, (size_t) 1);
    }
    return strbuf_steal(&out);
}

static bool identifies(const struct signature *s, const char *name)
{
    if (s->fingerprint_given)
        return strv_contains(s->fingerprint, name);
    return !str_equal(name, TEMPLATE_RANK);
}

/* Redacted, freeing the original; NULL for NULL. */
static char *redact_owned(char *text)
{
    _cleanup_free_ char *plain = text;

    return plain ? redact_text(plain) : NULL;
}

char *fingerprint_of_line(const struct signature *s, const struct capture *captures, size_t n)
{
    struct strbuf out = {};

    strbuf_appendf(&out, "%s/%s", s->class->name, s->id);
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *value = NULL;

        if (!identifies(s, captures[i].name))
            continue;
        value = fingerprint_normalise(captures[i].value);
        if (!value)
            out.failed = true;
        strbuf_appendf(&out, "/%s=%s", captures[i].name, str_or_empty(value));
    }
    return redact_owned(strbuf_steal(&out));
}

char *fingerprint_of_circumstances(const char *class_name, const struct circumstances *c)
{
    struct strbuf out = {};

    strbuf_appendf(&out, "%s//%s/%d/%s", class_name, ending_name(c->ending), c->status, phase_name(c->phase));
    if (c->ending == ENDING_CANARY)
        strbuf_appendf(&out, "/%s", verdict_name(c->verdict));
    return strbuf_steal(&out);
}
