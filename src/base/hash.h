/* SPDX-License-Identifier: MIT */
#pragma once

/* FNV-1a over bytes: equal for what is equal, good enough to see that something has changed; no defence
 * against somebody who wants it to look unchanged. */

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(14695981039346656037)

/* The hash of what was hashed before (HASH_START: nothing) with n more bytes behind it. */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}
