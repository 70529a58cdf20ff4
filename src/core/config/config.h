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
#define CANARY_KINDS(X)                            \
    X(CANARY_CHAT, "chat")                         \
    X(CANARY_COMPLETIONS, "completions")           \
    X(CANARY_EMBEDDINGS, "embeddings")             \
    X(CANARY_RERANK, "rerank")                     \
    X(CANARY_SGLANG_GENERATE, "sglang-generate")   \
    X(CANARY_TGI_GENERATE, "tgi-generate")         \
    X(CANARY_LLAMA_COMPLETION, "llama-completion") \
    X(CANARY_TRITON_GENERATE, "triton-generate")   \
    X(CANARY_TRITON_INFER, "triton-infer")         \
    X(CANARY_OLLAMA_GENERATE, "ollama-generate")   \
    X(CANARY_OLLAMA_CHAT, "ollama-chat")           \
    X(CANARY_RAW, "raw")

#define X(constant, name) constant,
enum restart_mode { RESTART_MODES(X) };
enum canary_kind { CANARY_KINDS(X) };
#undef X

/* [Canary NAME]. What is below 0, NULL or an empty list is not asked for, or not expected. */
struct canary_config {
    char *name;
    char *proves;        /* one line for people */
    bool optional;       /* a server that rejects the request cannot do it, and need not */
    enum canary_kind kind;
    char *method;        /* NULL: the kind's usual one; so are path and model */
    char *path;
    char **headers;      /* "Name: value" */
    char *body;          /* a JSON object: the body of a raw canary, members to add for the others */
    char *body_file;     /* the same from a file; of a raw canary any bytes */
    char *model;         /* instead of Server.Model */
    char *prompt;
    uint64_t prompt_tokens; /* about so long instead; 0: the prompt as it is */
    double temperature;
    double top_p;
    uint64_t top_k;      /* 0: not sent */
    double min_p;
    double repetition_penalty;
    double frequency_penalty;
    double presence_penalty;
    uint64_t max_tokens;
    uint64_t min_tokens; /* generated tokens that the answer must carry */
    bool stream;
    bool logprobs;
    char *schema;        /* JSON schema that constrains the answer */
    uint64_t parallel;
    uint64_t repeat;
    usec_t first_timeout_usec; /* while proving: a JIT build may take minutes */
    usec_t timeout_usec; /* later; Live.TimeoutSec where the canary has none of its own */
    uint64_t expect_status; /* 0: any good one */
    char *expect_model;
    char **expect_finish;
    char **expect_text;  /* PCRE2, any of them */
    bool expect_json;
    bool expect_sane;
    bool expect_repeatable;
    usec_t first_token_usec; /* 0: whenever it comes */
    double min_tokens_per_sec;
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
    char *url; /* scheme://host:port or unix:/path, no trailing slash */
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
    char **cache_directories;    /* see directories.h; the server builds into them */
    char **download_directories; /* likewise; it downloads into them */
    char **compilers;            /* as the kernel names their processes */
};

struct live_config {
    char *canary; /* NULL: the first of the suite */
    usec_t interval_usec;
    usec_t timeout_usec;
    uint64_t fall;
    uint64_t rise;
    usec_t transition_usec; /* the interval after a failure, until `rise` canaries have passed */
    usec_t postpone_usec;   /* so long real traffic may stand in for the canary */
    char *metrics_url;      /* NULL: Server.URL */
    char *metrics_path;     /* NULL: the engine tells nothing */
    char **progress_metrics; /* any of them changes while tokens or requests complete */
    char **running_metrics;  /* their sum is above 0 while requests are under way */
};

/* What command lines a profile is for. */
struct profile_config {
    char **match; /* PCRE2, any of them */
};

/* [Variant NAME]: another suite where the command line says that the server does something else. */
struct variant_config {
    char *name;
    char **match;
    char **suite;
};

struct restart_config {
    enum restart_mode mode;
    usec_t backoff_usec;
    usec_t backoff_max_usec;
    uint64_t budget;
    usec_t budget_usec;
    usec_t stable_usec;
    usec_t gpu_wait_usec; /* for the memory that the last server held; 0: not at all */
};

struct report_config {
    uint64_t keep;
    uint64_t max_bytes;
    char *termination_message; /* path; NULL: none */
    char **dump_command; /* run on a hanging server; NULL: none */
    usec_t dump_usec;
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
    struct profile_config profile;
    struct canary_config *canaries;
    size_t n_canaries;
    struct probe_config *probes;
    size_t n_probes;
    struct phase_config *phases;
    size_t n_phases;
    struct class_config *classes;
    size_t n_classes;
    struct variant_config *variants;
    size_t n_variants;
    struct config_origins *origins; /* for config_dump() */
};

void config_free(struct config *c);
DEFINE_CLEANUP(struct config *, config_free);

/* A copy by itself, for what outlives the configuration. -ENOMEM only. */
must_check int config_copy_canary(const struct canary_config *c, struct canary_config **ret);
void config_free_canary(struct canary_config *c);
DEFINE_CLEANUP(struct canary_config *, config_free_canary);

/* Borrowed; NULL when there is none of that name. */
const struct canary_config *config_canary(const struct config *c, const char *name);
const struct phase_config *config_phase(const struct config *c, const char *name);
const struct class_config *config_class(const struct config *c, const char *name);
/* Whether an API of that kind can answer piece by piece, and take a JSON schema to constrain its answer. */
bool canary_kind_streams(enum canary_kind kind);
bool canary_kind_constrains(enum canary_kind kind);
