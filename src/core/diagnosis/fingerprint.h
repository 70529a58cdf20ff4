/* SPDX-License-Identifier: MIT */
#pragma once

/* Fingerprints: equal for equal causes, whichever process, rank, attempt or cache directory told of them;
 * different for different headers, libraries, arguments.
 *
 *     CLASS/SIGNATURE/name=value/...      where a line is the cause
 *     CLASS//ENDING/status/phase          where the circumstances are
 *
 * Values are what identifies the cause (Fingerprint= of the signature, else all captures but the rank),
 * and in them everything that differs from run to run becomes a star: hexadecimal addresses, hashes,
 * UUIDs, PIDs, time stamps, what mkstemp() and tempfile made up. */

#include "core/diagnosis/candidate.h"

/* A copy of s with its chance parts replaced, owned; NULL when memory is out. */
must_check char *fingerprint_normalise(const char *s);
/* Owned and redacted; NULL when memory is out. */
must_check char *fingerprint_of_line(const struct signature *s, const struct capture *captures, size_t n);
must_check char *fingerprint_of_circumstances(const char *class_name, const struct circumstances *c);
