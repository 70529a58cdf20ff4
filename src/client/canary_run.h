/* SPDX-License-Identifier: MIT */
#pragma once

/* A canary: all its requests, at once and one after the other, and one judgement. */

#include "client/client.h"
#include "core/canary/judge.h"

struct canary_run;

/* The judgement may be taken over, or is released afterwards. VERDICT_NONE: the request could not be made. */
typedef void (*canary_run_fn)(struct judgement *j, void *userdata);

/* The canary is copied. `first`: it is its first time since the server was started, which has the first
 * time-out for its first round, and need not be fast in it; where speed is expected there is another round.
 * A round with a failure is the last. `fn` is called exactly once from the loop, unless canary_run_cancel()
 * comes first. -ENOMEM, and what the loop says. */
must_check int canary_run_start(struct client *c, const struct canary_config *canary, bool first,
                                canary_run_fn fn, void *userdata, struct canary_run **ret);
/* Closes its connections. NULL is fine. Not after `fn` was called. */
void canary_run_cancel(struct canary_run *r);
/* The canary's name, borrowed. */
const char *canary_run_name(const struct canary_run *r);
