/* SPDX-License-Identifier: MIT */
#pragma once

/* Where an instance's files are, for both programs. The system's instances (run by root):
 * /run/coalmine/NAME and /var/lib/coalmine/NAME. A user's: $XDG_RUNTIME_DIR/coalmine/NAME and
 * $XDG_STATE_HOME/coalmine/NAME (~/.local/state by default). COALMINE_RUNTIME_DIR and
 * COALMINE_STATE_DIR name other base directories. */

#include "base/macro.h"

struct paths {
    char *runtime; /* the base directory, without the instance */
    char *state;
};

/* Those of whoever runs this program. -ENOMEM only. */
must_check int paths_find(struct paths *ret);
/* The system's, whoever runs it: a system unit with User= has its files there, too. -ENOMEM only. */
must_check int paths_system(struct paths *ret);
void paths_release(struct paths *p);
