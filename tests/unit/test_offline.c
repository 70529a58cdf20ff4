/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/offline.h"
#include "core/diagnosis/trouble.h"
#include "diagnosis.h"

static const char catalog_text[] =
    "[Class jit_missing_header]\nText=a JIT build lacks a header\nHint=Install it.\nRetry=never\n"
    "[Class engine_died]\nText=the engine is gone\nRetry=slow\n"
    "[Class benign_note]\nText=harmless\n"
    "[Signature header]\nClass=jit_missing_header\nPattern=fatal error: (?<header>\\S+\\.h)\nHint=Install what has {header}.\n"
    "[Signature dead]\nClass=engine_died\nRank=secondary\nPattern=EngineDeadError\n"
    "[Signature ready]\nRank=health\nPattern=fired up and ready\n"
    "[Signature ignored]\nClass=benign_note\nRank=benign\nPattern=can be ignored\n";

static char weights[] = "weights", graphs[] = "graphs", weights_text[] = "Load weight begin", graphs_text[] = "Capture begin";
static char *weights_patterns[] = {weights_text, NULL}, *graphs_patterns[] = {graphs_text, NULL};

static const struct {
    const char *name;
    const char *log;
    const char *class_name; /* NULL: nothing fatal */
    uint64_t line;
    const char *phase;      /* NULL: none */
} logs[] = {
    {"empty", "", NULL, 0, NULL},
    {"one line without its end", "fatal error: x.h", "jit_missing_header", 1, NULL},
    {"the first cause", "a\nb\nfatal error: x.h\nfatal error: y.h\nEngineDeadError\n", "jit_missing_header", 3, NULL},
    {"ready in spite of it", "fatal error: x.h\nThe server is fired up and ready to roll\n", NULL, 0, NULL},
    {"a phase went by", "Load weight begin\nfatal error: x.h\nCapture begin\n", NULL, 0, "graphs"},
    {"phases go forward only", "Capture begin\nfatal error: x.h\nLoad weight begin\n", "jit_missing_header", 2, "graphs"},
    {"carriage returns", "bar 1\rbar 2\rfatal error: x.h\r\n", "jit_missing_header", 1, NULL},
    {"newest first",
     "2025-04-05T00:01:19.5Z EngineDeadError\n2025-04-05T00:01:18.4Z fatal error: y.h\n2025-04-05T00:01:17.3Z fatal error: x.h\n"
     "2025-04-05T00:01:16.2Z start\n", "jit_missing_header", 3, NULL},
    {"a step back is no reversal",
     "2025-04-05 00:01:19 a\n2025-04-05 00:01:18 fatal error: y.h\n2025-04-05 00:01:20 fatal error: x.h\n",
     "jit_missing_header", 2, NULL},
    {"harmless", "this can be ignored\n", NULL, 0, NULL},
};

static struct offline *open_offline(const struct catalog *c)
{
    static struct phase_config phases[] = {{.name = weights, .patterns = weights_patterns},
                                           {.name = graphs, .patterns = graphs_patterns}};
    const struct offline_profile profile = {.name = "sglang", .phases = phases, .n_phases = 2};
    struct offline *o = NULL;
    char **errors = NULL;

    assert_int_equal(offline_new(c, NULL, &profile, 1, &o, &errors), 0);
    return o;
}

static void reads_logs(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(catalog_text);

    for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
        _cleanup_(offline_freep) struct offline *o = open_offline(c);
        struct root_cause cause = {};

        assert_int_equal(offline_read(o, logs[i].log, strlen(logs[i].log)), 0);
        assert_int_equal(offline_root_cause(o, &cause), 0);
        assert_row(logs[i].name, cause.fatal == !!logs[i].class_name);
        assert_row(logs[i].name, !cause.fatal || str_equal(cause.class_name, logs[i].class_name));
        assert_row(logs[i].name, !cause.fatal || cause.line_number == logs[i].line);
        assert_row(logs[i].name, str_equal(offline_phase(o), logs[i].phase));
        root_cause_release(&cause);
    }
}

static json_t *json_of(const struct catalog *c, const char *log)
{
    _cleanup_(offline_freep) struct offline *o = open_offline(c);
    json_t *json = NULL;

    assert_int_equal(offline_read(o, log, strlen(log)), 0);
    assert_int_equal(offline_json(o, &json), 0);
    return json;
}

static const char *text(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static void tells_programs(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(catalog_text);
    json_t *json = json_of(c, "Load weight begin\na api_key=s3cr3t\nfatal error: curand.h\nb\nEngineDeadError\n");
    const json_t *candidates = json_object_get(json, "candidates"), *second = json_array_get(candidates, 1);

    assert_true(json_is_true(json_object_get(json, "fatal")));
    assert_string_equal(text(json, "class"), "jit_missing_header");
    assert_string_equal(text(json, "signature"), "header");
    assert_string_equal(text(json_object_get(json, "captures"), "header"), "curand.h");
    assert_string_equal(text(json, "retry"), "never");
    assert_int_equal(json_integer_value(json_object_get(json, "line")), 3);
    assert_string_equal(text(json, "text"), "fatal error: curand.h");
    assert_string_equal(text(json, "hint"), "Install what has curand.h.");
    assert_string_equal(text(json, "phase"), "weights");
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "before"), 1)), "a api_key=[redacted]");
    assert_int_equal(json_array_size(candidates), 2);
    assert_string_equal(text(second, "signature"), "dead");
    assert_string_equal(text(second, "rank"), "secondary");
    assert_string_equal(text(second, "why"), "explains less than the root cause");
    json_decref(json);

    json = json_of(c, "EngineDeadError");
    assert_string_equal(text(json, "retry"), "backoff");
    json_decref(json);
}

static void tells_of_nothing(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(catalog_text);
    json_t *json = json_of(c, "all is well\nsomething failed: no such thing\nfatal: assertion\n"), *likeliest;

    assert_true(json_is_false(json_object_get(json, "fatal")));
    assert_true(json_is_null(json_object_get(json, "class")));
    assert_true(json_is_null(json_object_get(json, "line")));
    assert_true(json_is_null(json_object_get(json, "retry")));
    likeliest = json_object_get(json, "likeliest");
    assert_int_equal(json_array_size(likeliest), 2);
    assert_string_equal(json_string_value(json_array_get(likeliest, 0)), "fatal: assertion");
    json_decref(json);

    json = json_of(c, "this can be ignored");
    assert_true(json_is_false(json_object_get(json, "fatal")));
    assert_string_equal(text(json, "class"), "benign_note");
    json_decref(json);
}

static void keeps_the_worst_lines(void unused **state)
{
    struct trouble t = {};

    for (int i = 0; i < 100; i++) {
        _cleanup_free_ char *line = str_format("%s number %d", i % 10 == 5 ? "fatal error" : "timeout", i);

        assert_int_equal(trouble_consider(&t, line), 0);
        assert_int_equal(trouble_consider(&t, line), 0);
    }
    assert_string_equal(t.lines[0], "fatal error number 5");
    assert_string_equal(t.lines[4], "fatal error number 45");
    assert_null(t.lines[5]);
    trouble_release(&t);
}

static int without_memory(void *data)
{
    static struct phase_config phases[] = {{.name = weights, .patterns = weights_patterns}};
    const struct offline_profile profile = {.name = "sglang", .phases = phases, .n_phases = 1};
    static const char log[] = "Load weight begin\nfatal error: x.h\nwords that failed\nEngineDeadError\n";
    _cleanup_(offline_freep) struct offline *o = NULL;
    _cleanup_strv_ char **errors = NULL;
    json_t *json = NULL;
    int r = offline_new(data, NULL, &profile, 1, &o, &errors);

    if (r == 0)
        r = offline_read(o, log, strlen(log));
    if (r == 0)
        r = offline_json(o, &json);
    json_decref(json);
    return r;
}

static void survives_lack_of_memory(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(catalog_text);

    json_set_alloc_funcs(chaos_malloc, free);
    chaos_each(without_memory, c);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_logs),            cmocka_unit_test(tells_programs),
        cmocka_unit_test(tells_of_nothing),      cmocka_unit_test(keeps_the_worst_lines),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("offline", tests, NULL, NULL);
}
