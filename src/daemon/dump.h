/* SPDX-License-Identifier: MIT */
#pragma once

/* The look at a server that hangs, before it is ended: its processes as the kernel sees them, and what the operator's
 * own command (Report.DumpCommand=) prints about them. */

#include "core/config/config.h"
#include "core/diagnosis/report.h"
#include "daemon/processes.h"
#include "port/loop.h"

struct dump;
typedef void (*dump_fn)(void *userdata);

struct dump_target {
    const struct processes *processes;
    pid_t main_pid; /* 0: gone */
    char *const *environment; /* the server's */
};

must_check int dump_new(struct dump **ret);
/* Looks at the processes now; `when` (static) says for the report at which moment that was. A second look replaces the
 * first one. */
must_check int dump_look(struct dump *d, const struct processes *processes, const char *when);
/* Runs the command, if there is one; `fn` is called when it has ended, from the loop, unless dump_end() comes first.
 * Returns 1 where there is something to wait for, 0 where there is not. */
must_check int dump_run(struct dump *d, struct loop *l, const struct report_config *config,
                        const struct dump_target *target, dump_fn fn, void *userdata);
/* The command is not waited for any longer; what it printed is lost. */
void dump_end(struct dump *d);
/* Borrows from the dump. */
struct report_dump dump_report(const struct dump *d);
/* Which process is in the way, in words; owned, NULL: memory. */
must_check char *dump_describe_stuck(const struct dump *d);
void dump_free(struct dump *d);
DEFINE_CLEANUP(struct dump *, dump_free);
