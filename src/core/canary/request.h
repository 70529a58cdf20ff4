/* SPDX-License-Identifier: MIT */
#pragma once

/* The request that a canary sends. Pure: port/http carries it. */

#include "base/cleanup.h"
#include "core/config/config.h"

struct canary_request {
    char *path; /* with a leading slash */
    char *body; /* JSON */
};

void canary_request_release(struct canary_request *r);

/* `model` as the server names it, NULL to leave it out. -ENOMEM only. */
must_check int canary_build(const struct canary_config *c, const char *model, struct canary_request *ret);
