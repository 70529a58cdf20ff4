/* SPDX-License-Identifier: MIT */
#pragma once

/* A look at the engine's metrics, as [Live] has them. */

#include "client/client.h"
#include "core/canary/activity.h"

struct look;

/* Not `known` where there is nothing to see, or nothing came. */
typedef void (*look_fn)(const struct activity *a, void *userdata);

/* Whether the configuration says where to look. */
bool look_possible(const struct client *c);
/* `fn` is called exactly once from the loop, unless look_cancel() comes first. */
must_check int look_start(struct client *c, look_fn fn, void *userdata, struct look **ret);
/* NULL is fine. Not after `fn` was called. */
void look_cancel(struct look *l);
