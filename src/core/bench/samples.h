/* SPDX-License-Identifier: MIT */
#pragma once

/* Measured values, kept whole up to a bound, and what people ask of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

/* Beyond so many values every second one is dropped and, from then on, not taken: what is kept stays an even
 * picture of all. */
#define SAMPLES_MAX ((size_t) 1 << 20)

/* Zero-initialise; free with samples_release(). */
struct samples {
    uint64_t *values;
    size_t n;
    size_t allocated;
    uint64_t seen;   /* all that were added */
    uint64_t stride; /* one in so many is taken; 0 and 1: each */
    bool sorted;
};

must_check int samples_add(struct samples *s, uint64_t value);
/* The value that `percent` (0 to 100) of all do not exceed, by the nearest rank; 0 for no values. */
uint64_t samples_percentile(struct samples *s, double percent);
void samples_release(struct samples *s);
