/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds out how the server calls its model. */

#include "client/client.h"

struct models;

/* GENERATED: the model is known to the client now, or the server has no list and is asked for none in
 * particular. Otherwise why not; `detail` is one line for people, or NULL; borrowed. */
typedef void (*models_fn)(enum verdict verdict, const char *detail, void *userdata);

/* `fn` is called exactly once from the loop, unless models_cancel() comes first. Returns as client_start()
 * does. */
must_check int models_find(struct client *c, models_fn fn, void *userdata, struct models **ret,
                           const char **ret_why);
/* NULL is fine. Not after `fn` was called. */
void models_cancel(struct models *m);
