/* SPDX-License-Identifier: MIT */
#pragma once

/* One step under way, and the pieces that transitions are made of. Private to the state machine. */

#include "core/supervision/fsm.h"

struct fsm_run {
    struct fsm_step *step;
    struct fsm *fsm; /* the next state, being made */
    const struct fsm_limits *limits;
    const struct fsm_event *event;
    usec_t now;
};

extern const struct fsm_deadlines fsm_disarmed;
/* Where nobody diagnosed: what remains when no request says how to go on. */
extern const struct fsm_decision fsm_undiagnosed;

/* Questions about the state */

bool run_starting(const struct fsm_run *r);
bool run_serving(const struct fsm_run *r);
bool run_passed(const struct fsm_run *r, usec_t deadline);

/* Pieces */

void run_ask(struct fsm_run *r, enum fsm_action_kind action);
void run_enter(struct fsm_run *r, enum phase phase, const char *reason);
void run_finish(struct fsm_run *r, enum phase phase, enum exit_code code, const char *reason);
/* No deadline any more but that of the pause. */
void run_disarm(struct fsm_run *r);
/* The deadlines that belong to the phase begin anew; while paused, none does. */
void run_arm(struct fsm_run *r);
/* The stall deadline alone does. A suspect gets as much patience as any other as long as it works, but
 * less while it is silent. */
void run_await_progress(struct fsm_run *r);
void run_spawn(struct fsm_run *r, const char *reason);
/* A fresh epoch; of the last one only the numbers, what systemd was told and the pause remain. */
void run_begin_epoch(struct fsm_run *r, const char *reason);
void run_collect(struct fsm_run *r);
/* The epoch is over and, where it failed, diagnosed. A request goes before a decision. */
void run_conclude(struct fsm_run *r, const struct fsm_decision *decision);
/* After COOLING: the restart, which may be systemd's. */
void run_start_over(struct fsm_run *r, const char *reason);
/* While stopping: goes on as soon as no process is left. */
void run_go_on_if_empty(struct fsm_run *r);
/* While stopping: the stop signal goes out, and its deadline begins. */
void run_signal(struct fsm_run *r);
void run_end_server(struct fsm_run *r, const char *reason);
void run_fail(struct fsm_run *r, const char *reason);
/* The same of a server that lives and does not do its work: it is looked at before it is ended. */
void run_fail_hanging(struct fsm_run *r, const char *reason);
/* The same before there is a server. */
void run_fail_preflight(struct fsm_run *r, const char *reason);

/* Ends the pause: what it held begins anew. */
void run_resume(struct fsm_run *r, const char *reason);

/* Handlers of the operator's requests and of time */

void fsm_on_stop(struct fsm_run *r);
void fsm_on_restart(struct fsm_run *r);
void fsm_on_pause(struct fsm_run *r);
void fsm_on_resume(struct fsm_run *r);
void fsm_on_timer(struct fsm_run *r);
