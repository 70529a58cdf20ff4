/* SPDX-License-Identifier: MIT */
#pragma once

/* What signals to coalmined mean. SIGTERM, SIGINT and a lost terminal ask it to stop, SIGHUP to reload; SIGQUIT,
 * SIGUSR1 and SIGUSR2 are the server's, and are passed on to its main process. */

#include "base/cleanup.h"
#include "base/macro.h"

struct signals;
struct supervisor;

/* To be called first of all: what comes from now on waits until there is a loop; otherwise the first process of
 * a container would never know of it. */
void signals_prepare(void);
must_check int signals_new(struct supervisor *s, struct signals **ret);
void signals_free(struct signals *s);
DEFINE_CLEANUP(struct signals *, signals_free);
