/* SPDX-License-Identifier: MIT */
#pragma once

/* How much directories hold, counted by du(1) in a process of its own: on a network file system that may take long. */

#include "port/loop.h"

struct disk_usage;
/* `bytes`: all of them together on their disks; what is not there holds nothing. 0 also where it could not be told within
 * the time. */
typedef void (*disk_usage_fn)(uint64_t bytes, void *userdata);

/* `fn` is called once, from the loop, unless disk_usage_free() comes first. */
must_check int disk_usage_ask(struct loop *l, char *const *directories, usec_t timeout_usec, disk_usage_fn fn,
                              void *userdata, struct disk_usage **ret);
void disk_usage_free(struct disk_usage *d);
DEFINE_CLEANUP(struct disk_usage *, disk_usage_free);
