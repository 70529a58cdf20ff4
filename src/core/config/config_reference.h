/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macro.h"

/* The sections and keys of the table as a part of a manual page, in scdoc(5). Owned by the caller; NULL
 * when memory is out. */
must_check char *config_reference(void);
