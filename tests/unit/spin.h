/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs a loop for as long as a test needs it to. */

#include "port/loop.h"

/* Until done(data), asked once a turn, or loop_stop(), or for timeout_ms; returns what done() says then. */
bool spin_until(struct loop *l, bool (*done)(const void *data), const void *data, unsigned timeout_ms);
void spin_for(struct loop *l, unsigned ms);
