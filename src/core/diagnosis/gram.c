/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/gram.h"

#include <stdbool.h>

/* A common pair of bytes weighs as much as two or three entries in the same slot. */
#define PAIR_COST 40
#define LOAD_COST 15
#define WORD_COST 150
/* What lacks the bytes behind it is met much more often. */
#define TAIL_COST 60

/* Whether two bytes are often met next to each other in logs: within words, and where words begin and end. */
static bool is_common_pair(char a, char b)
{
    static const char pairs[] =
        "in er on re at or te ti en st ar es nt to ro al ra ng ed le ne co an nd se de om me io ou it is lo "
        "ta he th ce ma mo li pr ve em ge pe us ec ct ur un ac el ic as la pa et ad di po ch tr mp si ol up "
        "no ag be ap ri il ul ut fi am ss wa sa uc ca od ot ho ke ff fo of gp pu gr im ir iz ll mi ns oa op "
        "os ow pl qu rc rt rr rs sh so sp su tc tt ty ue ui um wi wo ";
    static const char firsts[] = "acdefilmnoprstuw", lasts[] = "denrsty:,.)";
    const char pair[] = {a, b, ' ', '\0'};

    if (a == '\0' || b == '\0')
        return false;
    if (a == ' ')
        return strchr(firsts, b);
    if (b == ' ')
        return strchr(lasts, a);
    return strstr(pairs, pair);
}

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

/* How often four such bytes are met in logs, roughly: what counts are everyday words, then common pairs, then
 * common letters. */
static uint32_t commonness(const char *s)
{
    static const char letters[] = " etaoinrslcdmpugf0123456789.:_-/=,";
    uint32_t sum = is_everyday(s) ? WORD_COST : 0;

    for (size_t i = 0; i < GRAM_BYTES; i++) {
        const char *at = s[i] != '\0' ? strchr(letters, s[i]) : NULL;

        sum += at ? (uint32_t) (sizeof(letters) - (size_t) (at - letters)) : 0;
        sum += i > 0 && is_common_pair(s[i - 1], s[i]) ? PAIR_COST : 0;
    }
    return sum;
}

static uint32_t cost_of(const char *literal, size_t len, size_t at, const uint32_t *loads, unsigned shift)
{
    return commonness(literal + at) + LOAD_COST * loads[gram_hash(literal + at) >> shift] +
        (at + 2 * GRAM_BYTES > len ? TAIL_COST : 0);
}

uint32_t gram_choose(const char *literal, size_t len, const uint32_t *loads, unsigned shift)
{
    uint32_t best = 0, least = UINT32_MAX;

    for (size_t i = 0; i + GRAM_BYTES + 1 <= len; i++) {
        uint32_t cost = cost_of(literal, len, i, loads, shift) + cost_of(literal, len, i + 1, loads, shift);

        if (cost < least) {
            least = cost;
            best = (uint32_t) i;
        }
    }
    return best;
}
