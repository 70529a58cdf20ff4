/* SPDX-License-Identifier: MIT */
#pragma once

/* history.jsonl in the state directory: a line for each ended epoch, which later starts are measured by. */

#include "core/supervision/eta.h"

struct supervisor;

/* A start is about to begin: reads what those like it took. */
void chronicle_begin(struct supervisor *s);
/* The epoch at hand as far as it is known; a new reference, NULL: memory. */
must_check json_t *chronicle_epoch(const struct supervisor *s);
/* It has ended. Once an epoch; nothing where none has begun. */
void chronicle_end(struct supervisor *s, enum epoch_outcome outcome);
/* An epoch whose supervisor died has been found, with what that one knew of it (NULL: nothing). */
void chronicle_torn(struct supervisor *s, const json_t *known, usec_t ended);
/* What the present start will take. */
struct eta chronicle_eta(const struct supervisor *s);
