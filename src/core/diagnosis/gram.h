/* SPDX-License-Identifier: MIT */
#pragma once

/* Grams: four bytes in a row, by which a literal is looked for. Case is folded in a way that is cheap and the
 * same for all bytes, so that some bytes that are no letters become equal, too. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"

#define GRAM_BYTES ((size_t) 4)

#define GRAM_FOLD UINT32_C(0x20202020)
#define GRAM_FOLD_WORD UINT64_C(0x2020202020202020)
#define GRAM_FACTOR UINT32_C(2654435761)

/* Of four bytes as they lie in memory. Its upper bits are the good ones. */
static inline uint32_t gram_hash_of(uint32_t gram)
{
    return (gram | GRAM_FOLD) * GRAM_FACTOR;
}

static inline uint32_t gram_hash(const char *s)
{
    uint32_t gram;

    memcpy(&gram, s, GRAM_BYTES);
    return gram_hash_of(gram);
}

/* Up to eight bytes at s (n are there), folded; what is not there is as if it were zero. */
static inline uint64_t gram_word(const char *s, size_t n)
{
    uint64_t word = 0;

    if (n >= sizeof(word))
        memcpy(&word, s, sizeof(word));
    else
        memcpy(&word, s, n);
    return word | GRAM_FOLD_WORD;
}

/* A number below 32 for the four, or two, bytes behind the gram that a word begins with. */
static inline unsigned gram_sum_of_four(uint64_t word)
{
    return (uint32_t) (word >> 32) * GRAM_FACTOR >> 27;
}

static inline unsigned gram_sum_of_two(uint64_t word)
{
    return (uint32_t) (word >> 32 & 0xffff) * GRAM_FACTOR >> 27;
}

/* Which pair of a literal's grams, one byte apart, is the least likely to be met by chance:
 * where the first one begins. Those count against it whose slot (the hash shifted right by `shift`) has entries
 * already, and those with less than four bytes behind. A literal of GRAM_BYTES has one gram only. */
uint32_t gram_choose(const char *literal, size_t len, const uint32_t *loads, unsigned shift);
/* Which byte of a literal is the rarest in logs. */
size_t gram_rarest_byte(const char *literal);
