/* SPDX-License-Identifier: MIT */
#pragma once

/* What follows a failed epoch: last words, root cause, decision, report. */

#include "core/supervision/fsm.h"

struct supervisor;

/* The epoch at hand has just begun to count as failed, by this event and in this phase; remembers why. */
void failure_begin(struct supervisor *s, enum fsm_event_kind event, enum phase phase, bool unkillable);
/* FSM_ACTION_DUMP: looks at the server's processes if it hangs; posts DUMPED. */
void failure_dump(struct supervisor *s);
/* FSM_ACTION_COLLECT: waits for the last words, then diagnoses, decides, reports and posts DIAGNOSED. */
void failure_collect(struct supervisor *s);
