/* SPDX-License-Identifier: MIT */
#include "core/config/config.h"
#include "core/config/config_key.h"
#include "core/supervision/policy.h"

#define PLAIN(constant, section_name, type, member, section_text) \
    [constant] = {                                                \
        .name = section_name,                                     \
        .offset = offsetof(struct config, member),                \
        .size = sizeof(struct type),                              \
        .text = section_text,                                     \
    },
#define NAMED(constant, section_name, type, member, section_text) \
    [constant] = {                                                \
        .name = section_name,                                     \
        .named = true,                                            \
        .offset = offsetof(struct config, member),                \
        .count_offset = offsetof(struct config, n_##member),      \
        .size = sizeof(struct type),                              \
        .text = section_text,                                     \
    },
const struct config_section config_sections[N_CONFIG_SECTIONS] = {CONFIG_SECTIONS(PLAIN, NAMED)};
#undef PLAIN
#undef NAMED

/* The name stands first, so that it is found without knowing which section it is. */
#define NAMED(constant, section_name, type, ...) \
    _Static_assert(offsetof(struct type, name) == 0, section_name);
#define PLAIN(...)
CONFIG_SECTIONS(PLAIN, NAMED)
#undef PLAIN
#undef NAMED

#define X(constant, name) [constant] = name,
static const char *const restart_modes[] = {RESTART_MODES(X) NULL};
static const char *const canary_kinds[] = {CANARY_KINDS(X) NULL};
static const char *const retries[] = {RETRIES(X) NULL};
#undef X
static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", NULL};

#define X(constant, c_type, text) typedef c_type constant##_type;
CONFIG_TYPES(X)
#undef X

/* A row: the member must have the C type that the parser of `row_type` writes. */
#define KEY(row_section, struct_name, member, row_name, row_type, ...)                              \
    {.section = row_section,                                                                        \
     .name = row_name,                                                                              \
     .type = row_type,                                                                              \
     .offset = offsetof(struct struct_name, member) +                                               \
               0 * sizeof(char[__builtin_types_compatible_p(                                        \
                                   __typeof__(((struct struct_name *) NULL)->member), row_type##_type) \
                                   ? 1                                                              \
                                   : -1]),                                                          \
     __VA_ARGS__}

#define SERVER(...) KEY(SECTION_SERVER, server_config, __VA_ARGS__)
#define START(...) KEY(SECTION_START, start_config, __VA_ARGS__)
#define LIVE(...) KEY(SECTION_LIVE, live_config, __VA_ARGS__)
#define RESTART(...) KEY(SECTION_RESTART, restart_config, __VA_ARGS__)
#define REPORT(...) KEY(SECTION_REPORT, report_config, __VA_ARGS__)
#define HTTP(...) KEY(SECTION_HTTP, http_config, __VA_ARGS__)
#define PROFILE(...) KEY(SECTION_PROFILE, profile_config, __VA_ARGS__)
#define CANARY(...) KEY(SECTION_CANARY, canary_config, __VA_ARGS__)
#define PROBE(...) KEY(SECTION_PROBE, probe_config, __VA_ARGS__)
#define PHASE(...) KEY(SECTION_PHASE, phase_config, __VA_ARGS__)
#define VARIANT(...) KEY(SECTION_VARIANT, variant_config, __VA_ARGS__)
#define CLASS(...) KEY(SECTION_CLASS, class_config, __VA_ARGS__)

#define MSEC USEC_PER_MSEC
#define SEC USEC_PER_SEC
#define DAY USEC_PER_DAY

const struct config_key config_keys[] = {
    SERVER(command, "Command", CONFIG_COMMAND, .required = true, .needs_restart = true,
           .text = "The command line of the model server, in the quoting of *ExecStart=*, but without its "
                   "prefixes and without any meaning of _$_. Each assignment replaces the one before."),
    SERVER(profile, "Profile", CONFIG_NAME, .needs_restart = true,
           .text = "The engine whose profile lies under this configuration: defaults for the keys below, "
                   "phases, probes and canaries. _auto_ finds it from the command line."),
    SERVER(url, "URL", CONFIG_URL, .required = true, .needs_restart = true,
           .text = "Where the server answers. The profile has the engine's usual port on this machine. "
                   "The owner of a unix socket is not looked at, see *VerifyListener=*."),
    SERVER(working_directory, "WorkingDirectory", CONFIG_PATH, .needs_restart = true,
           .text = "Where the server is started. Not set: where coalmined was."),
    SERVER(environment, "Environment", CONFIG_ENVIRONMENT, .needs_restart = true,
           .text = "Variables set for the server in addition to those that coalmined has itself. May be "
                   "given several times; a later value of the same variable wins."),
    SERVER(stop_signal, "StopSignal", CONFIG_SIGNAL, .default_text = "SIGTERM",
           .text = "What all processes of the server get when it is to end."),
    SERVER(stop_usec, "StopSec", CONFIG_TIMESPAN, .max = USEC_INFINITY, .default_text = "60s",
           .text = "How long the server may take to end before it is killed. Keep the unit's "
                   "*TimeoutStopSec=* larger."),
    SERVER(model, "Model", CONFIG_STRING,
           .text = "The model that canaries ask for, and which the server must list. Not set: the first "
                   "that the server lists."),
    SERVER(models_path, "ModelsPath", CONFIG_URL_PATH, .default_text = "/v1/models",
           .text = "Where the server lists its models. A path that ends in /v2/repository/index is asked "
                   "with POST, as Triton wants it."),
    SERVER(api_key_file, "APIKeyFile", CONFIG_PATH,
           .text = "A file with the key that canaries send as _Authorization: Bearer_. It is read anew "
                   "for each request. A systemd credential is _%d/NAME_."),
    SERVER(ca_file, "CAFile", CONFIG_PATH,
           .text = "Certificates in PEM to trust with https, instead of the system's."),

    START(suite, "Suite", CONFIG_NAMES, .default_text = "greedy sampled streamed parallel",
          .text = "The canaries that must all pass, one after the other, before READY. The profile's "
                  "suite is dropped by the first assignment in the instance's own files; further "
                  "assignments add to it."),
    START(stall_usec, "StallSec", CONFIG_TIMESPAN, .min = SEC, .max = USEC_INFINITY,
          .default_text = "10min",
          .text = "A start without any sign of progress for so long has failed. Progress is output, bytes "
                  "that the server's processes read or write, processes that come and go, compilers at "
                  "work, and growth of the directories below and of used GPU memory. CPU time alone is "
                  "none: a server that waits for ever may well spin."),
    START(load_timeout_usec, "LoadTimeoutSec", CONFIG_TIMESPAN, .min = SEC, .max = USEC_INFINITY,
          .default_text = "infinity",
          .text = "A start that takes longer has failed, progress or not."),
    START(preflight, "Preflight", CONFIG_BOOL, .default_text = "yes",
          .text = "Whether the probes are run before each start of the server."),
    START(verify_listener, "VerifyListener", CONFIG_BOOL, .default_text = "yes",
          .text = "Whether the socket that listens on the port must belong to one of the server's own "
                  "processes. Turn it off where another process listens for the server, such as a "
                  "container engine's proxy."),
    START(probe_usec, "ProbeSec", CONFIG_TIMESPAN, .min = 10 * MSEC, .max = SEC, .default_text = "100ms",
          .text = "The first pause between two looks at a server whose port is open but which does not "
                  "generate yet. Each pause is longer than the one before."),
    START(probe_max_usec, "ProbeMaxSec", CONFIG_TIMESPAN, .min = 10 * MSEC, .max = SEC,
          .default_text = "250ms",
          .text = "The longest of these pauses. With more than 250ms, READY may come later than 300 ms "
                  "after the server was first able to answer."),
    START(cache_directories, "CacheDirectory", CONFIG_DIRECTORIES, .needs_restart = true,
          .text = "Where the server keeps what it builds, and can build again. Their growth is progress; "
                  "build locks of dead builders are removed from them; a broken build in them, but "
                  "nothing outside of them, may be moved aside. _~_ is the server's home, _$NAME_ a "
                  "variable of its environment (what names one that is not set is left out)."),
    START(download_directories, "DownloadDirectory", CONFIG_DIRECTORIES, .needs_restart = true,
          .text = "Where the server downloads to. Their growth is progress, and nothing else is done to "
                  "them."),
    START(compilers, "Compilers", CONFIG_PROGRAMS, .needs_restart = true,
          .default_text = "nvcc cicc ptxas cudafe++ nvlink fatbinary cc1plus cc1 as clang clang++ ld ld.bfd "
                          "ld.gold ld.lld lld hipcc ninja tileiras rustc",
          .text = "Programs of a build, as _ps -o comm_ names them. While one of them works (uses CPU "
                  "time), the start makes progress however silent it is."),

    LIVE(canary, "Canary", CONFIG_NAME,
         .text = "The canary that is sent while the server is serving. Not set: the first of the suite."),
    LIVE(interval_usec, "IntervalSec", CONFIG_TIMESPAN, .min = SEC, .max = DAY, .default_text = "30s",
         .text = "The time from one canary's answer to the next canary."),
    LIVE(timeout_usec, "TimeoutSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = DAY,
         .default_text = "20s",
         .text = "How long a canary may take. A canary's own *TimeoutSec=* goes before."),
    LIVE(transition_usec, "TransitionSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = DAY,
         .default_text = "2s",
         .text = "The interval after a failed canary, until *Rise=* canaries have passed again: a fall, "
                 "or a false alarm, is known in seconds."),
    LIVE(postpone_usec, "PostponeSec", CONFIG_TIMESPAN, .max = DAY, .default_text = "5min",
         .text = "So long requests of others that complete may stand in for the canary, which is then "
                 "not sent. 0: never."),
    LIVE(metrics_url, "MetricsURL", CONFIG_URL,
         .text = "Where the engine tells its metrics. Not set: *URL=* in [Server]."),
    LIVE(metrics_path, "MetricsPath", CONFIG_URL_PATH,
         .text = "The path of the metrics: a page in Prometheus's format, or llama-server's /slots. Not "
                 "set: nothing is known of other requests."),
    LIVE(progress_metrics, "ProgressMetric", CONFIG_METRICS,
         .text = "Metrics of which some change while the engine completes tokens or requests. A canary "
                 "that is late while they change is _busy_, and no failure."),
    LIVE(running_metrics, "RunningMetric", CONFIG_METRICS,
         .text = "Metrics that together are above 0 while requests are under way."),
    LIVE(fall, "Fall", CONFIG_UINT, .min = 1, .max = 100, .default_text = "3",
         .text = "So many failed canaries in a row are a failure of the server."),
    LIVE(rise, "Rise", CONFIG_UINT, .min = 1, .max = 100, .default_text = "2",
         .text = "So many passed canaries in a row end a degraded state."),

    RESTART(mode, "Mode", CONFIG_CHOICE, .choices = restart_modes, .default_text = "in-place",
            .text = "_in-place_: coalmined starts the server again itself. _exit_: coalmined exits with "
                    "code 75 and leaves it to the unit's *Restart=*."),
    RESTART(backoff_usec, "BackoffSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = DAY,
            .default_text = "5s",
            .text = "The pause before the first restart; it doubles with each further one. The actual "
                    "pause lies between half of it and the whole."),
    RESTART(backoff_max_usec, "BackoffMaxSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = DAY,
            .default_text = "5min", .text = "The longest pause."),
    RESTART(budget, "Budget", CONFIG_UINT, .max = POLICY_MAX_BUDGET, .default_text = "5",
            .text = "So many restarts are granted within *BudgetSec=*. 0: none at all."),
    RESTART(budget_usec, "BudgetSec", CONFIG_TIMESPAN, .min = SEC, .max = USEC_INFINITY,
            .default_text = "1h", .text = "The time over which restarts are counted."),
    RESTART(stable_usec, "StableSec", CONFIG_TIMESPAN, .min = SEC, .max = USEC_INFINITY,
            .default_text = "10min",
            .text = "A server that has been READY for so long is stable: the pause begins at "
                    "*BackoffSec=* again, and earlier failures no longer count as repetitions."),
    RESTART(gpu_wait_usec, "GPUWaitSec", CONFIG_TIMESPAN, .max = USEC_PER_HOUR, .default_text = "1min",
            .text = "How long a restart waits until the GPU memory that the server held is free, as "
                    "_nvidia-smi_, _amd-smi_ or _rocm-smi_ tells it. Then the server is started all the "
                    "same, and the status, the journal and a report name who holds it. 0: no waiting."),

    REPORT(keep, "Keep", CONFIG_UINT, .min = 1, .max = 10000, .default_text = "50",
           .text = "So many reports are kept; the oldest go first."),
    REPORT(max_bytes, "MaxBytes", CONFIG_SIZE, .min = UINT64_C(1) << 20, .max = UINT64_C(1) << 40,
           .default_text = "64M", .text = "All reports together are kept below this size."),
    REPORT(termination_message, "TerminationMessage", CONFIG_PATH,
           .text = "A file that gets the summary of the last failure, for orchestrators that show it, such as "
                   "_/dev/termination-log_ in Kubernetes. It is emptied when the server is ready."),
    REPORT(dump_command, "DumpCommand", CONFIG_COMMAND,
           .text = "Run before a server that hangs is ended; what it prints goes into the report: "
                   "_py-spy dump --pid $SERVER_PID_. *$SERVER_PID* as a word or part of one is the "
                   "server's main process; the variables *SERVER_PID* and *SERVER_PIDS* (all of its "
                   "processes, with blanks between) are in the environment, too. State, wait channel "
                   "and kernel stack of each process are in the report without any command."),
    REPORT(dump_usec, "DumpSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = 10 * USEC_PER_MINUTE,
           .default_text = "10s",
           .text = "How long that command may take; then it is killed, and what it has printed counts."),

    HTTP(listen, "Listen", CONFIG_LISTEN,
         .text = "Where the endpoint listens. Not set: there is none. It asks for no password; keep it on "
                 "the loopback unless the network is trusted."),

    PROFILE(match, "Match", CONFIG_PATTERNS,
            .text = "A command line that matches is this profile's, with *Profile=auto*. May be given "
                    "several times: any of them."),

    CANARY(proves, "Proves", CONFIG_STRING,
           .text = "What has been proved when it passes, in one line for people."),
    CANARY(optional, "Optional", CONFIG_BOOL, .default_text = "no",
           .text = "Whether a server that rejects the request (HTTP 4xx) before READY is let off: it was "
                   "started without what the canary needs."),
    CANARY(kind, "Kind", CONFIG_CHOICE, .choices = canary_kinds, .default_text = "chat",
           .text = "Which API is asked: OpenAI's _chat_, _completions_ and _embeddings_, the usual "
                   "_rerank_, an engine's own, or, _raw_, nothing but *Method=*, *Path=*, *Header=* and "
                   "*Body=*."),
    CANARY(method, "Method", CONFIG_WORD, .choices = methods,
           .text = "Another HTTP method than the API's: GET without a body, POST with one."),
    CANARY(path, "Path", CONFIG_URL_PATH,
           .text = "Another path than the API's usual one."),
    CANARY(headers, "Header", CONFIG_HEADERS,
           .text = "A header to send. May be given several times. The key belongs into *APIKeyFile=*."),
    CANARY(body, "Body", CONFIG_JSON,
           .text = "Members to add to the request, or to replace its own; of a _raw_ canary the whole "
                   "body."),
    CANARY(body_file, "BodyFile", CONFIG_PATH,
           .text = "The same from a file, which for a _raw_ canary may hold anything."),
    CANARY(model, "Model", CONFIG_STRING,
           .text = "Another model than *Model=* in [Server], such as a LoRA adapter."),
    CANARY(prompt, "Prompt", CONFIG_STRING, .default_text = "Count from one to twenty in words",
           .text = "What the model is told."),
    CANARY(prompt_tokens, "PromptTokens", CONFIG_UINT, .max = 1000000, .default_text = "0",
           .text = "A prompt of about so many tokens is put in front, to be longer than what the engine "
                   "takes in one piece. 0: none."),
    CANARY(temperature, "Temperature", CONFIG_REAL, .real_min = 0, .real_max = 5, .default_text = "0",
           .text = "Above 0, tokens are sampled, by other kernels than the greedy ones."),
    CANARY(top_p, "TopP", CONFIG_REAL, .real_min = 0, .real_max = 1,
           .text = "Nucleus sampling. Not set: not sent."),
    CANARY(top_k, "TopK", CONFIG_UINT, .max = 1000000, .default_text = "0",
           .text = "Sampling among so many of the likeliest tokens. 0: not sent."),
    CANARY(min_p, "MinP", CONFIG_REAL, .real_min = 0, .real_max = 1,
           .text = "Sampling above a share of the likeliest token. Not set: not sent."),
    CANARY(repetition_penalty, "RepetitionPenalty", CONFIG_REAL, .real_min = 0, .real_max = 10,
           .text = "Not set: not sent. 1 is none."),
    CANARY(frequency_penalty, "FrequencyPenalty", CONFIG_REAL, .real_min = 0, .real_max = 2,
           .text = "Not set: not sent."),
    CANARY(presence_penalty, "PresencePenalty", CONFIG_REAL, .real_min = 0, .real_max = 2,
           .text = "Not set: not sent."),
    CANARY(max_tokens, "MaxTokens", CONFIG_UINT, .min = 1, .max = 1000000, .default_text = "16",
           .text = "The most tokens that the answer may have."),
    CANARY(min_tokens, "MinTokens", CONFIG_UINT, .min = 1, .max = 1000000, .default_text = "1",
           .text = "The canary passes with so many generated tokens; of _embeddings_ and _rerank_, with "
                   "so many vectors or scores."),
    CANARY(stream, "Stream", CONFIG_BOOL, .default_text = "no",
           .text = "Whether the answer is to come token by token."),
    CANARY(logprobs, "Logprobs", CONFIG_BOOL, .default_text = "no",
           .text = "Whether to ask for log-probabilities, which must then be numbers."),
    CANARY(schema, "Schema", CONFIG_JSON,
           .text = "A JSON schema that the answer is constrained to. It must then be JSON, unless "
                   "*MaxTokens=* has cut it off."),
    CANARY(parallel, "Parallel", CONFIG_UINT, .min = 1, .max = 64, .default_text = "1",
           .text = "So many requests at the same time, which must all pass."),
    CANARY(repeat, "Repeat", CONFIG_UINT, .min = 1, .max = 100, .default_text = "1",
           .text = "So many times, one after the other."),
    CANARY(first_timeout_usec, "FirstTimeoutSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = DAY,
           .default_text = "10min",
           .text = "How long the first request may take before READY, when kernels may still have to be "
                   "compiled."),
    CANARY(timeout_usec, "TimeoutSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = DAY,
           .text = "How long later ones may take. Not set: *TimeoutSec=* in [Live]."),
    CANARY(expect_status, "ExpectStatus", CONFIG_UINT, .max = 599, .default_text = "0",
           .text = "The HTTP status that must come. 0: any from 200 to 299."),
    CANARY(expect_model, "ExpectModel", CONFIG_STRING,
           .text = "The model that the answer must name. Not set: any, but always the same until the "
                   "server is started again."),
    CANARY(expect_finish, "ExpectFinish", CONFIG_NAMES,
           .text = "The reasons, one of which the server must give for the end of the text: _stop_, "
                   "_length_."),
    CANARY(expect_text, "ExpectText", CONFIG_PATTERNS,
           .text = "What the text, without the thoughts of a reasoning model, must match. May be given "
                   "several times: any of them."),
    CANARY(expect_json, "ExpectJSON", CONFIG_BOOL, .default_text = "no",
           .text = "Whether the text must be JSON, as it must with *Schema=*."),
    CANARY(expect_sane, "ExpectSane", CONFIG_BOOL, .default_text = "yes",
           .text = "Whether the answer must not be degenerate: one token again and again, nothing but "
                   "exclamation marks, blanks or replacement characters, numbers that are none."),
    CANARY(expect_repeatable, "ExpectRepeatable", CONFIG_BOOL, .default_text = "no",
           .text = "Whether all answers must be the same. Few engines promise that while they serve "
                   "others, too."),
    CANARY(first_token_usec, "FirstTokenSec", CONFIG_TIMESPAN, .max = DAY, .default_text = "0",
           .text = "The first token of a streamed answer must come within so much time. 0: within the "
                   "time-out. The first request before READY, which may have to wait for kernels, is "
                   "spared, and repeated instead."),
    CANARY(min_tokens_per_sec, "MinTokensPerSec", CONFIG_REAL, .real_min = 0, .real_max = 1000000,
           .text = "So fast tokens must come in each answer, with the same exception. It finds a server "
                   "that has fallen back to the CPU."),

    PROBE(command, "Command", CONFIG_COMMAND, .required = true,
          .text = "The command, written like that of the server, whose environment it gets. Exit code 0 is "
                  "a pass, whatever it prints."),
    PROBE(timeout_usec, "TimeoutSec", CONFIG_TIMESPAN, .min = 100 * MSEC, .max = USEC_PER_HOUR,
          .default_text = "30s",
          .text = "A probe that takes longer is ended, and has failed."),

    PHASE(text, "Text", CONFIG_STRING, .required = true,
          .text = "What the status says while the phase lasts: _loading weights_."),
    PHASE(patterns, "Pattern", CONFIG_PATTERNS, .required = true,
          .text = "A line that matches begins the phase. The line is taken without time stamps, levels and "
                  "colours. May be given several times: any of them."),

    VARIANT(match, "Match", CONFIG_PATTERNS, .required = true,
            .text = "A command line that matches is of this variant. May be given several times: any of "
                    "them."),
    VARIANT(suite, "Suite", CONFIG_NAMES, .required = true,
            .text = "Its suite, in place of that in [Start]."),

    CLASS(retry, "Retry", CONFIG_WORD, .choices = retries,
          .text = "May a restart mend such a failure before READY? _slow_ pauses from a minute upwards, "
                  "_after-cleanup_ restarts once after the class's own cleanup."),
    CLASS(retry_serving, "RetryServing", CONFIG_WORD, .choices = retries,
          .text = "The same after READY."),
    CLASS(repeat, "Repeat", CONFIG_LIMIT,
          .text = "How many times in a row the same cause may come back before READY and still be "
                  "retried: a number, or _infinity_."),
};

const size_t n_config_keys = ARRAY_SIZE(config_keys);
