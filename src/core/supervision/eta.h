/* SPDX-License-Identifier: MIT */
#pragma once

/* How long a start will take, from the ones before it. */

#include "core/supervision/history.h"

struct eta {
    usec_t start_usec; /* from the spawn to READY; 0: not known */
    usec_t step_usec;  /* the step at hand as a whole; 0: not known */
};

/* The step at hand (`name` NULL: the phase has none) began `began_usec` after the spawn. The start is expected to take
 * that, and then the median of what those before took from the beginning of this step to READY: a step that is not in
 * this start, such as a build that is cached by now, is not waited for. Where none of them had this step, it is the
 * median of the whole. */
struct eta eta_estimate(const struct history *h, enum phase phase, const char *name, usec_t began_usec);
