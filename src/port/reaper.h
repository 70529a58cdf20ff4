/* SPDX-License-Identifier: MIT */
#pragma once

/* Adopted descendants: this process becomes a subreaper (PR_SET_CHILD_SUBREAPER), so that orphans
 * of the server become ours, and reaps them as they end. */

#include "port/loop.h"

typedef void (*reaper_fn)(void *userdata);
struct reaper;

/* Reaps every child of this process except those with a struct child, which their own watcher
 * reaps. Takes SIGCHLD; at most one reaper. `fn` (may be NULL) is called when the last child of
 * ours has ended, with or without a struct child, and after that one's own callback: then no
 * descendant is left either. */
must_check int reaper_new(struct loop *l, reaper_fn fn, void *userdata, struct reaper **ret);
/* From now on another is called, or nobody (NULL): about what ends from now on. */
void reaper_tell(struct reaper *r, reaper_fn fn, void *userdata);
/* The process stays a subreaper. */
void reaper_free(struct reaper *r);
DEFINE_CLEANUP(struct reaper *, reaper_free);
