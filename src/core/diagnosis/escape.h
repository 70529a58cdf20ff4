/* SPDX-License-Identifier: MIT */
#pragma once

/* Terminal escape sequences in text. */

#include <stddef.h>

/* How many bytes at s (n bytes left) are printable ASCII that begins no escape sequence in any of its
 * spellings. */
size_t escape_plain_length(const char *s, size_t n);
/* The length of the escape sequence at s, 0 if there is none: colours, cursor movements and titles, with a
 * real escape character, with one that a collector has spelt out (^[, #033, \x1b, \u001b, \033, \e), or
 * with one that a collector has dropped, which leaves "[0;36m". */
size_t escape_length(const char *s, size_t n);
