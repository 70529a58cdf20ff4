/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/report.h"

#define SECRET "hf_aB3dE5gH7jK9mN1pQ3sT5vX7zB9d"
#define SCHEMA "docs/report.schema.json"

/* --- As much of JSON Schema as docs/report.schema.json uses --- */

struct schema {
    json_t *root;
    char problem[300];
};

static bool complain(struct schema *s, const char *path, const char *what)
{
    (void) snprintf(s->problem, sizeof(s->problem), "%s: %s", path, what);
    return false;
}

static const json_t *resolve(const struct schema *s, const json_t *schema)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    const char *name = ref ? str_after(ref, "#/$defs/") : NULL;

    return name ? json_object_get(json_object_get(s->root, "$defs"), name) : schema;
}

static bool has_type(const char *type, const json_t *value)
{
    return (str_equal(type, "object") && json_is_object(value)) || (str_equal(type, "array") && json_is_array(value)) ||
        (str_equal(type, "string") && json_is_string(value)) || (str_equal(type, "integer") && json_is_integer(value)) ||
        (str_equal(type, "boolean") && json_is_boolean(value));
}

static bool is_one_of(const json_t *list, const json_t *value)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item) {
        if (json_equal(item, value))
            return true;
    }
    return false;
}

static bool conforms(struct schema *s, const json_t *schema, const json_t *value, const char *path);

static bool members_conform(struct schema *s, const json_t *schema, json_t *value, const char *path)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *key;
    json_t *member;

    json_object_foreach(value, key, member) {
        _cleanup_free_ char *below = str_format("%s/%s", path, key);
        const json_t *known = json_object_get(properties, key);

        if (!known && json_is_object(others))
            known = others;
        if (!known)
            return complain(s, below, "not in the schema");
        if (!conforms(s, known, member, below))
            return false;
    }
    return true;
}

static bool conforms(struct schema *s, const json_t *schema, const json_t *value, const char *path)
{
    size_t i;
    json_t *item;

    schema = resolve(s, schema);
    if (!schema)
        return complain(s, path, "a reference to nowhere");
    if (json_object_get(schema, "const"))
        return json_equal(json_object_get(schema, "const"), value) || complain(s, path, "another constant");
    if (json_object_get(schema, "enum"))
        return is_one_of(json_object_get(schema, "enum"), value) || complain(s, path, "not in the enumeration");
    if (!has_type(json_string_value(json_object_get(schema, "type")), value))
        return complain(s, path, "of another type");
    if (json_is_integer(value) && json_object_get(schema, "minimum") &&
        json_integer_value(value) < json_integer_value(json_object_get(schema, "minimum")))
        return complain(s, path, "too small");
    json_array_foreach(json_object_get(schema, "required"), i, item) {
        if (!json_object_get(value, json_string_value(item)))
            return complain(s, path, json_string_value(item));
    }
    json_array_foreach(value, i, item) {
        if (!conforms(s, json_object_get(schema, "items"), item, path))
            return false;
    }
    return !json_is_object(value) || members_conform(s, schema, (json_t *) (uintptr_t) value, path);
}

static void assert_conforms(const json_t *report)
{
    struct schema s = {.root = json_load_file(SCHEMA, 0, NULL)};

    assert_non_null(s.root);
    if (!conforms(&s, s.root, report, "report"))
        fail_msg("%s", s.problem);
    json_decref(s.root);
}

/* --- Facts --- */

/* Everything that a report can have, with a secret wherever a text can hold one. */
struct story {
    struct report_facts facts;
    struct report_phase phases[2];
    struct circumstances circumstances;
    struct root_cause cause;
    struct capture captures[2];
    struct decision decision;
    struct report_progress progress;
    struct snapshot_wait waits[2];
    struct snapshot_process processes[1];
    struct snapshot snapshot;
    struct report_dump dump;
    char *command[4], *environment[3], *before[2], *after[2], *stack[2], *sockets[2];
};

static char words_vllm[] = "vllm", words_option[] = "--api-key", words_secret[] = "s3cr3t";
static char variable[] = "HF_TOKEN=" SECRET, bad_utf8[] = "X=\xff";
static char before[] = "loading with api_key=" SECRET, after[] = "   20 | #include <curand.h>";
static char class_name[] = "jit_missing_header", signature[] = "missing-header", header[] = "curand.h", word[] = SECRET;
static char line[] = "fatal error: curand.h " SECRET, hint[] = "Install curand.h, not " SECRET;
static char summary[] = "jit_missing_header: a JIT build lacks a header: curand.h " SECRET;
static char fingerprint[] = "jit_missing_header/missing-header/header=curand.h", reason[] = "it will not help " SECRET;

static char channel[] = "nv_wait", nowhere[] = "", process[] = "python3 " SECRET, socket_line[] = "tcp 1.2.3.4:5 listen";

static void tell_story(struct story *s)
{
    *s = (struct story){
        .phases = {{PHASE_LOADING, "weights", 630 * USEC_PER_SEC}, {PHASE_PROVING, NULL, 2 * USEC_PER_SEC}},
        .circumstances = {.ending = ENDING_SIGNAL, .status = SIGABRT, .core_dumped = true, .phase = PHASE_PROVING,
                          .oom_kills = 1, .verdict = VERDICT_RESET, .verdict_detail = "closed " SECRET,
                          .foreign_owner = "pid 1 (x)"},
        .command = {words_vllm, words_option, words_secret}, .environment = {variable, bad_utf8},
        .before = {before}, .after = {after}, .captures = {{"header", header}, {"word", word}},
        .progress = {.sign = "output", .realtime = UINT64_C(1767323045000006), .cpu_percent = 100},
        .waits = {{'D', channel, 1}, {'R', nowhere, 7}}, .stack = {channel}, .sockets = {socket_line},
        .decision = {.what = {.restart = true, .delay_usec = 5 * USEC_PER_SEC}, .reason = reason},
    };
    s->cause = (struct root_cause){
        .class_name = class_name, .signature = signature, .captures = s->captures, .n_captures = 2, .line = line,
        .line_number = 812, .before = s->before, .after = s->after, .summary = summary, .hint = hint,
        .fingerprint = fingerprint,
    };
    s->processes[0] = (struct snapshot_process){
        .pid = 42, .parent = 1, .state = 'D', .name = process, .waits = s->waits, .n_waits = 2, .stack = s->stack,
    };
    s->snapshot = (struct snapshot){.processes = s->processes, .n = 1, .left_out = 2, .sockets = s->sockets};
    s->dump = (struct report_dump){
        .when = "before the stop signal", .snapshot = &s->snapshot, .command = s->command, .ended = true,
        .exit_status = 3, .output = "first\n\nnot " SECRET "\n",
    };
    s->facts = (struct report_facts){
        .version = "1.2.3", .instance = "k26", .unit = "coalmine@k26.service", .invocation = "0123abcd", .epoch = 3,
        .attempt = 2, .started = {.monotonic = 10 * USEC_PER_SEC, .realtime = UINT64_C(1767323045000006)},
        .ended = {.monotonic = 642 * USEC_PER_SEC, .realtime = UINT64_C(1767323677000006)}, .phases = s->phases,
        .n_phases = 2, .command = s->command, .environment = s->environment, .circumstances = &s->circumstances,
        .cause = &s->cause, .decision = &s->decision, .progress = &s->progress, .dump = &s->dump,
        .gpu_held = "GPU 0: 38.4 GiB in use, PID 7 (x) " SECRET,
    };
}

static json_t *report_of(const struct report_facts *facts)
{
    json_t *json = NULL;

    assert_int_equal(report_json(facts, &json), 0);
    return json;
}

static void assert_text(const json_t *json, const char *a, const char *b, const char *expected)
{
    const json_t *value = json_object_get(json, a);

    if (b)
        value = json_object_get(value, b);
    if (!str_equal(json_string_value(value), expected))
        fail_msg("%s %s: \"%s\"", a, str_or_empty(b), str_or_empty(json_string_value(value)));
}

static json_int_t number(const json_t *json, const char *a, const char *b)
{
    const json_t *value = json_object_get(json, a);

    return json_integer_value(b ? json_object_get(value, b) : value);
}

static void tells_everything(void unused **state)
{
    struct story s;
    json_t *json, *phase;

    tell_story(&s);
    json = report_of(&s.facts);
    assert_conforms(json);
    assert_int_equal(number(json, "schema_version", NULL), REPORT_SCHEMA_VERSION);
    assert_text(json, "coalmine_version", NULL, "1.2.3");
    assert_text(json, "instance", NULL, "k26");
    assert_text(json, "unit", NULL, "coalmine@k26.service");
    assert_text(json, "invocation", NULL, "0123abcd");
    assert_int_equal(number(json, "epoch", NULL), 3);
    assert_int_equal(number(json, "attempt", NULL), 2);
    assert_text(json, "started", NULL, "2026-01-02T03:04:05.000006Z");
    assert_text(json, "ended", NULL, "2026-01-02T03:14:37.000006Z");
    assert_int_equal(number(json, "duration_usec", NULL), 632000000);
    assert_text(json, "class", NULL, "jit_missing_header");
    assert_text(json, "signature", NULL, "missing-header");
    assert_text(json, "captures", "header", "curand.h");
    assert_text(json, "captures", "word", "[redacted]");
    assert_text(json, "hint", NULL, "Install curand.h, not [redacted]");
    assert_text(json, "root_cause", "summary", "jit_missing_header: a JIT build lacks a header: curand.h [redacted]");
    assert_text(json, "root_cause", "line", "fatal error: curand.h [redacted]");
    assert_int_equal(number(json, "root_cause", "line_number"), 812);
    assert_text(json, "decision", "reason", "it will not help [redacted]");
    assert_int_equal(number(json, "decision", "delay_usec"), 5000000);
    assert_text(json, "ending", "kind", "signal");
    assert_text(json, "ending", "signal_name", "SIGABRT");
    assert_text(json, "ending", "phase", "proving");
    assert_int_equal(number(json, "ending", "oom_kills"), 1);
    assert_text(json, "canary", "verdict", "reset");
    assert_text(json, "canary", "detail", "closed [redacted]");
    phase = json_array_get(json_object_get(json, "phases"), 0);
    assert_text(phase, "phase", NULL, "loading");
    assert_text(phase, "step", NULL, "weights");
    assert_int_equal(number(phase, "duration_usec", NULL), 630000000);
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "command"), 2)), "[redacted]");
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "environment"), 0)), "HF_TOKEN=[redacted]");
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "environment"), 1)), "X=\xef\xbf\xbd");
    json_decref(json);
}

static void tells_of_a_hang(void unused **state)
{
    struct story s;
    json_t *json, *dump, *process_json, *command;

    tell_story(&s);
    json = report_of(&s.facts);
    assert_text(json, "progress", "sign", "output");
    assert_text(json, "progress", "at", "2026-01-02T03:04:05.000006Z");
    assert_int_equal(number(json, "progress", "cpu_percent"), 100);
    dump = json_object_get(json, "dump");
    assert_text(dump, "when", NULL, "before the stop signal");
    assert_int_equal(number(dump, "processes_left_out", NULL), 2);
    process_json = json_array_get(json_object_get(dump, "processes"), 0);
    assert_text(process_json, "name", NULL, "python3 [redacted]");
    assert_text(process_json, "state", NULL, "in uninterruptible sleep");
    command = json_object_get(dump, "command");
    assert_int_equal(number(command, "exit_code", NULL), 3);
    assert_string_equal(json_string_value(json_array_get(json_object_get(command, "argv"), 2)), "[redacted]");
    assert_string_equal(json_string_value(json_array_get(json_object_get(command, "output"), 1)), "not [redacted]");
    json_decref(json);
    s.dump = (struct report_dump){.snapshot = &s.snapshot, .command = s.command};
    json = report_of(&s.facts);
    assert_conforms(json);
    assert_null(json_object_get(json_object_get(json, "dump"), "processes"));
    json_decref(json);
}

static void no_secret_leaves(void unused **state)
{
    struct story s;
    json_t *json;
    _cleanup_free_ char *text = NULL, *shown = NULL;

    tell_story(&s);
    json = report_of(&s.facts);
    text = json_dumps(json, 0);
    shown = report_summary(&s.facts);
    assert_null(strstr(text, SECRET));
    assert_null(strstr(text, words_secret));
    assert_null(strstr(shown, SECRET));
    json_decref(json);
}

static void little_is_enough(void unused **state)
{
    static const struct circumstances all[] = {
        {.ending = ENDING_NONE}, {.ending = ENDING_EXIT, .status = 1}, {.ending = ENDING_SIGNAL, .status = 63},
        {.ending = ENDING_SPAWN_FAILED, .status = ENOENT}, {.ending = ENDING_STALLED}, {.ending = ENDING_CANARY},
        {.ending = ENDING_PREFLIGHT, .status = 2}, {.ending = ENDING_UNKILLABLE}, {.ending = ENDING_SUPERVISOR_DIED},
    };
    char nothing[] = "unknown";

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        struct root_cause cause = {.class_name = nothing, .summary = nothing, .fingerprint = nothing};
        struct decision decision = {.what = {.exit_code = EXIT_UNMENDABLE}};
        struct report_facts facts = {.circumstances = &all[i], .cause = &cause, .decision = &decision};
        json_t *json = report_of(&facts);

        assert_conforms(json);
        assert_int_equal(number(json, "decision", "exit_code"), 81);
        json_decref(json);
    }
}

static void sums_up(void unused **state)
{
    struct story s;
    _cleanup_free_ char *text = NULL;

    tell_story(&s);
    text = report_summary(&s.facts);
    assert_string_equal(text,
                        "k26 failed after 632 s, attempt 2: jit_missing_header: a JIT build lacks a header: curand.h [redacted]\n"
                        "Root cause: fatal error: curand.h [redacted]\n"
                        "Decision: it will not help [redacted]\n"
                        "What to do: Install curand.h, not [redacted]");
}

static void summaries_are_bounded(void unused **state)
{
    char huge[2000], broken[] = "a\nb";
    _cleanup_strv_ char **lines = NULL;
    _cleanup_free_ char *text = NULL;
    struct story s;

    tell_story(&s);
    for (size_t i = 0; i + 3 < sizeof(huge); i += 3)
        memcpy(huge + i, "\xe6\x96\x87", 3);
    huge[1998] = '\0';
    s.cause.summary = s.cause.line = s.cause.hint = huge;
    s.decision.reason = broken;
    text = report_summary(&s.facts);
    assert_int_equal(strv_split(text, "\n", &lines), 0);
    assert_int_equal(strv_length(lines), 4);
    assert_string_equal(lines[2], "Decision: a b");
    for (size_t i = 0; i < 4; i++) {
        _cleanup_free_ char *clean = utf8_sanitize(lines[i], strlen(lines[i]));

        assert_string_equal(clean, lines[i]);
        assert_true(strlen(lines[i]) <= 300);
        assert_true(i == 2 || (strlen(lines[i]) > 295 && str_ends_with(lines[i], "...")));
    }
}

static void names_sort_by_time(void unused **state)
{
    struct story s;
    _cleanup_free_ char *name = NULL;

    tell_story(&s);
    name = report_name(&s.facts);
    assert_string_equal(name, "20260102T031437.000006Z-e3.json");
}

static int without_memory(void *data)
{
    const struct story *s = data;
    _cleanup_free_ char *text = NULL, *name = NULL;
    json_t *json = NULL;
    int r = report_json(&s->facts, &json);

    if (r < 0)
        return r;
    json_decref(json);
    text = report_summary(&s->facts);
    name = report_name(&s->facts);
    return text && name ? 0 : -ENOMEM;
}

static void survives_lack_of_memory(void unused **state)
{
    struct story s;

    tell_story(&s);
    json_set_alloc_funcs(chaos_malloc, free);
    chaos_each(without_memory, &s);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_everything), cmocka_unit_test(tells_of_a_hang), cmocka_unit_test(no_secret_leaves),      cmocka_unit_test(little_is_enough),
        cmocka_unit_test(sums_up),          cmocka_unit_test(summaries_are_bounded), cmocka_unit_test(names_sort_by_time),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
