/* SPDX-License-Identifier: MIT */
#include "core/canary/sanity.h"

#include "base/str.h"

#define REPLACEMENT "\xef\xbf\xbd"
/* A period is looked for in so much of a text, and one of a token is no longer than this. */
#define PERIOD_TEXT_MAX ((size_t) 2048)
#define PERIOD_MAX ((size_t) 32)
/* So often a token may come running, so many blanks in a row may be generated. */
#define REPEATS ((size_t) 8)
#define BLANK_TOKENS UINT64_C(8)
#define MARKS ((size_t) 4)

struct tally {
    size_t characters; /* blanks apart */
    size_t marks;
    size_t replacements;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct tally count(const char *text, size_t n)
{
    struct tally t = {};

    for (size_t i = 0, length; i < n; i += MAX(length, (size_t) 1)) {
        length = utf8_sequence_length(text + i, n - i);
        if (is_blank(text[i]))
            continue;
        t.characters++;
        t.marks += text[i] == '!';
        t.replacements += length == strlen(REPLACEMENT) && memcmp(text + i, REPLACEMENT, length) == 0;
    }
    return t;
}

/* The shortest period of the text: n less its longest border, as Knuth, Morris and Pratt find it. */
static size_t shortest_period(const char *text, size_t n)
{
    uint16_t border[PERIOD_TEXT_MAX];
    size_t k = 0;

    border[0] = 0;
    for (size_t i = 1; i < n; i++) {
        while (k > 0 && text[i] != text[k])
            k = border[k - 1];
        k += text[i] == text[k];
        border[i] = (uint16_t) k;
    }
    return n - border[n - 1];
}

/* The first token often differs in a blank in front of it. */
static bool repeats_itself(const char *text, size_t n)
{
    size_t period;

    while (n > 0 && is_blank(*text)) {
        text++;
        n--;
    }
    n = MIN(n, PERIOD_TEXT_MAX);
    if (n < REPEATS)
        return false;
    period = shortest_period(text, n);
    return period <= PERIOD_MAX && (n + period - 1) / period >= REPEATS;
}

const char *sanity_check(const char *text, size_t n, uint64_t tokens)
{
    struct tally t = count(text, n);

    if (t.characters == 0)
        return tokens >= BLANK_TOKENS || n >= BLANK_TOKENS ? "nothing but blanks" : NULL;
    if (t.marks == t.characters && t.marks >= MARKS)
        return "nothing but exclamation marks";
    if (t.replacements >= MARKS && t.replacements * 2 >= t.characters)
        return "mostly characters that are none (U+FFFD)";
    if (repeats_itself(text, n) && (tokens == 0 || tokens >= REPEATS))
        return "one token again and again";
    return NULL;
}
