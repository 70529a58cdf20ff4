/* SPDX-License-Identifier: MIT */
#pragma once

/* The request that a canary sends. Pure: port/http carries it. */

#include "base/cleanup.h"
#include "core/config/config.h"

/* What the configuration does not know. */
struct canary_inputs {
    const char *model; /* as the server names it; NULL: not known, or none wanted */
    const char *body;  /* what BodyFile= holds; NULL: nothing */
    size_t body_len;
};

struct canary_request {
    const char *method; /* borrowed from the configuration, or static */
    char *path;         /* with a leading slash */
    char *body;         /* NULL: none */
    size_t body_len;
};

/* -EINVAL: it cannot be made, and *ret_why says why (static text). -ENOMEM. */
must_check int canary_build(const struct canary_config *c, const struct canary_inputs *in,
                            struct canary_request *ret, const char **ret_why);
void canary_request_release(struct canary_request *r);
