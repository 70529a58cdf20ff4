/* SPDX-License-Identifier: MIT */
#pragma once

/* Exponential backoff with equal jitter: the n-th pause (n from 1) lies between half and the whole of
 * min(first * 2^(n-1), max). `random` supplies the position, so that the result is reproducible. */

#include "base/timeutil.h"

usec_t backoff_next(usec_t first_usec, usec_t max_usec, uint64_t n, uint64_t random);
