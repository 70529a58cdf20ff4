/* SPDX-License-Identifier: MIT */
#pragma once

/* What is in force for one instance: typed values, each with the place that it came from.
 *
 * Layers, later ones win: the table's defaults, the profile, NAME.conf, NAME.conf.d/ drop-ins in the
 * order of their names, the command line. All speak the syntax of unitfile.h and the keys of the one
 * table in config_key.h. A profile is nothing but a layer that comes first. config_builder.h makes a
 * struct config, config_dump.h shows it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/timeutil.h"

/* X(constant, name) */
#define RESTART_MODES(X)              \
    X(RESTART_IN_PLACE, "in-place")   \
    X(RESTART_EXIT, "exit")
#define CANARY_KINDS(X)               \
    X(CANARY_CHAT, "chat")            \
    X(CANARY_COMPLETIONS, "completions")

#define X(constant, name) constant,
enum restart_mode { RESTART_MODES(X) };
enum canary_kind { CANARY_KINDS(X) };
#undef X

/* [Canary NAME] */
struct canary_config {
    char *name;
    enum canary_kind kind;
    char *path;          /* NULL: the kind's usual one */
    char *prompt;
    double temperature;
    double top_p;        /* below 0: not sent */
    uint64_t max_tokens;
    uint64_t min_tokens; /* generated tokens that the answer must carry */
    usec_t first_timeout_usec; /* while proving: a JIT build may take minutes */
    usec_t timeout_usec; /* when live; Live.TimeoutSec where the canary has none of its own */
};

/* [Probe NAME]: a command of the preflight; a failing one is diagnosed by what it printed. */
struct probe_config {
    char *name;
    char **command;
    usec_t timeout_usec;
};

/* [Phase NAME]: a step of loading, recognised by its first matching line. */
struct phase_config {
    char *name;
    char *text;      /* for people: "loading weights" */
    char **patterns; /* PCRE2, any of them */
};

/* [Class NAME] in an instance's file: what the operator changed of classes.conf. */
struct class_config {
    char *name;
    char *retry;         /* NULL: as in classes.conf; values as there */
    char *retry_serving;
    char *repeat;
};

struct server_config {
    char **command;
    char *profile;
    char *url; /* scheme://host:port, no trailing slash */
    char *working_directory;
    char **environment; /* VAR=VALUE */
    int stop_signal;
    usec_t stop_usec;
    char *model;       /* NULL: ask models_path */
    char *models_path;
    char *api_key_file;
    char *ca_file;
};

struct start_config {
    char **suite;
    usec_t stall_usec;
    usec_t load_timeout_usec;
    bool preflight;
    bool verify_listener;  /* the port's owner must be one of the server's processes */
    usec_t probe_usec;     /* first pause between looks at the port */
    usec_t probe_max_usec; /* and the longest */
};

struct live_config {
    char *canary; /* NULL: the first of the suite */
    usec_t interval_usec;
    usec_t timeout_usec;
    uint64_t fall;
    uint64_t rise;
};

struct restart_config {
    enum restart_mode mode;
    usec_t backoff_usec;
    usec_t backoff_max_usec;
    uint64_t budget;
    usec_t budget_usec;
    usec_t stable_usec;
};

struct report_config {
    uint64_t keep;
    uint64_t max_bytes;
};

struct http_config {
    char *listen; /* "127.0.0.1:9100", "[::1]:9100"; NULL: off */
};

struct config {
    struct server_config server;
    struct start_config start;
    struct live_config live;
    struct restart_config restart;
    struct report_config report;
    struct http_config http;
    struct canary_config *canaries;
    size_t n_canaries;
    struct probe_config *probes;
    size_t n_probes;
    struct phase_config *phases;
    size_t n_phases;
    struct class_config *classes;
    size_t n_classes;
    struct config_origins *origins; /* for config_dump() */
};

void config_free(struct config *c);
DEFINE_CLEANUP(struct config *, config_free);

/* Borrowed; NULL when there is none of that name. */
const struct canary_config *config_canary(const struct config *c, const char *name);
const struct phase_config *config_phase(const struct config *c, const char *name);
