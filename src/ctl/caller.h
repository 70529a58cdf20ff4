/* SPDX-License-Identifier: MIT */
#pragma once

/* Asking an instance's coalmined over the bus. A user's instance is looked for on the user's bus, then the
 * system's on the system bus; root asks the system bus alone. */

#include <systemd/sd-bus.h>

#include "base/macro.h"

/* Calls a method of the instance that the word names (ctl/instance.h) with arguments as of sd_bus_message_append(3); the answer is *ret's owner's.
 * Otherwise says what is wrong, whole, and returns a negative errno: -EBADMSG when coalmined refuses what it
 * reads (org.coalmine1.Error.InvalidConfiguration). */
must_check int caller_call(const char *word, const char *method, sd_bus_message **ret, const char *types,
                           ...);

void caller_unref_message(sd_bus_message **m);
#define _cleanup_message_ _cleanup_(caller_unref_message)
