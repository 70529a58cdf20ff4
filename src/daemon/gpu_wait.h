/* SPDX-License-Identifier: MIT */
#pragma once

/* The memory that a server held must be free before the next one starts. The driver takes it back only some time after
 * the process is gone, and somebody else may have taken it meanwhile. */

#include <stdbool.h>

#include "base/timeutil.h"
#include "port/loop.h"

struct gpu_wait;

struct gpu_wait_events {
    /* Not free yet; `held` says what is in the way, borrowed until the call returns. */
    void (*waiting)(const char *held, void *userdata);
    /* Over: with NULL all is as it was before the first start, or nothing can be told; else the time is up. */
    void (*done)(const char *held, void *userdata);
};

must_check int gpu_wait_new(struct loop *l, const struct gpu_wait_events *events, void *userdata, struct gpu_wait **ret);
/* The first call only looks, once: what is in use then is not the server's. Later ones wait for that to be so again,
 * limit_usec at most. The environment, in which the tools are found, is borrowed until the end. */
void gpu_wait_begin(struct gpu_wait *g, char *const *environment, usec_t limit_usec);
/* `done` will not be called. Not from within an event. */
void gpu_wait_cancel(struct gpu_wait *g);
void gpu_wait_free(struct gpu_wait *g);
DEFINE_CLEANUP(struct gpu_wait *, gpu_wait_free);
