/* SPDX-License-Identifier: MIT */
#pragma once

/* The proof that goes on after READY: when the live canary is sent, and what a late one is worth. Real
 * requests that complete, which the engine's metrics tell, stand in for it for a while, and are the
 * difference between a server that is busy and one that is dead. */

#include "client/client.h"
#include "core/canary/judge.h"
#include "port/loop.h"

struct live;

struct live_events {
    /* A canary is through; the judgement may be taken over. VERDICT_BUSY is neither a pass nor a failure. */
    void (*judged)(const char *canary, struct judgement *j, void *userdata);
};

/* Everything is borrowed for its life. The canary and the intervals are those of the client's configuration
 * at the time when they are needed. */
must_check int live_new(struct loop *l, struct client *client, const struct live_events *events, void *userdata,
                        struct live **ret);
void live_free(struct live *l);
DEFINE_CLEANUP(struct live *, live_free);

/* The first canary comes after the interval. */
void live_begin(struct live *l);
/* A canary at once, whatever others do; the one under way counts as it. */
void live_now(struct live *l);
/* The canary under way is closed, and one is sent at once. */
void live_again(struct live *l);
/* No canary any more; the one under way is closed. */
void live_end(struct live *l);
/* The canary under way, or NULL. */
const char *live_current(const struct live *l);
