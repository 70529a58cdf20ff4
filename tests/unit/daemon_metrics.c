/* SPDX-License-Identifier: MIT */
#include "daemon/metrics.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "daemon/status.h"
#include "unit.h"

static const struct last_failure no_failure;

static struct status status_of(const struct counters *c)
{
    return (struct status){
        .instance = "k26",
        .profile = "sglang",
        .state = UNIT_ACTIVE,
        .phase = PHASE_READY,
        .epoch = 3,
        .attempt = 1,
        .phase_elapsed = 1500 * USEC_PER_MSEC,
        .ready_since = 1700000000 * USEC_PER_SEC + 42,
        .restarts = 1,
        .budget = 5,
        .failure = &no_failure,
        .counters = c,
    };
}

static void assert_line(const char *text, const char *line)
{
    _cleanup_free_ char *whole = str_format("\n%s\n", line);

    assert_row(line, strstr(text, whole) != NULL);
}

static void a_snapshot_is_told(void **state unused)
{
    struct counters c = { .starts = 3, .readies = 2, .last_start_usec = 630 * USEC_PER_SEC };
    struct status s = status_of(&c);
    _cleanup_free_ char *text = metrics_text(&s);

    assert_line(text, "coalmine_info{version=\"" COALMINE_VERSION "\",name=\"k26\",profile=\"sglang\"} 1");
    assert_line(text, "coalmine_ready 1");
    assert_line(text, "coalmine_state{state=\"active\"} 1");
    assert_line(text, "coalmine_state{state=\"reloading\"} 0");
    assert_line(text, "coalmine_phase{phase=\"ready\"} 1");
    assert_line(text, "coalmine_phase{phase=\"loading\"} 0");
    assert_line(text, "coalmine_phase_seconds 1.500000");
    assert_line(text, "coalmine_ready_since_seconds 1700000000.000042");
    assert_line(text, "coalmine_epoch 3");
    assert_line(text, "coalmine_starts_total 3");
    assert_line(text, "coalmine_readies_total 2");
    assert_line(text, "coalmine_last_start_seconds 630.000000");
    assert_line(text, "coalmine_restarts_used 1");
    assert_line(text, "coalmine_restart_budget 5");
}

static void what_is_not_has_no_moment(void **state unused)
{
    struct counters c = {};
    struct status s = status_of(&c);
    _cleanup_free_ char *text = NULL;

    s.state = UNIT_RELOADING;
    s.ready_since = 0;
    text = metrics_text(&s);
    assert_line(text, "coalmine_ready 0");
    assert_null(strstr(text, "coalmine_ready_since_seconds"));
    assert_null(strstr(text, "coalmine_next_start_seconds"));
    assert_null(strstr(text, "coalmine_last_start_seconds"));
    assert_null(strstr(text, "coalmine_last_failure_seconds"));
    assert_null(strstr(text, "coalmine_last_canary_seconds"));
}

static void failures_are_counted_by_class(void **state unused)
{
    struct counters c = {};
    struct status s = status_of(&c);
    _cleanup_free_ char *text = NULL;

    counters_failed(&c, "gpu_oom");
    counters_failed(&c, "engine_hang");
    counters_failed(&c, "gpu_oom");
    text = metrics_text(&s);
    assert_line(text, "coalmine_failures_total{class=\"gpu_oom\"} 2");
    assert_line(text, "coalmine_failures_total{class=\"engine_hang\"} 1");
    counters_release(&c);
}

static void canaries_are_counted_and_timed(void **state unused)
{
    struct counters c = {};
    struct status s = status_of(&c);
    _cleanup_free_ char *text = NULL;

    counters_canary(&c, VERDICT_GENERATED, 50 * USEC_PER_MSEC);
    counters_canary(&c, VERDICT_GENERATED, 50 * USEC_PER_MSEC + 1);
    counters_canary(&c, VERDICT_TIMEOUT, 600 * USEC_PER_SEC);
    text = metrics_text(&s);
    assert_line(text, "coalmine_canaries_total{verdict=\"generated\"} 2");
    assert_line(text, "coalmine_canaries_total{verdict=\"timeout\"} 1");
    assert_line(text, "coalmine_canaries_total{verdict=\"refused\"} 0");
    assert_line(text, "coalmine_canary_seconds_bucket{le=\"0.050000\"} 1");
    assert_line(text, "coalmine_canary_seconds_bucket{le=\"0.100000\"} 2");
    assert_line(text, "coalmine_canary_seconds_bucket{le=\"60.000000\"} 2");
    assert_line(text, "coalmine_canary_seconds_bucket{le=\"+Inf\"} 3");
    assert_line(text, "coalmine_canary_seconds_sum 600.100001");
    assert_line(text, "coalmine_canary_seconds_count 3");
}

/* Every sample stands below a TYPE of its family, which nothing else declares again. */
static void families_are_declared_once(void **state unused)
{
    struct counters c = { .readies = 1 };
    struct status s = status_of(&c);
    _cleanup_free_ char *text = NULL;
    _cleanup_strv_ char **lines = NULL, **families = NULL;
    char family[64] = "?";

    counters_failed(&c, "gpu_oom");
    s.next_start = s.proof.ended_realtime = USEC_PER_SEC;
    text = metrics_text(&s);
    assert_true(str_ends_with(text, "\n"));
    assert_int_equal(strv_split(text, "\n", &lines), 0);
    for (size_t i = 0; lines[i]; i++) {
        if (sscanf(lines[i], "# TYPE %63s", family) == 1) {
            assert_row(family, !strv_contains(families, family));
            assert_int_equal(strv_push(&families, family), 0);
        } else if (lines[i][0] != '#') {
            assert_row(lines[i], str_after(lines[i], family) != NULL);
        }
    }
    assert_true(strv_length(families) >= 15);
    counters_release(&c);
}

static void labels_are_escaped(void **state unused)
{
    struct counters c = {};
    struct status s = status_of(&c);
    _cleanup_free_ char *text = NULL;

    s.instance = "a\"b\\c\nd\xc3\xa8";
    s.profile = NULL;
    text = metrics_text(&s);
    assert_non_null(strstr(text, ",name=\"a\\\"b\\\\c\\nd\xc3\xa8\",profile=\"\"} 1\n"));
}

static int count_and_tell(void *data unused)
{
    struct counters c = {};
    struct status s = status_of(&c);
    _cleanup_free_ char *text = NULL;
    bool counted;

    counters_failed(&c, "gpu_oom");
    counted = c.n_failures == 1 && c.failures[0].n == 1;
    text = metrics_text(&s);
    counters_release(&c);
    return counted && text ? 0 : -ENOMEM;
}

static void memory_may_run_out(void **state unused)
{
    (void) chaos_each(count_and_tell, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_is_told),
        cmocka_unit_test(what_is_not_has_no_moment),
        cmocka_unit_test(failures_are_counted_by_class),
        cmocka_unit_test(canaries_are_counted_and_timed),
        cmocka_unit_test(families_are_declared_once),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
