/* SPDX-License-Identifier: MIT */
#pragma once

/* The phases of one epoch, the steps of loading among them, with their durations. */

#include "core/diagnosis/report.h"

#define TIMELINE_MAX 64

struct timeline {
    struct report_phase rows[TIMELINE_MAX];
    size_t n;
    usec_t since; /* monotonic, of the last row's begin */
};

/* Begins anew with nothing in it. */
void timeline_reset(struct timeline *t);
/* Ends the last row and begins another; the same phase and step as before go on. `step` is borrowed, NULL
 * for none. When all rows are taken the last one goes on. */
void timeline_enter(struct timeline *t, enum phase phase, const char *step, usec_t now);
/* Writes the last row's duration up to now. */
void timeline_close(struct timeline *t, usec_t now);
