/* SPDX-License-Identifier: MIT */
#pragma once

/* What has happened since this coalmined began, in numbers. */

#include <stddef.h>
#include <stdint.h>

#include "base/timeutil.h"
#include "core/canary/verdict.h"

/* Upper bounds of the buckets, in milliseconds; one bucket more is for what takes longer. */
#define CANARY_BUCKETS_MSEC { 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000 }
#define N_CANARY_BUCKETS 10

struct class_count {
    char *class_name;
    uint64_t n;
};

/* Zero-initialise; free with counters_release(). */
struct counters {
    uint64_t starts;  /* servers started */
    uint64_t readies; /* of them, those that were proved */
    usec_t last_start_usec; /* from its start to READY, of the last that was proved */
    uint64_t canaries[N_VERDICTS];
    uint64_t canary_buckets[N_CANARY_BUCKETS + 1];
    usec_t canary_usec; /* of all canaries together */
    struct class_count *failures;
    size_t n_failures;
};

void counters_started(struct counters *c);
void counters_ready(struct counters *c, usec_t start_usec);
void counters_canary(struct counters *c, enum verdict verdict, usec_t usec);
/* Out of memory, a class's first failure is not counted. */
void counters_failed(struct counters *c, const char *class_name);
void counters_release(struct counters *c);
