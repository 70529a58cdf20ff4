/* SPDX-License-Identifier: MIT */
#pragma once

/* org.coalmine1 on the bus (docs/man/org.coalmine1.5.scd): the name org.coalmine1.INSTANCE, the object
 * /org/coalmine1, the interface org.coalmine1.Supervisor. */

#include "base/cleanup.h"
#include "base/macro.h"

struct bus_api;
struct supervisor;

/* Without a bus, or when it goes away: tried again, first after a second, then after up to a minute; the
 * rest of the supervisor does not notice. -ENOMEM only. */
must_check int bus_api_new(struct supervisor *s, struct bus_api **ret);
/* Properties may have changed: tells those that did. */
void bus_api_update(struct bus_api *b);
void bus_api_free(struct bus_api *b);
DEFINE_CLEANUP(struct bus_api *, bus_api_free);
