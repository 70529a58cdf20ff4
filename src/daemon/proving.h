/* SPDX-License-Identifier: MIT */
#pragma once

/* The way from a closed port to a passed suite: when to look at the port, when to send which canary, and
 * what to make of what comes back. */

#include "client/client.h"
#include "core/canary/judge.h"
#include "core/supervision/fsm.h"
#include "daemon/processes.h"
#include "port/loop.h"

struct proving;

struct proving_events {
    void (*event)(enum fsm_event_kind kind, void *userdata);
    /* A canary is through, or (NULL) the server could not be asked for its model, or a stranger has its port.
     * The judgement may be taken over. `let_off`: it was rejected, and is optional. */
    void (*judged)(const char *canary, struct judgement *j, bool let_off, void *userdata);
};

/* Everything is borrowed for its life. */
must_check int proving_new(struct loop *l, struct client *client, const struct proving_events *events,
                           void *userdata, struct proving **ret);
void proving_free(struct proving *p);
DEFINE_CLEANUP(struct proving *, proving_free);

/* Watches for the port of an epoch, then runs the whole suite of the client's configuration. `processes` are
 * those of the epoch, borrowed until proving_end(): a listener that is none of them is a stranger's. */
void proving_begin(struct proving *p, const struct processes *processes);
/* The suite is another one: from its first canary, at once. */
void proving_again(struct proving *p);
/* What is under way is closed. */
void proving_end(struct proving *p);
bool proving_under_way(const struct proving *p);
/* The canary under way, or NULL. */
const char *proving_current(const struct proving *p);
