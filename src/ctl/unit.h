/* SPDX-License-Identifier: MIT */
#pragma once

/* What systemd says of the unit behind an instance. */

#include "ctl/instance.h"

enum unit_view {
    VIEW_UNKNOWN, /* no systemd to ask, or no such unit */
    VIEW_GOING,   /* activating, active, reloading, deactivating */
    VIEW_OVER,    /* inactive or failed */
};

/* The unit that its status file names, else coalmine@NAME.service, else NAME.service. */
enum unit_view unit_of_instance(const struct instance *i);
