/* SPDX-License-Identifier: MIT */
#include "core/canary/prompt.h"

#include "base/str.h"

/* Words that nearly every tokenizer has as one token with the blank in front of them. */
static const char *const words[] = {
    "the",  "and",   "was",  "for",   "with", "that", "this", "from", "have", "they", "which",
    "one",  "had",   "time", "there", "were", "when", "your", "can",  "said", "use",  "each",
    "will", "about", "many", "then",  "them", "some", "her",  "make", "like",
};

/* The order comes round again only after the square of their number: repetitions would tempt the model to
 * go on with them. */
static void append_words(struct strbuf *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t round = i / ARRAY_SIZE(words);

        strbuf_append(b, words[i * (round + 1) % ARRAY_SIZE(words)]);
        strbuf_append_char(b, ' ');
    }
}

char *canary_prompt(const struct canary_config *c)
{
    _cleanup_strbuf_ struct strbuf b = {};
    _cleanup_free_ char *clean =
        utf8_sanitize(str_or_empty(c->prompt), strlen(str_or_empty(c->prompt)));

    if (!clean)
        return NULL;
    append_words(&b, c->prompt_tokens);
    if (c->prompt_tokens > 0)
        strbuf_append(&b, "\n\n");
    strbuf_append(&b, clean);
    return strbuf_steal(&b);
}
