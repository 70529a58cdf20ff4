/* SPDX-License-Identifier: MIT */
#pragma once

/* Configuration, profile and catalog read anew under a running server. */

#include "base/macro.h"

struct generation;
struct supervisor;

/* Brings into force what can be without another start of the server; what cannot waits for that in
 * epoch.pending. -EINVAL, *ret_errors being a line for each mistake, or -ENOMEM: nothing has changed. Either is
 * told to the journal. */
int reload(struct supervisor *s, char ***ret_errors);
/* The watcher goes by that generation from now on. A failure leaves everything as it was. */
must_check int reload_watcher(struct supervisor *s, struct generation *g, char ***ret_errors);
