/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* A random number, for jitter; never for secrets. */
uint64_t random_u64(void);
