/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/gram.h"

#include <stdbool.h>

/* What another entry in the same slot weighs against common letters, which weigh up to 35 each. */
#define LOAD_COST 15
#define WORD_COST 150
/* What lacks the bytes behind it is met much more often. */
#define TAIL_COST 60

/* Whether four bytes are part of a word that servers write all day. */
static bool is_everyday(const char *s)
{
    static const char words[] =
        " info warning server engine worker process running waiting request requests response loading loaded "
        "loader model models weights memory cache prefix token tokens prompt prompts generation generated "
        "throughput average batch decode prefill queue usage used using available version config default "
        "initializing initialized finished completed complete completions chat http post get 200 ok health "
        "metrics cuda graph graphs capture capturing kernel backend device torch compile compiled compiling "
        "attention tensor parallel rank size number seconds took total time from with the for and not this "
        "that will may set found file files path python site-packages lib64 dist-packages /v1/ .py: 000 ";
    const char gram[] = {s[0], s[1], s[2], s[3], '\0'};

    return strstr(words, gram);
}

/* How common a byte is in logs, 0 for all but the most common ones. */
static uint32_t byte_commonness(char c)
{
    static const char common[] = " etaoinrslcdmpugf0123456789.:_-/=,";
    const char *at = c != '\0' ? strchr(common, c) : NULL;

    return at ? (uint32_t) (sizeof(common) - (size_t) (at - common)) : 0;
}

/* How often four such bytes are met in logs, roughly: what counts are everyday words, then common letters. */
static uint32_t commonness(const char *s)
{
    uint32_t sum = is_everyday(s) ? WORD_COST : 0;

    for (size_t i = 0; i < GRAM_BYTES; i++)
        sum += byte_commonness(s[i]);
    return sum;
}

size_t gram_rarest_byte(const char *literal)
{
    size_t rarest = 0;

    for (size_t i = 1; literal[i] != '\0'; i++) {
        if (byte_commonness(literal[i]) < byte_commonness(literal[rarest]))
            rarest = i;
    }
    return rarest;
}

static uint32_t cost_of(const char *literal, size_t len, size_t at, const uint32_t *loads, unsigned shift)
{
    return commonness(literal + at) + LOAD_COST * loads[gram_hash(literal + at) >> shift] +
        (at + 2 * GRAM_BYTES > len ? TAIL_COST : 0);
}

uint32_t gram_choose(const char *literal, size_t len, const uint32_t *loads, unsigned shift)
{
    uint32_t best = 0, least = UINT32_MAX, last = cost_of(literal, len, 0, loads, shift);

    for (size_t i = 1; i + GRAM_BYTES <= len; i++) {
        uint32_t cost = cost_of(literal, len, i, loads, shift);

        if (last + cost < least) {
            least = last + cost;
            best = (uint32_t) i - 1;
        }
        last = cost;
    }
    return best;
}
