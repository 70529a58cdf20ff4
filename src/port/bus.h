/* SPDX-License-Identifier: MIT */
#pragma once

/* sd-bus on the loop: descriptor, events and time-out are all honoured. */

#include <systemd/sd-bus.h>

#include "port/loop.h"

struct bus;
/* The connection is lost or could not be made; called once, from the loop. bus_free() it (here or later), and
 * bus_open() anew when wanted. */
typedef void (*bus_lost_fn)(int error, void *userdata);

/* Connects to the system bus (`user` false) or the user's, without waiting for the daemon's answer. */
must_check int bus_open(struct loop *l, bool user, bus_lost_fn fn, void *userdata, struct bus **ret);
sd_bus *bus_get(struct bus *b);
/* After calls made outside of a bus callback: sends what is queued and looks at the time-out anew. */
void bus_flush(struct bus *b);
void bus_free(struct bus *b);
DEFINE_CLEANUP(struct bus *, bus_free);

/* "org.coalmine1." and the instance as a bus name element: letters, digits and '-' stand for themselves,
 * everything else ('_' and a leading digit too, so that no two instances share a name) as _XX. Owned; NULL: memory. */
must_check char *bus_name_of(const char *instance);
