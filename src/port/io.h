/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macro.h"

/* Writes all of it to a blocking descriptor; 0 or negative errno. */
must_check int io_write_all(int fd, const char *data, size_t len);
