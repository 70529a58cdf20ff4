/* SPDX-License-Identifier: MIT */
#include "core/canary/json_text.h"

#include <errno.h>

#include "base/str.h"

/* What the library allocates, malloc's own share included, measured with jansson 2.14 on 64 bits. */
#define WEIGHT_ARRAY 160
#define WEIGHT_OBJECT 260
#define WEIGHT_MEMBER 96
#define WEIGHT_ITEM 56
#define WEIGHT_QUOTE 48 /* two a string */

struct survey {
    size_t weight;
    bool not_finite;
};

/* Behind the string that begins at i. */
static size_t skip_string(const char *text, size_t n, size_t i)
{
    for (i++; i < n && text[i] != '"'; i++) {
        if (text[i] == '\\')
            i++;
    }
    return i + 1;
}

static size_t weight_of(char c)
{
    switch (c) {
    case '[':
        return WEIGHT_ARRAY;
    case '{':
        return WEIGHT_OBJECT;
    case ':':
        return WEIGHT_MEMBER;
    case ',':
        return WEIGHT_ITEM;
    case '"':
        return 2 * WEIGHT_QUOTE;
    default:
        return 0;
    }
}

/* Outside of strings an N or an I begins nothing else. */
static struct survey survey_text(const char *text, size_t n)
{
    struct survey s = {.weight = n};

    for (size_t i = 0; i < n;) {
        s.weight += weight_of(text[i]);
        s.not_finite = s.not_finite || text[i] == 'N' || text[i] == 'I';
        i = text[i] == '"' ? skip_string(text, n, i) : i + 1;
    }
    return s;
}

static bool blank_out(char *text, size_t n, size_t i, const char *word)
{
    size_t length = strlen(word);

    if (n - i < length || memcmp(text + i, word, length) != 0)
        return false;
    memset(text + i, ' ', length);
    text[i] = '0';
    return true;
}

/* Python's json writes them where it finds them, although JSON has no such numbers. */
static bool replace_not_finite(char *text, size_t n)
{
    bool found = false;

    for (size_t i = 0; i < n;) {
        if (text[i] == 'N' || text[i] == 'I')
            found = blank_out(text, n, i, "NaN") || blank_out(text, n, i, "Infinity") || found;
        i = text[i] == '"' ? skip_string(text, n, i) : i + 1;
    }
    return found;
}

/* jansson takes many a failed allocation for a mistake in the text, and a good server must not be condemned
 * for that: errno knows. */
static int parse(const char *text, size_t n, struct json_text *t)
{
    errno = 0;
    t->value = json_loadb(text, n, JSON_ALLOW_NUL, &t->error);
    return !t->value && errno == ENOMEM ? -ENOMEM : 0;
}

static int parse_replaced(const char *text, size_t n, struct json_text *t)
{
    _cleanup_free_ char *copy = malloc(n);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, text, n);
    t->not_finite = replace_not_finite(copy, n);
    return parse(t->not_finite ? copy : text, n, t);
}

int json_text_load(const char *text, size_t n, struct json_text *ret)
{
    struct survey s = survey_text(text, n);
    struct json_text t = {.too_heavy = s.weight > JSON_TEXT_MAX_WEIGHT};
    int r = 0;

    if (!t.too_heavy)
        r = s.not_finite ? parse_replaced(text, n, &t) : parse(text, n, &t);
    if (r < 0)
        return r;
    *ret = t;
    return 0;
}

void json_text_release(struct json_text *t)
{
    json_decref(t->value);
    *t = (struct json_text){};
}
