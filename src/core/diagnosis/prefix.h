/* SPDX-License-Identifier: MIT */
#pragma once

/* What stands before the message in a log line: time stamps, levels, places in source code, processes,
 * ranks, and whatever collectors put before all that, in any number. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prefix {
    size_t length;    /* of all prefixes together, the blank behind the last one included */
    const char *rank; /* in the text, not NUL-terminated; NULL when none is named */
    size_t rank_length;
    int64_t pid;      /* -1 when none is named */
    bool own;         /* the program itself put a prefix there, not only a collector */
};

/* text is NUL-terminated. */
struct prefix prefix_parse(const char *text);
