/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/supervision/fsm.h"

struct supervisor;

/* Does what the state machine asks for. Answers come back as events. */
void actions_run(struct supervisor *s, enum fsm_action_kind action);
/* Lets go of an epoch: its processes are gone, or given up. */
void actions_release_epoch(struct supervisor *s);
