/* SPDX-License-Identifier: MIT */
/* A history file, and an estimate at each of its own steps: never less than what has passed already. */

#include <stdint.h>
#include <stdlib.h>

#include "core/supervision/eta.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void estimate(const struct history *h, const struct history_step *step, usec_t began)
{
    struct eta eta = eta_estimate(h, step->phase, step->name, began);

    if (eta.start_usec < began)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct history h = {};

    if (history_read((const char *) bytes, n, "k", &h) < 0 || h.n > HISTORY_STARTS)
        abort();
    for (size_t i = 0; i < h.n; i++) {
        if (h.starts[i].n == 0 || h.starts[i].n > HISTORY_STEPS)
            abort();
        for (size_t k = 0; k < h.starts[i].n; k++) {
            estimate(&h, &h.starts[i].steps[k], 0);
            estimate(&h, &h.starts[i].steps[k], USEC_PER_DAY);
        }
    }
    history_release(&h);
    return 0;
}
