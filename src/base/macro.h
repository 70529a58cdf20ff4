/* SPDX-License-Identifier: MIT */
#pragma once

/* Compiler attributes and the few helpers that everything uses. */

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The result must be looked at. */
#define must_check __attribute__((warn_unused_result))
/* `fmt` is the position of the format, `args` that of the first argument (0 for va_list). */
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define unused __attribute__((unused))

#define MIN(a, b)               \
    __extension__({             \
        __auto_type min_a = (a); \
        __auto_type min_b = (b); \
        min_a < min_b ? min_a : min_b; \
    })
#define MAX(a, b)               \
    __extension__({             \
        __auto_type max_a = (a); \
        __auto_type max_b = (b); \
        max_a > max_b ? max_a : max_b; \
    })
