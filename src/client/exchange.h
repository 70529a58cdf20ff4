/* SPDX-License-Identifier: MIT */
#pragma once

/* One request and the judgement of its answer. */

#include "client/client.h"
#include "core/canary/judge.h"
#include "core/canary/request.h"

struct exchange;

/* The judgement may be taken over, or is released afterwards. */
typedef void (*exchange_fn)(struct judgement *j, void *userdata);
/* A streamed answer has had so many pieces with text by now (monotonic). */
typedef void (*exchange_piece_fn)(uint64_t pieces, usec_t now, void *userdata);

struct exchange_spec {
    const struct canary_config *canary;   /* borrowed for the exchange's life */
    const struct canary_request *request; /* borrowed for the call */
    usec_t timeout_usec;
    size_t max_bytes;
    bool speed;              /* whether the canary's limits on it count */
    exchange_piece_fn piece; /* NULL: nobody wants to know */
};

/* `fn` is called exactly once from the loop, unless exchange_cancel() comes first. Returns as client_start()
 * does. */
must_check int exchange_start(struct client *c, const struct exchange_spec *spec, exchange_fn fn, void *userdata,
                              struct exchange **ret, const char **ret_why);
/* Closes the connection. NULL is fine. Not after `fn` was called. */
void exchange_cancel(struct exchange *e);
