/* SPDX-License-Identifier: MIT */
#pragma once

/* Everything that shows the instance's state to the outside, from one snapshot: sd_notify, status.json
 * and the bus. Also the signs of life that systemd wants meanwhile. */

#include "base/cleanup.h"
#include "base/macro.h"

struct publisher;
struct supervisor;

/* Surfaces that cannot be had (no bus, no run-time directory) are said once and gone without.
 * -EBUSY: another coalmined has this instance. */
must_check int publisher_new(struct supervisor *s, struct publisher **ret);
/* Something has changed. Cheap when nothing that shows has. */
void publisher_update(struct publisher *p);
/* The same after a reload, perhaps at systemd's order. */
void publisher_reloaded(struct publisher *p);
/* HTTP.Listen= has another value. */
void publisher_listen(struct publisher *p);
void publisher_free(struct publisher *p);
DEFINE_CLEANUP(struct publisher *, publisher_free);
