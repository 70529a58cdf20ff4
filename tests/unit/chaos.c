/* SPDX-License-Identifier: MIT */
#include "chaos.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* More than any sensible body allocates. */
#define CHAOS_MAX 100000UL

static unsigned long countdown;
static bool reached;

void chaos_arm(unsigned long nth)
{
    countdown = nth;
    reached = false;
}

_Bool chaos_disarm(void)
{
    countdown = 0;
    return reached;
}

static bool must_fail(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    reached = true;
    errno = ENOMEM;
    return true;
}

#define WRAP(name, parameters, arguments)          \
    void *__real_##name parameters;                \
    void *__wrap_##name parameters;                \
    void *__wrap_##name parameters                 \
    {                                              \
        return must_fail() ? NULL : __real_##name arguments; \
    }

WRAP(malloc, (size_t size), (size))
WRAP(calloc, (size_t count, size_t size), (count, size))
WRAP(realloc, (void *p, size_t size), (p, size))
WRAP(reallocarray, (void *p, size_t count, size_t size), (p, count, size))
WRAP(strdup, (const char *s), (s))
WRAP(strndup, (const char *s, size_t n), (s, n))

void *chaos_malloc(size_t size)
{
    return __wrap_malloc(size);
}

unsigned long chaos_each(chaos_body *body, void *data)
{
    for (unsigned long nth = 1; nth <= CHAOS_MAX; nth++) {
        bool failed;
        int r;

        chaos_arm(nth);
        r = body(data);
        failed = chaos_disarm();
        if (!failed) {
            assert_int_equal(r, 0);
            assert_true(nth > 1);
            return nth - 1;
        }
        if (r != -ENOMEM)
            fail_msg("allocation %lu failed and the result is %d", nth, r);
    }
    fail_msg("no end after %lu allocations", CHAOS_MAX);
    return 0;
}
