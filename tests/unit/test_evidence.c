/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/evidence.h"
#include "core/diagnosis/fingerprint.h"
#include "diagnosis.h"

static const char catalog_text[] =
    "[Class jit_missing_header]\nText=a JIT build lacks a header\nHint=Install it.\nRetry=never\n"
    "[Class jit_missing_tool]\nText=a JIT build lacks a program\nRetry=never\n"
    "[Class jit_compile_error]\nText=a kernel does not compile\nRetry=never\n"
    "[Class gpu_oom]\nText=out of device memory\nRetry=backoff\n"
    "[Class engine_died]\nText=the engine is gone\nHint=Look at the report.\nRetry=backoff\nRepeat=1\n"
    "[Class engine_hang]\nText=it generates nothing\nRetry=backoff\n"
    "[Class native_crash]\nText=it crashed\nRetry=backoff\n"
    "[Class host_oom_kill]\nText=the host ran out of memory\nRetry=backoff\n"
    "[Class port_in_use]\nText=somebody has the port\nRetry=backoff\n"
    "[Class py_module_missing]\nText=a Python module is missing\nRetry=never\n"
    "[Class jit_lock_stale]\nText=a build lock is left\nRetry=after-cleanup\nCleanup=build-lock\n"
    "[Class benign_note]\nText=harmless\n"
    "[Signature header]\nClass=jit_missing_header\nPattern=fatal error: (?<header>\\S+\\.h)\nHint=Install what has {header}.\n"
    "[Signature tool]\nClass=jit_missing_tool\nPattern=sh: (?<path>\\S+): not found\nUnless=probe\nNear=3\n"
    "[Signature probe]\nRank=context\nPattern=PyTorch version\n"
    "[Signature import]\nClass=py_module_missing\nRank=suspect\nNeeds=@failure\nPattern=Failed to import (?<module>\\w+)\n"
    "[Signature needy]\nClass=jit_compile_error\nNeeds=ninja\nNear=2\nPattern=compilation terminated\n"
    "[Signature ninja]\nClass=jit_compile_error\nRank=wrapper\nPattern=ninja: build stopped\n"
    "[Signature inductor]\nClass=jit_compile_error\nPattern=InductorError\n"
    "[Signature oom]\nClass=gpu_oom\nPattern=CUDA out of memory\\. Tried to allocate (?<size>\\S+)\nFingerprint=-\n"
    "[Signature oom-device]\nClass=gpu_oom\nRank=secondary\nPattern=^GPU (?<device>\\d+) has a total\n"
    "[Signature dead]\nClass=engine_died\nRank=secondary\nPattern=EngineDeadError\n"
    "[Signature killed]\nClass=host_oom_kill\nOwner=pid\nPattern=Killed process (?<pid>\\d+)\n"
    "[Signature bind]\nClass=port_in_use\nPattern=address already in use on (?<port>\\d+)\n"
    "[Signature baton]\nClass=jit_lock_stale\nPattern=waiting for baton (?<file>\\S+)\n"
    "[Signature dump]\nClass=benign_note\nRank=benign\nCovers=yes\nPattern=Received request\n"
    "[Signature ignored]\nClass=benign_note\nRank=benign\nPattern=can be ignored\n";

#define OFFLINE {.ending = ENDING_NONE}
#define EXIT_1 {.ending = ENDING_EXIT, .status = 1, .phase = PHASE_LOADING}

/* Lines that begin with these are no lines. */
#define PHASE "@phase"
#define SURVIVED "@survived"
#define HEALTHY "@healthy"
#define CLOSE "@close"
#define OWN "@own" /* PID 42 */

static const struct {
    const char *name;
    const char *lines[12];
    struct circumstances circumstances;
    const char *class_name;
    const char *signature; /* NULL: the circumstances alone */
    uint64_t number;
    bool fatal;
    const char *summary;   /* NULL: not looked at */
} judgements[] = {
    {"nothing at all", {NULL}, OFFLINE, "unknown", NULL, 0, false, "unknown"},
    {"a cause", {"a", "fatal error: x.h", "b"}, OFFLINE, "jit_missing_header", "header", 2, true,
     "jit_missing_header: a JIT build lacks a header: x.h"},
    {"the first of two causes", {"fatal error: x.h", "CUDA out of memory. Tried to allocate 1GiB"}, EXIT_1,
     "jit_missing_header", "header", 1, true, NULL},
    {"a cause before its wrapper", {"ninja: build stopped", "fatal error: x.h", "EngineDeadError"}, EXIT_1,
     "jit_missing_header", "header", 2, true, NULL},
    {"a wrapper before an echo", {"EngineDeadError", "ninja: build stopped"}, EXIT_1, "jit_compile_error", "ninja", 2, true,
     "jit_compile_error: a kernel does not compile"},
    {"an echo alone", {"EngineDeadError"}, EXIT_1, "engine_died", "dead", 1, true, NULL},
    {"the innermost message of a line", {"InductorError: CUDA out of memory. Tried to allocate 1GiB"}, EXIT_1, "gpu_oom",
     "oom", 1, true, NULL},
    {"a benign line silences itself", {"fatal error: x.h can be ignored"}, EXIT_1, "engine_died", NULL, 0, true,
     "engine_died: the engine is gone: exited with code 1, while loading"},
    {"a benign line alone", {"this can be ignored"}, OFFLINE, "benign_note", "ignored", 1, false, NULL},
    {"a benign line explains no failure", {"this can be ignored"}, EXIT_1, "engine_died", NULL, 0, true, NULL},
    /* needs and unless */
    {"excluded by what follows", {"sh: /usr/bin/nvcc: not found", "PyTorch version: 2"}, EXIT_1, "engine_died", NULL, 0,
     true, NULL},
    {"excluded by what came before", {"PyTorch version: 2", "a", "sh: /usr/bin/nvcc: not found"}, EXIT_1, "engine_died",
     NULL, 0, true, NULL},
    {"not excluded from afar", {"sh: /usr/bin/nvcc: not found", "a", "b", "c", "PyTorch version: 2"}, EXIT_1,
     "jit_missing_tool", "tool", 1, true, NULL},
    {"excluded once, then not", {"sh: x: not found", "PyTorch version: 2", "a", "b", "c", "sh: x: not found"}, EXIT_1,
     "jit_missing_tool", "tool", 6, true, NULL},
    {"needs a neighbour and has none", {"compilation terminated"}, EXIT_1, "engine_died", NULL, 0, true, NULL},
    {"needs a neighbour, which follows", {"compilation terminated", "ninja: build stopped"}, EXIT_1, "jit_compile_error",
     "needy", 1, true, NULL},
    {"needs a neighbour, which came before", {"ninja: build stopped", "compilation terminated"}, EXIT_1,
     "jit_compile_error", "needy", 2, true, NULL},
    {"needs a neighbour, which is too far", {"compilation terminated", "a", "b", "ninja: build stopped"}, EXIT_1,
     "jit_compile_error", "ninja", 4, true, NULL},
    {"a suspect without a failure", {"Failed to import amdsmi"}, OFFLINE, "unknown", NULL, 0, false, NULL},
    {"a suspect and an exit", {"Failed to import amdsmi"}, EXIT_1, "py_module_missing", "import", 1, true, NULL},
    {"a suspect and an echo", {"Failed to import amdsmi", "EngineDeadError"}, OFFLINE, "py_module_missing", "import", 1,
     true, NULL},
    {"a suspect and a cause", {"Failed to import amdsmi", "fatal error: x.h"}, EXIT_1, "jit_missing_header", "header", 2,
     true, NULL},
    /* demotion */
    {"survived by a canary", {"fatal error: x.h", SURVIVED, "EngineDeadError"}, EXIT_1, "engine_died", "dead", 2, true, NULL},
    {"survived by a phase", {"fatal error: x.h", PHASE, "a"}, OFFLINE, "unknown", NULL, 0, false, NULL},
    {"survived by a phase, exit", {"fatal error: x.h", PHASE, "a"}, {.ending = ENDING_SIGNAL, .status = SIGSEGV},
     "native_crash", NULL, 0, true, NULL},
    {"one rank goes on while another is dead", {"fatal error: x.h", PHASE, "EngineDeadError"}, EXIT_1,
     "jit_missing_header", "header", 1, true, NULL},
    {"a cause of the last phase", {"fatal error: x.h", PHASE, "CUDA out of memory. Tried to allocate 1GiB"}, EXIT_1,
     "gpu_oom", "oom", 2, true, NULL},
    {"an old echo explains an exit better than nothing", {"EngineDeadError", PHASE, "a"}, EXIT_1, "engine_died", "dead", 1,
     true, NULL},
    {"healthy once", {"fatal error: x.h", HEALTHY, "EngineDeadError"}, OFFLINE, "jit_missing_header", "header", 1, true, NULL},
    {"healthy for long", {"fatal error: x.h", HEALTHY, HEALTHY, HEALTHY, HEALTHY, HEALTHY, "EngineDeadError"}, OFFLINE,
     "engine_died", "dead", 2, true, NULL},
    {"after our own stop", {"a", CLOSE, "EngineDeadError", "fatal error: x.h"}, EXIT_1, "engine_died", NULL, 0, true, NULL},
    /* user text */
    {"a dump goes on", {"Received request: 'x", "fatal error: x.h", "y'"}, EXIT_1, "engine_died", NULL, 0, true, NULL},
    {"a dump ends with the next message", {"Received request: 'x", "[2025-02-09 20:33:21 TP0] fatal error: x.h"}, EXIT_1,
     "jit_missing_header", "header", 2, true, NULL},
    /* whose process */
    {"an unknown victim", {"Killed process 7"}, EXIT_1, "host_oom_kill", "killed", 1, true, NULL},
    {"a victim of ours", {OWN, "Killed process 42"}, EXIT_1, "host_oom_kill", "killed", 1, true, NULL},
    {"somebody else", {OWN, "Killed process 7"}, EXIT_1, "engine_died", NULL, 0, true, NULL},
    /* circumstances */
    {"exit 0", {NULL}, {.ending = ENDING_EXIT, .phase = PHASE_READY, .serving = true}, "engine_died", NULL, 0, true,
     "engine_died: the engine is gone: exited with code 0 although nobody asked it to, while serving"},
    {"a crash", {NULL}, {.ending = ENDING_SIGNAL, .status = SIGSEGV, .core_dumped = true, .phase = PHASE_LOADING},
     "native_crash", NULL, 0, true, "native_crash: it crashed: killed by SIGSEGV, core dumped, while loading"},
    {"a crash after a suspect", {"Failed to import x"}, {.ending = ENDING_SIGNAL, .status = SIGABRT}, "py_module_missing",
     "import", 1, true, NULL},
    {"a crash after a wrapper", {"ninja: build stopped"}, {.ending = ENDING_SIGNAL, .status = SIGABRT}, "native_crash", NULL,
     0, true, NULL},
    {"SIGKILL by whom", {NULL}, {.ending = ENDING_SIGNAL, .status = SIGKILL, .phase = PHASE_READY}, "engine_died", NULL, 0,
     true, "engine_died: the engine is gone: killed by SIGKILL, while serving"},
    {"SIGKILL by the kernel", {"EngineDeadError"},
     {.ending = ENDING_SIGNAL, .status = SIGKILL, .phase = PHASE_LOADING, .oom_kills = 2}, "host_oom_kill", NULL, 0, true,
     "host_oom_kill: the host ran out of memory: killed by SIGKILL, while loading; the kernel killed 2 of its processes for memory"},
    {"a compiler was killed, and says so", {"fatal error: x.h"}, {.ending = ENDING_EXIT, .status = 1, .oom_kills = 1},
     "jit_missing_header", "header", 1, true, NULL},
    {"killed, and the kernel's line is there", {"Killed process 7"},
     {.ending = ENDING_SIGNAL, .status = SIGKILL, .oom_kills = 1}, "host_oom_kill", "killed", 1, true, NULL},
    {"no such command", {NULL}, {.ending = ENDING_SPAWN_FAILED, .status = ENOENT}, "cfg_bad_command", NULL, 0, true,
     "cfg_bad_command: the command could not be started: No such file or directory"},
    {"a program by its name", {NULL}, {.ending = ENDING_SPAWN_FAILED, .status = EACCES, .subject = "/x/y"},
     "cfg_bad_command", NULL, 0, true, "cfg_bad_command: /x/y could not be started: Permission denied"},
    {"no room", {NULL}, {.ending = ENDING_SPAWN_FAILED, .status = EMFILE}, "host_no_room", NULL, 0, true,
     "host_no_room: the command could not be started: Too many open files"},
    {"stalled", {NULL}, {.ending = ENDING_STALLED, .phase = PHASE_LOADING}, "engine_hang", NULL, 0, true,
     "engine_hang: it generates nothing: made no progress any more, while loading"},
    {"stalled behind a lock", {"waiting for baton lock_x"}, {.ending = ENDING_STALLED}, "jit_lock_stale", "baton", 1, true, NULL},
    {"canary timed out", {NULL}, {.ending = ENDING_CANARY, .verdict = VERDICT_TIMEOUT, .phase = PHASE_DEGRADED},
     "engine_hang", NULL, 0, true,
     "engine_hang: it generates nothing: failed its canary: no whole answer in time, while failing its live canary"},
    {"canary 500", {NULL}, {.ending = ENDING_CANARY, .verdict = VERDICT_HTTP_5XX, .verdict_detail = "boom"}, "engine_bug",
     NULL, 0, true, "engine_bug: failed its canary: the server reported an error of its own (boom)"},
    {"canary 500 and a cause", {"CUDA out of memory. Tried to allocate 1GiB"},
     {.ending = ENDING_CANARY, .verdict = VERDICT_HTTP_5XX}, "gpu_oom", "oom", 1, true, NULL},
    {"canary: the wrong model, whatever the log says", {"fatal error: x.h"},
     {.ending = ENDING_CANARY, .verdict = VERDICT_WRONG_MODEL}, "cfg_wrong_model", NULL, 0, true, NULL},
    {"canary: key wanted", {NULL}, {.ending = ENDING_CANARY, .verdict = VERDICT_AUTH_REQUIRED}, "cfg_auth_required", NULL, 0,
     true, NULL},
    {"canary: rejected", {NULL}, {.ending = ENDING_CANARY, .verdict = VERDICT_HTTP_4XX}, "cfg_request_rejected", NULL, 0,
     true, NULL},
    {"canary: TLS", {NULL}, {.ending = ENDING_CANARY, .verdict = VERDICT_TLS}, "cfg_tls", NULL, 0, true, NULL},
    {"canary: no tokens", {NULL}, {.ending = ENDING_CANARY, .verdict = VERDICT_NO_TOKENS}, "engine_bad_answer", NULL, 0,
     true, NULL},
    {"canary: reset", {NULL}, {.ending = ENDING_CANARY, .verdict = VERDICT_RESET}, "engine_died", NULL, 0, true, NULL},
    {"a stranger has the port", {"EngineDeadError"},
     {.ending = ENDING_EXIT, .status = 1, .foreign_owner = "pid 4242 (nginx)", .phase = PHASE_LOADING}, "port_in_use", NULL,
     0, true, "port_in_use: somebody has the port: exited with code 1, while loading; pid 4242 (nginx) owns the port"},
    {"a stranger has the port, and the log says so", {"address already in use on 8000", "EngineDeadError"},
     {.ending = ENDING_EXIT, .status = 1, .foreign_owner = "pid 4242 (nginx)"}, "port_in_use", "bind", 1, true, NULL},
    {"the supervisor died", {NULL}, {.ending = ENDING_SUPERVISOR_DIED, .phase = PHASE_READY}, "supervisor_died", NULL, 0,
     true, "supervisor_died: its supervisor was killed, while serving"},
    {"unkillable", {NULL}, {.ending = ENDING_UNKILLABLE, .phase = PHASE_STOPPING}, "unkillable", NULL, 0, true, NULL},
    {"preflight", {NULL}, {.ending = ENDING_PREFLIGHT, .status = 3, .phase = PHASE_PREFLIGHT}, "preflight_failed", NULL, 0,
     true, "preflight_failed: a check before the start failed with code 3"},
    {"preflight with a cause", {"fatal error: x.h"}, {.ending = ENDING_PREFLIGHT, .status = 1}, "jit_missing_header",
     "header", 1, true, NULL},
};

static int say(struct diagnosis *d, const char *line)
{
    if (str_equal(line, PHASE))
        evidence_next_phase(d->evidence);
    else if (str_equal(line, SURVIVED))
        evidence_survived(d->evidence);
    else if (str_equal(line, HEALTHY))
        evidence_healthy(d->evidence);
    else if (str_equal(line, CLOSE))
        evidence_close(d->evidence);
    else if (str_equal(line, OWN))
        evidence_own(d->evidence, 42);
    else
        return diagnosis_line(d, line);
    return 0;
}

static void judges(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(judgements); i++) {
        const char *name = judgements[i].name;
        struct root_cause cause = {};
        struct diagnosis d;

        assert_int_equal(diagnosis_init(&d, catalog_text), 0);
        for (size_t k = 0; k < ARRAY_SIZE(judgements[i].lines) && judgements[i].lines[k]; k++)
            assert_int_equal(say(&d, judgements[i].lines[k]), 0);
        assert_int_equal(evidence_root_cause(d.evidence, &judgements[i].circumstances, &cause), 0);
        if (!str_equal(cause.class_name, judgements[i].class_name) || !str_equal(cause.signature, judgements[i].signature))
            fail_msg("row \"%s\": %s by %s", name, cause.class_name, cause.signature ?: "circumstances");
        assert_row(name, cause.line_number == judgements[i].number);
        assert_row(name, (cause.line != NULL) == (cause.line_number > 0));
        assert_row(name, cause.fatal == judgements[i].fatal);
        if (judgements[i].summary && strcmp(cause.summary, judgements[i].summary) != 0)
            fail_msg("row \"%s\": \"%s\"", name, cause.summary);
        root_cause_release(&cause);
        diagnosis_release(&d);
    }
}

static struct root_cause judge(struct diagnosis *d)
{
    struct root_cause cause = {};

    assert_int_equal(evidence_root_cause(d->evidence, &(struct circumstances) EXIT_1, &cause), 0);
    return cause;
}

static void keeps_the_neighbourhood(void unused **state)
{
    struct diagnosis d;
    struct root_cause cause;

    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    for (int i = 1; i <= 20; i++) {
        _cleanup_free_ char *line = i == 10 ? strdup("ERROR: fatal error: x.h") : str_format("line %d", i);

        assert_int_equal(diagnosis_line(&d, line), 0);
    }
    cause = judge(&d);
    assert_string_equal(cause.line, "ERROR: fatal error: x.h");
    assert_int_equal(cause.line_number, 10);
    assert_int_equal(strv_length(cause.before), 3);
    assert_string_equal(cause.before[0], "line 7");
    assert_string_equal(cause.before[2], "line 9");
    assert_int_equal(strv_length(cause.after), 3);
    assert_string_equal(cause.after[2], "line 13");
    root_cause_release(&cause);
    evidence_reset(d.evidence);
    cause = judge(&d);
    assert_string_equal(cause.class_name, "engine_died");
    assert_int_equal(strv_length(cause.before), 0);
    root_cause_release(&cause);
    diagnosis_release(&d);
}

static void silence_leaves_the_last_words(void unused **state)
{
    struct diagnosis d;
    struct root_cause cause;

    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    for (int i = 1; i <= 20; i++) {
        _cleanup_free_ char *line = str_format("line %d", i);

        assert_int_equal(diagnosis_line(&d, line), 0);
    }
    cause = judge(&d);
    assert_null(cause.line);
    assert_string_equal(cause.hint, "Look at the report.");
    assert_int_equal(cause.policy.repeat, 1);
    assert_int_equal(strv_length(cause.before), 10);
    assert_string_equal(cause.before[9], "line 20");
    root_cause_release(&cause);
    diagnosis_release(&d);
}

static const char *capture(const struct root_cause *c, const char *name)
{
    for (size_t i = 0; i < c->n_captures; i++) {
        if (str_equal(c->captures[i].name, name))
            return c->captures[i].value;
    }
    return NULL;
}

static void merges_captures_of_the_class(void unused **state)
{
    struct diagnosis d;
    struct root_cause cause;

    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    assert_int_equal(diagnosis_line(&d, "[2025-02-09 20:33:21 TP3] CUDA out of memory. Tried to allocate 2GiB"), 0);
    assert_int_equal(diagnosis_line(&d, "GPU 5 has a total capacity"), 0);
    assert_int_equal(diagnosis_line(&d, "fatal error: x.h"), 0);
    cause = judge(&d);
    assert_string_equal(cause.class_name, "gpu_oom");
    assert_string_equal(capture(&cause, "size"), "2GiB");
    assert_string_equal(capture(&cause, "device"), "5");
    assert_string_equal(capture(&cause, "rank"), "TP3");
    assert_null(capture(&cause, "header"));
    assert_string_equal(cause.fingerprint, "gpu_oom/oom");
    root_cause_release(&cause);
    diagnosis_release(&d);
}

static void fills_hints(void unused **state)
{
    struct diagnosis d;
    struct root_cause cause;

    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    assert_int_equal(diagnosis_line(&d, "fatal error: curand.h"), 0);
    cause = judge(&d);
    assert_string_equal(cause.hint, "Install what has curand.h.");
    assert_int_equal(cause.policy.retry, RETRY_NEVER);
    root_cause_release(&cause);
    diagnosis_release(&d);
    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    assert_int_equal(diagnosis_line(&d, "waiting for baton /tmp/lock"), 0);
    cause = judge(&d);
    assert_null(cause.hint);
    assert_int_equal(cause.cleanup, CLEANUP_BUILD_LOCK);
    root_cause_release(&cause);
    diagnosis_release(&d);
}

/* Two lines, and whether their causes are one. */
static const struct {
    const char *a;
    const char *b;
    bool equal;
} fingerprints[] = {
    {"fatal error: curand.h", "fatal error: curand.h", true},
    {"fatal error: curand.h", "fatal error: cublas.h", false},
    {"[2025-02-09 20:33:21 TP3] fatal error: x.h", "[2025-02-10 21:00:00 TP7] fatal error: x.h", true},
    {"fatal error: /tmp/tmps1rkq3y3/main.h", "fatal error: /tmp/tmp_abc1def2/main.h", false},
    {"fatal error: /tmp/tmps1rkq3y3/main.h", "fatal error: /tmp/tmpx7aq9zzz/main.h", true},
    {"fatal error: /c/41ce1f58e0a8aa9865e66b90d58b3307/x.h", "fatal error: /c/0011223344556677889900aabbccddee/x.h", true},
    {"fatal error: /c/cplz4nlou3tt6y5xycq7lmzyvhf4oi3uqk3sm52fybwcsxvsbjzw/x.h",
     "fatal error: /c/aplz4nlou3tt6y5xycq7lmzyvhf4oi3uqk3sm52fybwcsxvsbj12/x.h", true},
    {"CUDA out of memory. Tried to allocate 1GiB", "CUDA out of memory. Tried to allocate 2GiB", true},
    {"sh: /usr/local/cuda-12.8/bin/nvcc: not found", "sh: /usr/local/cuda-13.0/bin/nvcc: not found", false},
    {"Killed process 7", "Killed process 8", false},
};

static char *fingerprint_of(const char *line)
{
    struct diagnosis d;
    struct root_cause cause;
    char *fingerprint;

    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    assert_int_equal(diagnosis_line(&d, line), 0);
    cause = judge(&d);
    assert_non_null(cause.line);
    fingerprint = strdup(cause.fingerprint);
    root_cause_release(&cause);
    diagnosis_release(&d);
    return fingerprint;
}

static void fingerprints_tell_causes_apart(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(fingerprints); i++) {
        _cleanup_free_ char *a = fingerprint_of(fingerprints[i].a), *b = fingerprint_of(fingerprints[i].b);

        if (str_equal(a, b) != fingerprints[i].equal)
            fail_msg("\"%s\" and \"%s\"", a, b);
    }
}

static const struct {
    const char *text;
    const char *normalised;
} chances[] = {
    {"curand.h", "curand.h"},
    {"0x7f797fe00000", "*"},
    {"at 0x7f79 in f", "at * in f"},
    {"/root/.triton/cache_38806/41ce1f58e0a8aa98/cuda_utils.so", "/root/.triton/cache_38806/*/cuda_utils.so"},
    {"pid=1234 in pid 99", "pid=* in pid *"},
    {"2025-02-09 20:33:21", "* *"},
    {"compute_110a sm_90a 131072 GLIBC_2.32", "compute_110a sm_90a 131072 GLIBC_2.32"},
    {"_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string", "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string"},
    {"0000:04:00", "0000:04:00"},
    {"MIG-550e8400-e29b-41d4-a716-446655440000", "MIG-*-e29b-41d4-a716-446655440000"},
    {"libcudart.so.12", "libcudart.so.12"},
    {"tmpfs", "tmpfs"},
    {"", ""},
};

static void chance_is_left_out(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(chances); i++) {
        _cleanup_free_ char *normalised = fingerprint_normalise(chances[i].text);

        if (strcmp(normalised, chances[i].normalised) != 0)
            fail_msg("\"%s\" becomes \"%s\"", chances[i].text, normalised);
    }
}

struct listing {
    struct strbuf told;
};

static int tell(const struct finding *f, void *userdata)
{
    struct listing *l = userdata;

    strbuf_appendf(&l->told, "%s@%d x%d: %s\n", f->signature->id, (int) f->line_number, (int) f->seen,
                   outcome_text(f->outcome));
    return 0;
}

static void says_why_others_lost(void unused **state)
{
    struct diagnosis d;
    struct listing l = {};

    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    evidence_own(d.evidence, 42);
    assert_int_equal(say(&d, "ninja: build stopped"), 0);
    assert_int_equal(say(&d, PHASE), 0);
    assert_int_equal(say(&d, "sh: x: not found"), 0);
    assert_int_equal(say(&d, "PyTorch version"), 0);
    assert_int_equal(say(&d, "Killed process 7"), 0);
    assert_int_equal(say(&d, "this can be ignored"), 0);
    assert_int_equal(say(&d, "fatal error: x.h"), 0);
    assert_int_equal(say(&d, "fatal error: x.h"), 0);
    assert_int_equal(say(&d, "fatal error: y.h"), 0);
    assert_int_equal(say(&d, "compilation terminated"), 0);
    assert_int_equal(say(&d, "EngineDeadError"), 0);
    assert_int_equal(evidence_findings(d.evidence, &(struct circumstances) OFFLINE, tell, &l), 0);
    assert_string_equal(l.told.data,
                        "ninja@1 x1: the server went on to a later phase\n"
                        "tool@2 x1: something beside it says that it is harmless\n"
                        "killed@4 x1: concerns a process that is not the server's\n"
                        "ignored@5 x1: looks bad and is not\n"
                        "header@6 x2: the root cause\n"
                        "header@8 x1: came later than the root cause\n"
                        "needy@9 x1: nothing that it needs beside it was seen\n"
                        "dead@10 x1: explains less than the root cause\n");
    strbuf_release(&l.told);
    diagnosis_release(&d);
}

static int count(const struct finding unused *f, void *userdata)
{
    ++*(size_t *) userdata;
    return 0;
}

/* However large the log, what is kept is bounded, and the first cause is not pushed out by noise. */
static void memory_is_bounded(void unused **state)
{
    struct diagnosis d;
    struct root_cause cause;
    size_t n = 0;

    assert_int_equal(diagnosis_init(&d, catalog_text), 0);
    for (int i = 0; i < 5000; i++) {
        _cleanup_free_ char *noise = str_format("Failed to import module%d", i), *tool = str_format("sh: tool%d: not found", i);

        assert_int_equal(diagnosis_line(&d, noise), 0);
        assert_int_equal(diagnosis_line(&d, "EngineDeadError"), 0);
        assert_int_equal(diagnosis_line(&d, tool), 0);
    }
    assert_int_equal(diagnosis_line(&d, "fatal error: x.h"), 0);
    assert_int_equal(evidence_findings(d.evidence, &(struct circumstances) EXIT_1, count, &n), 0);
    assert_true(n <= 64);
    cause = judge(&d);
    assert_string_equal(cause.signature, "tool");
    assert_int_equal(cause.line_number, 3);
    root_cause_release(&cause);
    diagnosis_release(&d);
}

static int without_memory(void unused *data)
{
    static const char *const lines[] = {
        "a", "[2025-02-09 20:33:21 TP3] fatal error: curand.h", "b", "CUDA out of memory. Tried to allocate 2GiB",
        "GPU 5 has a total capacity", "EngineDeadError",
    };
    struct root_cause cause = {};
    struct diagnosis d = {};
    int r = diagnosis_init(&d, catalog_text);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lines); i++)
        r = diagnosis_line(&d, lines[i]);
    if (r == 0)
        r = evidence_root_cause(d.evidence, &(struct circumstances) EXIT_1, &cause);
    if (r == 0)
        root_cause_release(&cause);
    if (r == 0)
        r = evidence_root_cause(d.evidence, &(struct circumstances){.ending = ENDING_SPAWN_FAILED, .status = ENOENT}, &cause);
    assert_true((r == 0) == (cause.class_name != NULL));
    root_cause_release(&cause);
    diagnosis_release(&d);
    return r;
}

static void survives_lack_of_memory(void unused **state)
{
    chaos_each(without_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges),
        cmocka_unit_test(keeps_the_neighbourhood),
        cmocka_unit_test(silence_leaves_the_last_words),
        cmocka_unit_test(merges_captures_of_the_class),
        cmocka_unit_test(fills_hints),
        cmocka_unit_test(fingerprints_tell_causes_apart),
        cmocka_unit_test(chance_is_left_out),
        cmocka_unit_test(says_why_others_lost),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
