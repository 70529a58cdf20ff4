/* SPDX-License-Identifier: MIT */
#pragma once

/* The one table of what can be configured: every section and key with its type, range, default and
 * explanation. The parser, the messages, `coalminectl cat-config` and the manual page all read it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

/* X(constant, C type of the member, what such a value is) */
#define CONFIG_TYPES(X)                                                                                \
    X(CONFIG_STRING, char *, "text")                                                                   \
    X(CONFIG_NAME, char *, "a name of letters, digits, \"_\", \"-\" and \".\"")                        \
    X(CONFIG_WORD, char *, "a word")                                                                   \
    X(CONFIG_LIMIT, char *, "a whole number or infinity")                                              \
    X(CONFIG_PATH, char *, "an absolute path")                                                         \
    X(CONFIG_URL, char *, "http://HOST:PORT, https://HOST:PORT or unix:/PATH")                         \
    X(CONFIG_URL_PATH, char *, "the path of a URL, beginning with /")                                  \
    X(CONFIG_LISTEN, char *, "ADDRESS:PORT, such as 127.0.0.1:9100 or [::1]:9100")                     \
    X(CONFIG_COMMAND, char **, "a program, as an absolute path or a name in PATH, and its arguments")  \
    X(CONFIG_ENVIRONMENT, char **, "assignments NAME=VALUE")                                           \
    X(CONFIG_NAMES, char **, "names, separated by white space")                                        \
    X(CONFIG_PATTERNS, char **, "a regular expression (PCRE2)")                                        \
    X(CONFIG_HEADERS, char **, "NAME: VALUE, without Authorization (APIKeyFile= is for that)")         \
    X(CONFIG_METRICS, char **, "names of metrics, separated by white space")                           \
    X(CONFIG_DIRECTORIES, char **, "directories as /PATH, ~/PATH or $VARIABLE/PATH, separated by white space") \
    X(CONFIG_PROGRAMS, char **, "names of programs, at most 15 bytes each, separated by white space") \
    X(CONFIG_JSON, char *, "a JSON object")                                                            \
    X(CONFIG_BOOL, bool, "yes or no")                                                                  \
    X(CONFIG_TIMESPAN, usec_t, "a time span such as 500ms, 30s, 10min or 1h 30min")                    \
    X(CONFIG_SIZE, uint64_t, "a size such as 512K, 64M or 1G")                                         \
    X(CONFIG_UINT, uint64_t, "a whole number")                                                         \
    X(CONFIG_REAL, double, "a number")                                                                 \
    X(CONFIG_SIGNAL, int, "a signal such as SIGTERM or SIGINT")                                        \
    X(CONFIG_CHOICE, unsigned, "a choice")

#define X(constant, ...) constant,
enum config_type { CONFIG_TYPES(X) };
#undef X

/* X(constant, name, C type of what it fills, member of struct config, explanation). A PLAIN section
 * exists once; a NAMED one, [Section NAME], any number of times, each with its own name. */
#define CONFIG_SECTIONS(PLAIN, NAMED)                                                                  \
    PLAIN(SECTION_SERVER, "Server", server_config, server,                                             \
          "The model server: how it is started, reached and stopped.")                                 \
    PLAIN(SECTION_START, "Start", start_config, start,                                                 \
          "The way from the start of the server to READY.")                                            \
    PLAIN(SECTION_LIVE, "Live", live_config, live,                                                     \
          "The proof that goes on after READY: one canary, again and again.")                          \
    PLAIN(SECTION_RESTART, "Restart", restart_config, restart,                                         \
          "What follows a failure that a restart may mend. Other failures end the unit at once.")      \
    PLAIN(SECTION_REPORT, "Report", report_config, report,                                             \
          "The reports of failed starts and crashes in /var/lib/coalmine/INSTANCE/reports.")           \
    PLAIN(SECTION_HTTP, "HTTP", http_config, http,                                                     \
          "A small endpoint for load balancers and Prometheus: /readyz, /livez, /status, /metrics.")   \
    PLAIN(SECTION_PROFILE, "Profile", profile_config, profile,                                         \
          "Only in profiles: what they are for.")                                                      \
    NAMED(SECTION_CANARY, "Canary", canary_config, canaries,                                           \
          "A real request, and what its answer must be. *Suite=* in [Start] says which canaries "      \
          "stand before READY. Four are built in, *greedy*, *sampled*, *streamed* and *parallel*, "    \
          "and the profiles bring more; a section of the same name changes one, any other name adds "  \
          "one.")                                                                                      \
    NAMED(SECTION_PROBE, "Probe", probe_config, probes,                                                \
          "A quick command that is run before each start of the server. When it fails, the start "     \
          "has failed, with the cause that its output names, and the long load is saved.")             \
    NAMED(SECTION_PHASE, "Phase", phase_config, phases,                                                \
          "A step of the server's start, recognised by what it logs. It is shown in the status; "      \
          "it decides nothing. Profiles bring the phases of their engine.")                            \
    NAMED(SECTION_VARIANT, "Variant", variant_config, variants,                                        \
          "Another suite for servers that, by their command line, do something else than chatting, "   \
          "such as embeddings. It counts where the instance has no *Suite=* of its own.")              \
    NAMED(SECTION_CLASS, "Class", class_config, classes,                                               \
          "A change, for this instance, to the policy of a class of failures. *coalminectl "           \
          "report* names the class of a failure.")

#define PLAIN(constant, ...) constant,
#define NAMED(constant, ...) constant,
enum config_section_id { CONFIG_SECTIONS(PLAIN, NAMED) N_CONFIG_SECTIONS };
#undef PLAIN
#undef NAMED

struct config_section {
    const char *name;
    bool named;
    size_t offset;       /* in struct config: of the section's struct, or of the pointer to the array */
    size_t count_offset; /* named only: of the array's length */
    size_t size;         /* of one section's struct; a named one begins with its name */
    const char *text;
};

struct config_key {
    enum config_section_id section;
    const char *name;
    enum config_type type;
    size_t offset;             /* in the section's struct */
    uint64_t min, max;         /* TIMESPAN (usec), SIZE, UINT */
    double real_min, real_max; /* REAL */
    const char *const *choices; /* CHOICE and WORD: NULL-terminated; of CHOICE the index is the value */
    const char *default_text;  /* parsed like any value; NULL: unset (NULL, 0; -1 for REAL) */
    bool required;
    bool needs_restart;        /* a reload does not bring it into force, but the next start of the server */
    const char *text;          /* for people; scdoc marks may be used */
};

extern const struct config_section config_sections[N_CONFIG_SECTIONS];
extern const struct config_key config_keys[];
extern const size_t n_config_keys;

/* NULL when there is none; names are case-sensitive. */
const struct config_section *config_section_find(const char *name);
const struct config_key *config_key_find(const struct config_section *section, const char *name);
/* "Start.StallSec" or "Canary.MaxTokens": the key that somebody who wrote name in [section] most likely
 * meant (section NULL: any), or NULL when nothing is near. */
const struct config_key *config_key_nearest(const struct config_section *section, const char *name);
const struct config_section *config_section_nearest(const char *name);
const struct config_section *config_key_section(const struct config_key *k);
bool config_type_is_list(enum config_type type);
/* Lists of which each assignment is one item, whatever is in it. */
bool config_type_is_lines(enum config_type type);
/* Lists of words of which a higher layer's first assignment drops what lower layers said. */
bool config_type_is_words(enum config_type type);
const char *config_type_text(enum config_type type);
/* What the key takes, with its range: "a time span such as 500ms, ..., from 10ms to 1s". Owned by the
 * caller; NULL when memory is out. */
must_check char *config_key_expectation(const struct config_key *k);
