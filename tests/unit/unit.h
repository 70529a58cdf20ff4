/* SPDX-License-Identifier: MIT */
#pragma once

/* What every unit test includes: cmocka, and before it the headers that it wants. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macro.h"

/* Says which row of a table failed before it fails. */
#define assert_row(name, condition)                                            \
    do {                                                                       \
        if (!(condition))                                                      \
            fail_msg("row \"%s\": %s", (name), #condition);                    \
    } while (0)
