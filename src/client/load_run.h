/* SPDX-License-Identifier: MIT */
#pragma once

/* Load at one level of concurrency: so many streamed requests at any time until a number of them is through. */

#include "client/client.h"
#include "core/bench/level.h"

struct load_run;

struct load_spec {
    const struct canary_config *canary; /* the request, but for its prompt */
    char *const *prompts;               /* taken in turn */
    uint64_t concurrency;
    uint64_t requests;
    usec_t timeout_usec; /* of each */
};

/* After each request: how many are through. */
typedef void (*load_progress_fn)(uint64_t requests, void *userdata);
/* The level may be taken over, or is released afterwards. Fewer requests than asked for: the server is gone. */
typedef void (*load_fn)(struct level *l, void *userdata);

/* The spec is borrowed until `fn` is called, which may change it for another run. `fn` is called exactly once from the loop, unless
 * load_run_cancel() comes first. -EINVAL with *ret_why: the request cannot be made. */
must_check int load_run_start(struct client *c, const struct load_spec *spec, load_progress_fn progress,
                              load_fn fn, void *userdata, struct load_run **ret, const char **ret_why);
/* Closes its connections. NULL is fine. Not after `fn` was called. */
void load_run_cancel(struct load_run *r);
