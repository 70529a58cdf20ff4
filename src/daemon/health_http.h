/* SPDX-License-Identifier: MIT */
#pragma once

/* The endpoint for load balancers, orchestrators and Prometheus (HTTP.Listen=): /readyz, /livez, /metrics and
 * /status, from the same snapshot as every other surface. */

#include "base/cleanup.h"
#include "base/macro.h"

struct health_http;
struct supervisor;

/* *ret is NULL where no address is configured. An address that cannot be had is said, and tried again. */
must_check int health_http_new(const struct supervisor *s, struct health_http **ret);
void health_http_free(struct health_http *h);
DEFINE_CLEANUP(struct health_http *, health_http_free);
