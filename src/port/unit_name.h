/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of instances in names of units (systemd.unit(5), "String escaping and inclusion in unit names"): what
 * cannot stand there is written \xHH, byte by byte, as systemctl(1) and systemd-escape(1) do. But '-' is itself
 * here and not a '/', which no instance's name has: coalmine@foo-bar.service and coalmine@foo\x2dbar.service are
 * both those of the instance "foo-bar". */

#include "base/macro.h"

/* All owned by the caller; NULL when memory is out. */

/* The instance's name as systemd hands it over (%i). What is no escape stays as it is. */
must_check char *unit_name_unescape(const char *text);
/* "coalmine@INSTANCE.service" */
must_check char *unit_name_of(const char *instance);
