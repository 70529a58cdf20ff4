/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macro.h"

/* The home directory that programs with that environment see: HOME, or, where systemd sets none (a service of root's),
 * that of the user in the password database. Owned; NULL: none, or memory. */
must_check char *home_directory(char *const *environment);
