/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "core/supervision/eta.h"

#define SEC USEC_PER_SEC
#define VECTOR(...) ((char **) (uintptr_t) (const char *const[]){__VA_ARGS__, NULL})

static void keys(void **state unused)
{
    static const struct {
        const char *const command[4], *model;
    } rows[] = {
        {{"vllm", "serve", "a"}, NULL}, {{"vllm", "serve", "b"}, NULL}, {{"vllm", "serve", "a"}, "m"},
        {{"vllm", "servea"}, NULL},     {{"vllm serve", "a"}, NULL},    {{"vllm", "serve", "a", "m"}, NULL},
        {{NULL}, NULL},
    };
    char keys[ARRAY_SIZE(rows)][HISTORY_KEY_MAX], again[HISTORY_KEY_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char **command = (char **) (uintptr_t) rows[i].command;

        history_key(keys[i], rows[i].command[3] ? VECTOR("vllm", "serve", "a", "m") : command, rows[i].model);
        assert_int_equal(strlen(keys[i]), HISTORY_KEY_MAX - 1);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(keys[i], keys[k]);
    }
    assert_string_equal(history_key(again, VECTOR("vllm", "serve", "a"), ""), keys[0]);
}

static const struct report_phase rows_ready[] = {
    {PHASE_PREFLIGHT, NULL, SEC},           {PHASE_LOADING, NULL, 5 * SEC},
    {PHASE_LOADING, "loading weights", 300 * SEC}, {PHASE_LISTENING, NULL, 2 * SEC},
    {PHASE_PROVING, NULL, 3 * SEC},         {PHASE_READY, NULL, 1000 * SEC},
    {PHASE_DEGRADED, NULL, SEC},            {PHASE_STOPPING, NULL, SEC},
};

static char *line_of(const char *key, const struct report_phase *phases, size_t n, enum epoch_outcome outcome)
{
    struct history_epoch e = {
        .key = key, .epoch = 3, .attempt = 1, .started = UINT64_C(1767323045000006), .served = true, .phases = phases,
        .n_phases = n,
    };
    json_t *known = history_json(&e);
    char *line;

    assert_non_null(known);
    line = history_line(known, outcome, UINT64_C(1767323677000006), outcome == EPOCH_FAILED ? "gpu_oom" : NULL);
    json_decref(known);
    assert_non_null(line);
    return line;
}

static void line_tells_all(void **state unused)
{
    _cleanup_free_ char *line = line_of("k", rows_ready, 2, EPOCH_FAILED);

    assert_string_equal(line, "{\"key\":\"k\",\"epoch\":3,\"attempt\":1,\"started\":\"2026-01-02T03:04:05.000006Z\","
                              "\"served\":true,\"phases\":[{\"phase\":\"preflight\",\"duration_usec\":1000000},"
                              "{\"phase\":\"loading\",\"duration_usec\":5000000}],\"ended\":"
                              "\"2026-01-02T03:14:37.000006Z\",\"outcome\":\"failed\",\"class\":\"gpu_oom\"}");
    for (enum epoch_outcome o = 0; o < N_EPOCH_OUTCOMES; o++)
        assert_false(str_empty(epoch_outcome_name(o)));
}

static void only_the_way_to_ready_counts(void **state unused)
{
    _cleanup_free_ char *line = line_of("k", rows_ready, ARRAY_SIZE(rows_ready), EPOCH_FAILED);
    struct history h = {};

    assert_int_equal(history_read(line, strlen(line), "k", &h), 0);
    assert_int_equal(h.n, 1);
    assert_int_equal(h.starts[0].n, 4);
    assert_int_equal(h.starts[0].steps[1].duration_usec, 300 * SEC);
    assert_string_equal(h.starts[0].steps[1].name, "loading weights");
    assert_null(h.starts[0].steps[3].name);
    history_release(&h);
    assert_int_equal(h.n, 0);
}

static void what_is_no_start_is_passed_over(void **state unused)
{
    static const struct {
        const char *name, *text;
        size_t n;
    } rows[] = {
        {"empty", "", 0},
        {"no JSON", "\n\nhello\n{\n[1]\n7\nnull\n", 0},
        {"another key", "{\"key\":\"x\",\"phases\":[{\"phase\":\"loading\",\"duration_usec\":1},{\"phase\":\"ready\"}]}\n", 0},
        {"never ready", "{\"key\":\"k\",\"phases\":[{\"phase\":\"loading\",\"duration_usec\":1},{\"phase\":\"stopping\"}]}\n", 0},
        {"ready at once", "{\"key\":\"k\",\"phases\":[{\"phase\":\"ready\"}]}\n", 0},
        {"phases of another kind", "{\"key\":\"k\",\"phases\":{\"phase\":\"loading\"}}\n{\"key\":\"k\"}\n", 0},
        {"an unknown phase", "{\"key\":\"k\",\"phases\":[{\"phase\":\"loading\"},{\"phase\":\"dreaming\"},{\"phase\":\"ready\"}]}", 0},
        {"torn", "{\"key\":\"k\",\"phases\":[{\"phase\":\"loading\",\"duration_usec\":1},{\"phase\":\"ready\"}]}\n"
                 "{\"key\":\"k\",\"phases\":[{\"phase\":\"loading\",\"durat", 1},
        {"durations that are none", "{\"key\":\"k\",\"phases\":[{\"phase\":\"loading\",\"duration_usec\":-5},"
                                    "{\"phase\":\"proving\",\"duration_usec\":\"x\"},{\"phase\":\"ready\"}]}", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct history h = {};

        assert_int_equal(history_read(rows[i].text, strlen(rows[i].text), "k", &h), 0);
        assert_row(rows[i].name, h.n == rows[i].n);
        history_release(&h);
    }
}

/* Adds a start of these steps: "w" weights, "b" a build, "p" proving. */
static void add_start(struct strbuf *text, const char *steps, const unsigned *seconds)
{
    struct report_phase phases[8];
    _cleanup_free_ char *line = NULL;
    size_t n = strlen(steps);

    for (size_t i = 0; i < n; i++)
        phases[i] = (struct report_phase){
            .phase = steps[i] == 'p' ? PHASE_PROVING : PHASE_LOADING,
            .name = steps[i] == 'w' ? "weights" : steps[i] == 'b' ? "build" : NULL,
            .duration_usec = seconds[i] * SEC,
        };
    phases[n] = (struct report_phase){PHASE_READY, NULL, SEC};
    line = line_of("k", phases, n + 1, EPOCH_STOPPED);
    strbuf_append(text, line);
    strbuf_append_char(text, '\n');
}

static void estimates(void **state unused)
{
    static const struct {
        const char *name;
        struct {
            const char *steps;
            unsigned seconds[4];
        } starts[8];
        enum phase phase;
        const char *step;
        unsigned began, start, step_seconds;
    } rows[] = {
        {"nothing is known", {}, PHASE_LOADING, "weights", 10, 0, 0},
        {"one start", {{"wp", {600, 30}}}, PHASE_LOADING, "weights", 0, 630, 600},
        {"before any step", {{"wp", {600, 30}}, {"wp", {620, 30}}}, PHASE_PREFLIGHT, NULL, 0, 640, 0},
        {"an outlier moves little", {{"wp", {600, 30}}, {"wp", {2400, 30}}, {"wp", {610, 30}}}, PHASE_LOADING, "weights",
         0, 640, 610},
        {"a late step begins", {{"wp", {600, 30}}}, PHASE_PROVING, NULL, 700, 730, 30},
        {"a build that is cached by now", {{"wbp", {100, 600, 10}}, {"wp", {100, 10}}}, PHASE_PROVING, NULL, 105, 115, 10},
        {"a build that not all had", {{"wbp", {100, 600, 10}}, {"wp", {100, 10}}, {"wp", {100, 10}}}, PHASE_LOADING,
         "build", 100, 710, 600},
        {"a step that nobody had", {{"wp", {100, 10}}}, PHASE_LOADING, "graphs", 50, 110, 0},
        {"only the last five count",
         {{"wp", {9, 0}}, {"wp", {9, 0}}, {"wp", {9, 0}}, {"wp", {50, 0}}, {"wp", {50, 0}}, {"wp", {50, 0}}, {"wp", {9, 0}}, {"wp", {9, 0}}},
         PHASE_LOADING, "weights", 0, 50, 50},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strbuf_ struct strbuf text = {};
        struct history h = {};
        struct eta eta;

        for (size_t k = 0; k < ARRAY_SIZE(rows[i].starts) && rows[i].starts[k].steps; k++)
            add_start(&text, rows[i].starts[k].steps, rows[i].starts[k].seconds);
        assert_int_equal(history_read(str_or_empty(text.data), text.len, "k", &h), 0);
        eta = eta_estimate(&h, rows[i].phase, rows[i].step, rows[i].began * SEC);
        assert_row(rows[i].name, eta.start_usec == rows[i].start * SEC);
        assert_row(rows[i].name, eta.step_usec == rows[i].step_seconds * SEC);
        history_release(&h);
    }
}

static int write_and_read(void *data unused)
{
    struct history_epoch e = {.key = "k", .phases = rows_ready, .n_phases = 6};
    _cleanup_free_ char *line = NULL;
    struct history h = {};
    json_t *known = history_json(&e);
    int r;

    if (!known)
        return -ENOMEM;
    line = history_line(known, EPOCH_FAILED, 0, "x");
    json_decref(known);
    if (!line)
        return -ENOMEM;
    r = history_read(line, strlen(line), "k", &h);
    history_release(&h);
    return r;
}

static void out_of_memory(void **state unused)
{
    chaos_each(write_and_read, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test(line_tells_all),
        cmocka_unit_test(only_the_way_to_ready_counts),
        cmocka_unit_test(what_is_no_start_is_passed_over),
        cmocka_unit_test(estimates),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
