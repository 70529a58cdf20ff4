/* SPDX-License-Identifier: MIT */
#pragma once

/* The machine's GPUs, as their tools tell of them: nvidia-smi, amd-smi or rocm-smi, the first that is there and
 * finds a GPU. */

#include "core/gpu/gpu.h"
#include "port/loop.h"

struct gpu;

/* What was seen, borrowed until the call returns; without any device where no tool tells of one. */
typedef void (*gpu_fn)(const struct gpu_state *state, void *userdata);

must_check int gpu_new(struct loop *l, struct gpu **ret);
/* Whether any of the tools is in PATH of the environment. */
bool gpu_has_tool(char *const *environment);
/* Asks, with the holders or without; `fn` is called once, from the loop, unless gpu_cancel() comes first. The
 * environment is borrowed until then. -EBUSY: asked already. */
must_check int gpu_ask(struct gpu *g, char *const *environment, bool holders, gpu_fn fn, void *userdata);
/* Not from within `fn`. */
void gpu_cancel(struct gpu *g);
void gpu_free(struct gpu *g);
DEFINE_CLEANUP(struct gpu *, gpu_free);
