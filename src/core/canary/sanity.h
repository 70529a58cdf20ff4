/* SPDX-License-Identifier: MIT */
#pragma once

/* Text that no healthy model generates, whatever it was told. */

#include <stddef.h>
#include <stdint.h>

/* What is wrong with n bytes of text (valid UTF-8, which may be cut off) that were generated as so many
 * tokens (0: not known), for people; NULL: nothing. Short texts say little and are let off. */
const char *sanity_check(const char *text, size_t n, uint64_t tokens);
