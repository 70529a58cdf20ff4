/* SPDX-License-Identifier: MIT */
#pragma once

/* For the eyes: colour where stdout is a terminal that has some (NO_COLOR respected), durations, moments. */

#include "base/timeutil.h"

enum colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_BAD, COLOUR_BUSY, COLOUR_DIM, COLOUR_BOLD };

/* The escape sequence, "" where there is no colour; COLOUR_NONE ends the one before. */
const char *term_colour(enum colour c);
/* The colour that fits a unit state's name. */
enum colour term_state_colour(const char *state);
#define TERM_MOMENT_MAX 96

/* A moment as status files and reports have it (RFC 3339), told as a person would: in local time, and how long
 * ago or ahead it is. What is no such moment is told as it stands, cut to fit. Writes into buf, returns buf. */
const char *term_moment(char buf[TERM_MOMENT_MAX], const char *rfc3339);
/* Prints text with control characters (escape sequences from a server's log) made harmless. */
void term_print(const char *text);
