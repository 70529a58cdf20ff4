/* SPDX-License-Identifier: MIT */
#include "fsm_story.h"
#include "unit.h"

#define HOUR USEC_PER_HOUR

static void test_serving_is_left_alone(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, PAUSED(SEC, HOUR, PHASE_READY, "quiet"));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_ACTIVE);
    assert_int_equal(fsm_deadline(&t.fsm), t.now + HOUR);
    TELL(&t, AT(0, FSM_LIVE_FAILED, PHASE_READY, ""), AT(0, FSM_LIVE_FAILED, PHASE_READY, ""),
         AT(0, FSM_LIVE_FAILED, PHASE_READY, ""), AT(0, FSM_DECISIVE_LINE, PHASE_READY, ""),
         AT(600 * SEC, FSM_TIMER, PHASE_READY, ""), AT(SEC, FSM_RESUME, PHASE_READY, "live canary-now"));
    assert_false(t.fsm.paused);
    assert_int_equal(t.fsm.live_failures, 0);
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 600 * SEC);
    TELL(&t, AT(0, FSM_RESUME, PHASE_READY, ""), AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""));
}

static void test_pause_ends_by_itself(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, PAUSED(0, HOUR, PHASE_READY, "quiet"), AT(HOUR - 1, FSM_TIMER, PHASE_READY, ""),
         AT(1, FSM_TIMER, PHASE_READY, "live canary-now"));
    assert_false(t.fsm.paused);
    TELL(&t, PAUSED(0, 0, PHASE_READY, "quiet"), AT(0, FSM_TIMER, PHASE_READY, "live canary-now"));
}

/* What is stable already does not become so a second time. */
static void test_stable_stays_stable(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(600 * SEC, FSM_TIMER, PHASE_READY, "settled"),
         PAUSED(0, USEC_INFINITY, PHASE_READY, "quiet"));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
    TELL(&t, AT(0, FSM_RESUME, PHASE_READY, "live canary-now"));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
}

static void test_later_pause_replaces_the_first(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, PAUSED(0, HOUR, PHASE_READY, "quiet"), PAUSED(SEC, 60 * SEC, PHASE_READY, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 60 * SEC);
    TELL(&t, PAUSED(SEC, USEC_INFINITY, PHASE_READY, ""));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
    TELL(&t, AT(10 * HOUR, FSM_TIMER, PHASE_READY, ""));
    assert_true(t.fsm.paused);
}

static void test_degraded_stays_degraded(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""),
         PAUSED(SEC, HOUR, PHASE_DEGRADED, "quiet"));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_RELOADING);
    TELL(&t, AT(0, FSM_LIVE_PASSED, PHASE_DEGRADED, ""),
         AT(HOUR, FSM_TIMER, PHASE_DEGRADED, "live canary-now"));
    assert_int_equal(t.fsm.live_failures, 1);
    TELL(&t, AT(0, FSM_LIVE_PASSED, PHASE_DEGRADED, ""), AT(0, FSM_LIVE_PASSED, PHASE_READY, ""));
}

/* Somebody holds the server in a debugger: neither the stall limit nor the load time-out counts that. */
static void test_start_has_all_the_time(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_LOADING, PAUSED(0, 100 * HOUR, PHASE_LOADING, "quiet"),
         AT(0, FSM_PROGRESS, PHASE_LOADING, ""), AT(0, FSM_DECISIVE_LINE, PHASE_LOADING, ""),
         AT(0, FSM_PORT_OPEN, PHASE_LISTENING, ""), AT(0, FSM_CANARY_SENT, PHASE_PROVING, ""),
         AT(0, FSM_SUITE_FAILED, PHASE_PROVING, ""), AT(0, FSM_SUITE_PASSED, PHASE_PROVING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 100 * HOUR);
    assert_false(t.fsm.proved || t.fsm.failed);
    TELL(&t, AT(99 * HOUR, FSM_RESUME, PHASE_PROVING, "prove"));
    assert_int_equal(t.fsm.deadline.stall, t.now + FSM_SUSPICION_USEC);
    assert_int_equal(t.fsm.deadline.load, t.now + 3600 * SEC);
    TELL(&t, AT(0, FSM_SUITE_PASSED, PHASE_READY, "live"));
}

/* Pausing begins no start, and stops none. */
static void test_start_goes_on_unlooked_at(void **state unused)
{
    struct story_teller t = story_teller(&story_limits), spawning = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         PAUSED(0, USEC_INFINITY, PHASE_PREFLIGHT, ""), AT(HOUR, FSM_TIMER, PHASE_PREFLIGHT, ""),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"), AT(0, FSM_SPAWNED, PHASE_LOADING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
    TELL(&t, AT(0, FSM_RESUME, PHASE_LOADING, "prove"));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 600 * SEC);
    TELL(&spawning, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"),
         PAUSED(0, HOUR, PHASE_LOADING, "quiet"), AT(0, FSM_RESUME, PHASE_LOADING, ""),
         AT(0, FSM_SPAWNED, PHASE_LOADING, "prove"));
}

static void test_preflight_is_armed_again(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"), PAUSED(0, HOUR, PHASE_PREFLIGHT, ""),
         AT(HOUR, FSM_TIMER, PHASE_PREFLIGHT, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 600 * SEC);
    TELL(&t, PAUSED(0, HOUR, PHASE_PREFLIGHT, ""), AT(0, FSM_RESTART, PHASE_PREFLIGHT, ""));
    assert_false(t.fsm.paused);
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 600 * SEC);
}

static void test_failure_is_reported_and_its_restart_held(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, PAUSED(0, HOUR, PHASE_READY, "quiet"),
         AT(0, FSM_EXITED, PHASE_STOPPING, "quiet signal"), AT(0, FSM_EMPTY, PHASE_STOPPING, "collect"),
         DECIDED(0, PHASE_COOLING, "", RESTART_IN(5)), AT(60 * SEC, FSM_TIMER, PHASE_COOLING, ""));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_RELOADING);
    TELL(&t, AT(0, FSM_RESUME, PHASE_PREFLIGHT, "preflight"));
    assert_int_equal(t.fsm.epoch, 2);
    assert_int_equal(t.fsm.attempt, 2);
    assert_false(t.fsm.paused);
}

/* What no restart mends ends the unit, paused or not. */
static void test_final_failure_is_final(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, PAUSED(0, HOUR, PHASE_READY, "quiet"),
         AT(0, FSM_EXITED, PHASE_STOPPING, "quiet signal"), AT(0, FSM_EMPTY, PHASE_STOPPING, "collect"),
         DECIDED(0, PHASE_FAILED, "exit", GIVE_UP));
    assert_false(t.fsm.paused);
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
}

/* systemd would start it at once: its restart is held here, too. */
static void test_systemds_restart_is_held(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    t.limits.mode = RESTART_EXIT;
    TELL(&t, TO_READY, PAUSED(0, HOUR, PHASE_READY, "quiet"),
         AT(0, FSM_EXITED, PHASE_STOPPING, "quiet signal"), AT(0, FSM_EMPTY, PHASE_STOPPING, "collect"),
         DECIDED(0, PHASE_COOLING, "", RESTART_IN(5)), AT(HOUR, FSM_TIMER, PHASE_FAILED, "exit"));
    assert_int_equal(t.fsm.exit_code, EXIT_RESTART);
}

static void test_backoff_is_held(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DIAGNOSIS, DECIDED(0, PHASE_COOLING, "", RESTART_IN(5)),
         PAUSED(0, HOUR, PHASE_COOLING, ""), AT(60 * SEC, FSM_TIMER, PHASE_COOLING, ""),
         AT(HOUR - 60 * SEC, FSM_TIMER, PHASE_PREFLIGHT, "preflight"));
    assert_int_equal(t.fsm.epoch, 2);
}

/* A kill deadline is no patience with the server: it runs on. */
static void test_ending_is_not_held(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_RESTART, PHASE_STOPPING, "quiet signal"),
         PAUSED(0, HOUR, PHASE_STOPPING, ""), AT(60 * SEC, FSM_TIMER, PHASE_STOPPING, "kill"),
         AT(0, FSM_EXITED, PHASE_STOPPING, ""), AT(0, FSM_EMPTY, PHASE_PREFLIGHT, "preflight"));
    assert_true(t.fsm.paused);
    assert_int_equal(fsm_deadline(&t.fsm), t.now + HOUR - 60 * SEC);
}

static void test_requests_end_the_pause(void **state unused)
{
    struct story_teller t = story_teller(&story_limits), cooling = story_teller(&story_limits);
    struct story_teller stopped = story_teller(&story_limits);

    TELL(&t, TO_READY, PAUSED(0, HOUR, PHASE_READY, "quiet"),
         AT(0, FSM_RESTART, PHASE_STOPPING, "quiet signal"));
    assert_false(t.fsm.paused);
    TELL(&cooling, TO_DIAGNOSIS, DECIDED(0, PHASE_COOLING, "", RESTART_IN(5)),
         PAUSED(0, HOUR, PHASE_COOLING, ""), AT(0, FSM_RESTART, PHASE_PREFLIGHT, "preflight"));
    assert_false(cooling.fsm.paused);
    TELL(&stopped, TO_READY, PAUSED(0, HOUR, PHASE_READY, "quiet"),
         AT(0, FSM_STOP, PHASE_STOPPING, "quiet signal"), PAUSED(0, HOUR, PHASE_STOPPING, ""));
    assert_false(stopped.fsm.paused);
    TELL(&stopped, AT(0, FSM_EXITED, PHASE_STOPPING, ""), AT(0, FSM_EMPTY, PHASE_STOPPED, "exit"));
}

/* Other limits count from the moment at which they come. */
static void test_new_limits(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_LOADING, AT(SEC, FSM_PROGRESS, PHASE_LOADING, ""));
    t.limits.load_timeout_usec = 9 * HOUR;
    t.limits.stall_usec = 2 * HOUR;
    t.limits.stable_usec = 3 * HOUR;
    TELL(&t, AT(SEC, FSM_LIMITS, PHASE_LOADING, ""));
    assert_int_equal(t.fsm.deadline.load, t.now + 9 * HOUR);
    assert_int_equal(t.fsm.deadline.stall, t.now + 2 * HOUR);
    TELL(&t, AT(0, FSM_SUITE_PASSED, PHASE_READY, "live"));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 3 * HOUR);
    t.limits.stable_usec = HOUR;
    TELL(&t, AT(SEC, FSM_LIMITS, PHASE_READY, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + HOUR);
    TELL(&t, PAUSED(0, USEC_INFINITY, PHASE_READY, "quiet"), AT(0, FSM_LIMITS, PHASE_READY, ""));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serving_is_left_alone),
        cmocka_unit_test(test_pause_ends_by_itself),
        cmocka_unit_test(test_stable_stays_stable),
        cmocka_unit_test(test_later_pause_replaces_the_first),
        cmocka_unit_test(test_degraded_stays_degraded),
        cmocka_unit_test(test_start_has_all_the_time),
        cmocka_unit_test(test_start_goes_on_unlooked_at),
        cmocka_unit_test(test_preflight_is_armed_again),
        cmocka_unit_test(test_failure_is_reported_and_its_restart_held),
        cmocka_unit_test(test_final_failure_is_final),
        cmocka_unit_test(test_systemds_restart_is_held),
        cmocka_unit_test(test_backoff_is_held),
        cmocka_unit_test(test_ending_is_not_held),
        cmocka_unit_test(test_requests_end_the_pause),
        cmocka_unit_test(test_new_limits),
    };

    return cmocka_run_group_tests_name("fsm_pause", tests, NULL, NULL);
}
