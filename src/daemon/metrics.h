/* SPDX-License-Identifier: MIT */
#pragma once

/* A snapshot in Prometheus' text format, version 0.0.4. */

#include "base/macro.h"

struct status;

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Owned; NULL: memory. */
must_check char *metrics_text(const struct status *s);
