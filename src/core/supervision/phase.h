/* SPDX-License-Identifier: MIT */
#pragma once

/* Where an epoch is, what that makes of the systemd unit, and how the supervisor ends. */

#include "base/macro.h"

/* X(constant, name, what people read in STATUS= when nothing better is known) */
#define PHASES(X)                                                          \
    X(PHASE_IDLE, "idle", "not started")                                   \
    X(PHASE_PREFLIGHT, "preflight", "checking the ground before the load") \
    X(PHASE_LOADING, "loading", "loading, port closed")                    \
    X(PHASE_LISTENING, "listening", "port open, not yet generating")       \
    X(PHASE_PROVING, "proving", "canaries under way")                      \
    X(PHASE_READY, "ready", "serving")                                     \
    X(PHASE_DEGRADED, "degraded", "failing its live canary")               \
    X(PHASE_STOPPING, "stopping", "ending the server")                     \
    X(PHASE_COOLING, "cooling", "waiting before the next start")           \
    X(PHASE_STOPPED, "stopped", "stopped")                                 \
    X(PHASE_FAILED, "failed", "failed")

/* What `systemctl is-active` must say. */
#define UNIT_STATES(X)                       \
    X(UNIT_ACTIVATING, "activating")         \
    X(UNIT_ACTIVE, "active")                 \
    X(UNIT_RELOADING, "reloading")           \
    X(UNIT_DEACTIVATING, "deactivating")     \
    X(UNIT_INACTIVE, "inactive")             \
    X(UNIT_FAILED, "failed")

/* The supervisor's exit codes, a contract with units and scripts. X(constant, code, meaning) */
#define EXIT_CODES(X)                                                                  \
    X(EXIT_STOPPED, 0, "asked to stop, and the server is gone")                        \
    X(EXIT_INTERNAL, 70, "internal error of coalmined")                                \
    X(EXIT_RESTART, 75, "failed, a restart may mend it (only with Restart.Mode=exit)") \
    X(EXIT_BAD_CONFIG, 78, "configuration not usable; nothing was started")            \
    X(EXIT_UNMENDABLE, 81, "failure that a restart cannot mend")                       \
    X(EXIT_BUDGET, 82, "restart budget used up")                                       \
    X(EXIT_UNKILLABLE, 83, "the server's processes could not be removed")

#define X(constant, ...) constant,
enum phase { PHASES(X) N_PHASES };
enum unit_state { UNIT_STATES(X) N_UNIT_STATES };
#undef X
#define X(constant, code, meaning) constant = code,
enum exit_code { EXIT_CODES(X) };
#undef X

const char *phase_name(enum phase p);
const char *phase_text(enum phase p);
const char *unit_state_name(enum unit_state s);
/* "unknown exit code" for one that is not in the table. */
const char *exit_code_text(int code);
