/* SPDX-License-Identifier: MIT */
#pragma once

/* What grows outside of the server's processes while it starts: the directories that it builds and downloads into,
 * and the GPUs' used memory. To look costs a process or two, so one looks only where nothing cheaper shows work. */

#include "core/supervision/sign.h"
#include "port/loop.h"

struct growth;
/* SIGN_CACHE, SIGN_GPU, or SIGN_NONE where nothing has grown. */
typedef void (*growth_fn)(enum sign sign, void *userdata);

must_check int growth_new(struct loop *l, growth_fn fn, void *userdata, struct growth **ret);
/* A new start. Both are borrowed until growth_end(). */
void growth_begin(struct growth *g, char *const *directories, char *const *environment);
/* Looks, unless the last look is so recent that looking would be most of the work, and tells; true when something will
 * be told. `patience_usec` is how often it must be possible to look, however long that takes. */
bool growth_look(struct growth *g, usec_t patience_usec);
void growth_end(struct growth *g);
void growth_free(struct growth *g);
DEFINE_CLEANUP(struct growth *, growth_free);
