/* SPDX-License-Identifier: MIT */
#pragma once

/* The verbs of coalminectl. Each gets the arguments that begin with its own name and returns the exit code:
 * 0 done, 2 wrong usage or nothing to read, others as coalminectl(1) has them for the verb. */

enum { CTL_OK = 0, CTL_FAILED = 1, CTL_USAGE = 2 };

/* X(function, name, arguments, what it does) */
#define VERBS(X)                                                                                       \
    X(ctl_status, "status", "[--json] [NAME...]", "What the instances do and how they are")            \
    X(ctl_wait, "wait", "[--for=ready|stopped] [--timeout=TIME] NAME", "Wait until an instance is there") \
    X(ctl_report, "report", "[--json|--list] NAME [REPORT]", "The newest failure report, or another")  \
    X(ctl_diagnose, "diagnose", "[--json] [FILE|-]", "Say why the server of a log has failed")         \
    X(ctl_restart, "restart", "NAME", "Restart the server in place")                                   \
    X(ctl_reload, "reload", "NAME", "Read configuration and catalog anew under the running server")    \
    X(ctl_pause, "pause", "[--for=TIME] NAME", "Hold canaries and restarts, for a time or until resumed") \
    X(ctl_resume, "resume", "NAME", "End a pause")                                                     \
    X(ctl_run_canary, "run-canary", "[--json] NAME", "Send the live canary now and tell its verdict")  \
    X(ctl_canary, "canary", "[OPTIONS] NAME|--url=URL", "Run the whole suite now against any server")     \
    X(ctl_bench, "bench", "[OPTIONS] NAME|--url=URL", "Measure throughput and latency over concurrency")     \
    X(ctl_endpoint, "endpoint", "NAME", "HOST:PORT or socket of the running server")                    \
    X(ctl_list, "list", "[--json]", "All instances")                                                   \
    X(ctl_check, "check", "[NAME|FILE...]", "Check configuration and catalog without starting anything") \
    X(ctl_cat_config, "cat-config", "[--json] NAME|FILE", "What is in force and where it comes from")

#define X(function, ...) int function(int argc, char **argv);
VERBS(X)
#undef X
