/* SPDX-License-Identifier: MIT */
#include "fsm_story.h"
#include "unit.h"

static void test_becomes_ready(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_ACTIVATING);
    TELL(&t, TO_LOADING);
    assert_int_equal(t.fsm.epoch, 1);
    assert_int_equal(t.fsm.attempt, 1);
    assert_true(t.fsm.alive && t.fsm.populated && !t.fsm.spawning && !t.fsm.proved);
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_ACTIVATING);
    TELL(&t, AT(1, FSM_PORT_OPEN, PHASE_LISTENING, ""), AT(1, FSM_CANARY_SENT, PHASE_PROVING, ""),
         AT(1, FSM_PORT_OPEN, PHASE_PROVING, ""), AT(1, FSM_SUITE_PASSED, PHASE_READY, "live"));
    assert_true(t.fsm.proved && t.fsm.ever_ready && !t.fsm.failed);
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_ACTIVE);
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 600 * SEC);
    TELL(&t, AT(599 * SEC, FSM_TIMER, PHASE_READY, ""), AT(SEC, FSM_TIMER, PHASE_READY, "settled"));
    assert_int_equal(t.fsm.attempt, 0);
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
}

static void test_starts_without_preflight(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    t.limits.preflight = false;
    TELL(&t, AT(0, FSM_START, PHASE_LOADING, "spawn"), AT(0, FSM_START, PHASE_LOADING, ""),
         AT(0, FSM_SPAWNED, PHASE_LOADING, "prove"), AT(0, FSM_SPAWNED, PHASE_LOADING, ""));
    assert_int_equal(t.fsm.epoch, 1);
}

/* A canary may be out before the first look at the port is told of. */
static void test_proves_from_loading(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_LOADING, AT(0, FSM_CANARY_SENT, PHASE_PROVING, ""),
         AT(0, FSM_SUITE_PASSED, PHASE_READY, "live"));
}

/* The story of the design: every start of it ends the same way, so there is but one. */
static void test_gives_up_on_the_unmendable(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_PROVING, AT(0, FSM_DECISIVE_LINE, PHASE_PROVING, ""),
         AT(0, FSM_EXITED, PHASE_STOPPING, "quiet signal"),
         AT(0, FSM_EMPTY, PHASE_STOPPING, "collect"), DECIDED(SEC, PHASE_FAILED, "exit", GIVE_UP));
    assert_int_equal(t.fsm.exit_code, EXIT_UNMENDABLE);
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_FAILED);
    assert_true(fsm_final(&t.fsm));
}

static void test_restarts_in_place(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(SEC, FSM_EXITED, PHASE_STOPPING, "quiet signal"));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_RELOADING);
    TELL(&t, AT(SEC, FSM_EMPTY, PHASE_STOPPING, "collect"),
         DECIDED(SEC, PHASE_COOLING, "", RESTART_IN(5)));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 5 * SEC);
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_RELOADING);
    TELL(&t, AT(4 * SEC, FSM_TIMER, PHASE_COOLING, ""),
         AT(SEC, FSM_TIMER, PHASE_PREFLIGHT, "preflight"));
    assert_int_equal(t.fsm.epoch, 2);
    assert_int_equal(t.fsm.attempt, 2);
    assert_false(t.fsm.failed || t.fsm.proved || t.fsm.alive || t.fsm.populated);
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_RELOADING);
    TELL(&t, AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"),
         AT(0, FSM_SPAWNED, PHASE_LOADING, "prove"), AT(0, FSM_SUITE_PASSED, PHASE_READY, "live"));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_ACTIVE);
}

static void test_leaves_the_restart_to_systemd(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    t.limits.mode = RESTART_EXIT;
    TELL(&t, TO_DIAGNOSIS,
         DECIDED(0, PHASE_FAILED, "exit", RESTART_IN(5)));
    assert_int_equal(t.fsm.exit_code, EXIT_RESTART);
}

/* A backoff without end is still one that a stop or a restart can end. */
static void test_cools_for_ever(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DIAGNOSIS,
         DECIDED(0, PHASE_COOLING, "", {.restart = true, .delay_usec = USEC_INFINITY}));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY - 1);
    TELL(&t, AT(1, FSM_RESTART, PHASE_PREFLIGHT, "preflight"));
}

static void test_preflight_fails(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(SEC, FSM_PREFLIGHT_FAILED, PHASE_STOPPING, "collect"),
         AT(SEC, FSM_PREFLIGHT_PASSED, PHASE_STOPPING, ""),
         DECIDED(SEC, PHASE_COOLING, "", RESTART_IN(1)),
         AT(SEC, FSM_TIMER, PHASE_PREFLIGHT, "preflight"));
    assert_int_equal(t.fsm.epoch, 2);
    assert_false(t.fsm.failed);
}

/* A probe stuck in the driver never answers; the end of another one is progress. */
static void test_preflight_hangs(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(500 * SEC, FSM_PROGRESS, PHASE_PREFLIGHT, ""),
         AT(599 * SEC, FSM_TIMER, PHASE_PREFLIGHT, ""),
         AT(SEC, FSM_TIMER, PHASE_STOPPING, "cancel-preflight collect"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_STOPPING, ""),
         DECIDED(SEC, PHASE_FAILED, "exit", GIVE_UP));
}

static void test_spawn_fails(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"));
    assert_true(t.fsm.spawning && !t.fsm.alive && !t.fsm.populated);
    TELL(&t, AT(0, FSM_SUITE_PASSED, PHASE_LOADING, ""), AT(0, FSM_EXITED, PHASE_LOADING, ""),
         AT(0, FSM_EMPTY, PHASE_LOADING, ""),
         AT(0, FSM_SPAWN_FAILED, PHASE_STOPPING, "quiet collect"),
         AT(0, FSM_SPAWNED, PHASE_STOPPING, ""), DECIDED(0, PHASE_FAILED, "exit", GIVE_UP));
}

/* Progress, stall, suspicion */

static void test_stall(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_LOADING, AT(599 * SEC, FSM_PROGRESS, PHASE_LOADING, ""),
         AT(599 * SEC, FSM_TIMER, PHASE_LOADING, ""), AT(0, FSM_PORT_OPEN, PHASE_LISTENING, ""),
         AT(599 * SEC, FSM_TIMER, PHASE_LISTENING, ""), AT(0, FSM_CANARY_SENT, PHASE_PROVING, ""),
         AT(599 * SEC, FSM_TIMER, PHASE_PROVING, ""),
         AT(SEC, FSM_TIMER, PHASE_STOPPING, "quiet dump"));
    assert_true(t.fsm.failed);
}

static void test_load_timeout(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_LOADING, AT(500 * SEC, FSM_PROGRESS, PHASE_LOADING, ""),
         AT(500 * SEC, FSM_PROGRESS, PHASE_LOADING, ""),
         AT(500 * SEC, FSM_PROGRESS, PHASE_LOADING, ""),
         AT(500 * SEC, FSM_PROGRESS, PHASE_LOADING, ""),
         AT(500 * SEC, FSM_PROGRESS, PHASE_LOADING, ""),
         AT(500 * SEC, FSM_PROGRESS, PHASE_LOADING, ""),
         AT(500 * SEC, FSM_PROGRESS, PHASE_LOADING, ""), AT(99 * SEC, FSM_TIMER, PHASE_LOADING, ""),
         AT(SEC, FSM_TIMER, PHASE_STOPPING, "quiet dump"));
    assert_true(t.fsm.failed);
}

static void test_suspect_may_go_on_while_it_works(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_LOADING, AT(SEC, FSM_DECISIVE_LINE, PHASE_LOADING, ""),
         AT(20 * SEC, FSM_DECISIVE_LINE, PHASE_LOADING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 10 * SEC);
    TELL(&t, AT(5 * SEC, FSM_PROGRESS, PHASE_LOADING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 30 * SEC);
    TELL(&t, AT(29 * SEC, FSM_PORT_OPEN, PHASE_LISTENING, ""),
         AT(29 * SEC, FSM_CANARY_SENT, PHASE_PROVING, ""),
         AT(29 * SEC, FSM_TIMER, PHASE_PROVING, ""),
         AT(SEC, FSM_TIMER, PHASE_STOPPING, "quiet dump"));
}

/* The canary is the arbiter. */
static void test_suspect_is_acquitted(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_PROVING, AT(SEC, FSM_DECISIVE_LINE, PHASE_PROVING, ""),
         AT(SEC, FSM_SUITE_PASSED, PHASE_READY, "live"), AT(60 * SEC, FSM_TIMER, PHASE_READY, ""));
    assert_false(t.fsm.suspected);
    assert_int_equal(t.fsm.deadline.stall, USEC_INFINITY);
}

/* A short StallSec is not lengthened by a suspicion. */
static void test_suspicion_never_lengthens(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    t.limits.stall_usec = 10 * SEC;
    TELL(&t, TO_LOADING, AT(SEC, FSM_DECISIVE_LINE, PHASE_LOADING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 9 * SEC);
    TELL(&t, AT(SEC, FSM_PROGRESS, PHASE_LOADING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 10 * SEC);
}

/* Serving */

static void test_degrades_and_recovers(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(SEC, FSM_LIVE_PASSED, PHASE_READY, ""),
         AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_RELOADING);
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
    TELL(&t, AT(SEC, FSM_LIVE_PASSED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""), AT(SEC, FSM_LIVE_PASSED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_LIVE_PASSED, PHASE_READY, ""));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_ACTIVE);
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 600 * SEC);
    assert_int_equal(t.fsm.live_failures, 0);
}

static void test_falls(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_LIVE_FAILED, PHASE_STOPPING, "quiet dump"));
    assert_true(t.fsm.failed);
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 15 * SEC);
    TELL(&t, AT(SEC, FSM_LIVE_FAILED, PHASE_STOPPING, ""),
         AT(SEC, FSM_LIVE_PASSED, PHASE_STOPPING, ""));
}

/* Only failures in a row make it fall. */
static void test_a_pass_breaks_the_row(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""), AT(SEC, FSM_LIVE_PASSED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""), AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_LIVE_FAILED, PHASE_STOPPING, "quiet dump"));
}

static void test_falls_at_once(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    t.limits.fall = 1;
    TELL(&t, TO_READY, AT(SEC, FSM_LIVE_FAILED, PHASE_STOPPING, "quiet dump"));
}

static void test_decisive_line_makes_look_at_once(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(SEC, FSM_DECISIVE_LINE, PHASE_READY, "canary-now"),
         AT(SEC, FSM_LIVE_FAILED, PHASE_DEGRADED, ""),
         AT(SEC, FSM_DECISIVE_LINE, PHASE_DEGRADED, "canary-now"),
         AT(SEC, FSM_EXITED, PHASE_STOPPING, "quiet signal"),
         AT(SEC, FSM_DECISIVE_LINE, PHASE_STOPPING, ""));
}

static void test_suite_fails(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_PROVING, AT(SEC, FSM_SUITE_FAILED, PHASE_STOPPING, "quiet dump"),
         AT(SEC, FSM_SUITE_PASSED, PHASE_STOPPING, ""), AT(SEC, FSM_DUMPED, PHASE_STOPPING, "signal"),
         AT(SEC, FSM_EXITED, PHASE_STOPPING, ""), AT(SEC, FSM_EMPTY, PHASE_STOPPING, "collect"),
         DECIDED(SEC, PHASE_FAILED, "exit", GIVE_UP));
}

/* The look at a hanging server */

#define TO_DUMP TO_LOADING, AT(600 * SEC, FSM_TIMER, PHASE_STOPPING, "quiet dump")

static void test_looks_before_it_ends_a_hang(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DUMP, AT(SEC, FSM_PROGRESS, PHASE_STOPPING, ""),
         AT(SEC, FSM_DUMPED, PHASE_STOPPING, "signal"));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 60 * SEC);
    TELL(&t, AT(SEC, FSM_DUMPED, PHASE_STOPPING, ""), AT(59 * SEC, FSM_TIMER, PHASE_STOPPING, "kill"));
}

static void test_look_is_not_waited_for_for_ever(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DUMP, AT(14 * SEC, FSM_TIMER, PHASE_STOPPING, ""),
         AT(SEC, FSM_TIMER, PHASE_STOPPING, "signal"), AT(SEC, FSM_DUMPED, PHASE_STOPPING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 59 * SEC);
}

static void test_server_ends_during_the_look(void **state unused)
{
    struct story_teller t = story_teller(&story_limits), main_only = story_teller(&story_limits);

    TELL(&t, TO_DUMP, AT(SEC, FSM_EXITED, PHASE_STOPPING, ""),
         AT(SEC, FSM_EMPTY, PHASE_STOPPING, "collect"), AT(SEC, FSM_DUMPED, PHASE_STOPPING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + FSM_COLLECT_USEC - SEC);
    TELL(&main_only, TO_DUMP, AT(SEC, FSM_EXITED, PHASE_STOPPING, ""),
         AT(SEC, FSM_DUMPED, PHASE_STOPPING, "signal"));
}

static void test_stop_does_not_wait_for_the_look(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DUMP, AT(SEC, FSM_RESTART, PHASE_STOPPING, ""), AT(SEC, FSM_STOP, PHASE_STOPPING, "signal"),
         AT(SEC, FSM_STOP, PHASE_STOPPING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + 59 * SEC);
}

/* Ending the server */

static void test_empty_before_exited(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_EMPTY, PHASE_STOPPING, "quiet"));
    assert_true(t.fsm.failed && t.fsm.alive && !t.fsm.populated);
    TELL(&t, AT(0, FSM_EXITED, PHASE_STOPPING, "collect"));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + FSM_COLLECT_USEC);
}

static void test_stop_sees_empty_before_exited(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_STOP, PHASE_STOPPING, "quiet signal"),
         AT(0, FSM_EMPTY, PHASE_STOPPING, ""), AT(0, FSM_EXITED, PHASE_STOPPED, "exit"));
    assert_false(t.fsm.failed);
}

static void test_kills_what_does_not_stop(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_STOP, PHASE_STOPPING, "quiet signal"),
         AT(59 * SEC, FSM_TIMER, PHASE_STOPPING, ""), AT(SEC, FSM_TIMER, PHASE_STOPPING, "kill"),
         AT(0, FSM_EXITED, PHASE_STOPPING, ""), AT(0, FSM_EMPTY, PHASE_STOPPED, "exit"));
    assert_int_equal(t.fsm.exit_code, EXIT_STOPPED);
}

static void test_unkillable(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_STOP, PHASE_STOPPING, "quiet signal"),
         AT(60 * SEC, FSM_TIMER, PHASE_STOPPING, "kill"),
         AT(29 * SEC, FSM_TIMER, PHASE_STOPPING, ""),
         AT(SEC, FSM_TIMER, PHASE_STOPPING, "collect"));
    assert_true(t.fsm.unkillable && t.fsm.failed);
    TELL(&t, AT(0, FSM_EXITED, PHASE_STOPPING, ""),
         DECIDED(SEC, PHASE_FAILED, "exit", RESTART_IN(5)));
    assert_int_equal(t.fsm.exit_code, EXIT_UNKILLABLE);
}

/* What went away after all leaves the policy's decision as it is. */
static void test_unkillable_goes_in_the_end(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_EXITED, PHASE_STOPPING, "quiet signal"),
         AT(60 * SEC, FSM_TIMER, PHASE_STOPPING, "kill"),
         AT(30 * SEC, FSM_TIMER, PHASE_STOPPING, "collect"), AT(SEC, FSM_EMPTY, PHASE_STOPPING, ""),
         DECIDED(SEC, PHASE_COOLING, "", RESTART_IN(5)));
}

static void test_diagnosis_hangs(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DIAGNOSIS, AT(29 * SEC, FSM_TIMER, PHASE_STOPPING, ""),
         AT(SEC, FSM_TIMER, PHASE_FAILED, "exit"), DECIDED(SEC, PHASE_FAILED, "", RESTART_IN(1)));
    assert_int_equal(t.fsm.exit_code, EXIT_INTERNAL);
}

static void test_decision_without_exit_code(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DIAGNOSIS, DECIDED(0, PHASE_FAILED, "exit", {}));
    assert_int_equal(t.fsm.exit_code, EXIT_INTERNAL);
}

static void test_infinite_limits_arm_nothing(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    t.limits.stall_usec = t.limits.load_timeout_usec = t.limits.stop_usec = USEC_INFINITY;
    t.limits.stable_usec = USEC_INFINITY;
    TELL(&t, TO_LOADING);
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
    TELL(&t, AT(USEC_PER_DAY, FSM_DECISIVE_LINE, PHASE_LOADING, ""));
    assert_int_equal(fsm_deadline(&t.fsm), t.now + FSM_SUSPICION_USEC);
    TELL(&t, AT(SEC, FSM_SUITE_PASSED, PHASE_READY, "live"));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
    TELL(&t, AT(SEC, FSM_STOP, PHASE_STOPPING, "quiet signal"));
    assert_int_equal(fsm_deadline(&t.fsm), USEC_INFINITY);
}

/* The operator's requests */

static void test_stop_in_each_phase(void **state unused)
{
    struct story_teller idle = story_teller(&story_limits), checking = story_teller(&story_limits), loading = story_teller(&story_limits);
    struct story_teller cooling = story_teller(&story_limits);

    TELL(&idle, AT(0, FSM_STOP, PHASE_STOPPED, "exit"), AT(0, FSM_START, PHASE_STOPPED, ""));
    TELL(&checking, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_STOP, PHASE_STOPPED, "cancel-preflight exit"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_STOPPED, ""));
    TELL(&loading, TO_LOADING, AT(0, FSM_STOP, PHASE_STOPPING, "quiet signal"));
    assert_int_equal(fsm_unit_state(&loading.fsm), UNIT_DEACTIVATING);
    TELL(&loading, AT(0, FSM_STOP, PHASE_STOPPING, ""), AT(0, FSM_EXITED, PHASE_STOPPING, ""),
         AT(0, FSM_EMPTY, PHASE_STOPPED, "exit"));
    assert_int_equal(fsm_unit_state(&loading.fsm), UNIT_INACTIVE);
    TELL(&cooling, TO_DIAGNOSIS, DECIDED(0, PHASE_COOLING, "", RESTART_IN(5)),
         AT(0, FSM_STOP, PHASE_STOPPED, "exit"), AT(USEC_PER_HOUR, FSM_TIMER, PHASE_STOPPED, ""));
}

/* The spawn is out when the stop comes: its process must not be left behind. */
static void test_stop_beats_spawn(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"),
         AT(0, FSM_STOP, PHASE_STOPPING, "quiet"), AT(0, FSM_SPAWNED, PHASE_STOPPING, "signal"),
         AT(0, FSM_EXITED, PHASE_STOPPING, ""), AT(0, FSM_EMPTY, PHASE_STOPPED, "exit"));
}

/* The same, when the patience has passed already. */
static void test_late_spawn_is_killed(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"),
         AT(0, FSM_STOP, PHASE_STOPPING, "quiet"), AT(60 * SEC, FSM_TIMER, PHASE_STOPPING, "kill"),
         AT(0, FSM_SPAWNED, PHASE_STOPPING, "kill"), AT(0, FSM_EXITED, PHASE_STOPPING, ""),
         AT(0, FSM_EMPTY, PHASE_STOPPED, "exit"));
}

/* A spawn that fails is a failure whoever asked for what. */
static void test_spawn_fails_after_stop(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"),
         AT(0, FSM_STOP, PHASE_STOPPING, "quiet"),
         AT(0, FSM_SPAWN_FAILED, PHASE_STOPPING, "collect"),
         DECIDED(0, PHASE_STOPPED, "exit", GIVE_UP));
    assert_int_equal(t.fsm.exit_code, EXIT_STOPPED);
}

static void test_stop_waits_for_the_diagnosis(void **state unused)
{
    struct story_teller t = story_teller(&story_limits), stuck = story_teller(&story_limits);

    TELL(&t, TO_DIAGNOSIS, AT(0, FSM_STOP, PHASE_STOPPING, ""));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_DEACTIVATING);
    TELL(&t, DECIDED(0, PHASE_STOPPED, "exit", RESTART_IN(5)));
    TELL(&stuck, TO_DIAGNOSIS, AT(0, FSM_STOP, PHASE_STOPPING, ""),
         AT(30 * SEC, FSM_TIMER, PHASE_STOPPED, "exit"));
    assert_int_equal(stuck.fsm.exit_code, EXIT_STOPPED);
}

static void test_restart_asked(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, AT(0, FSM_RESTART, PHASE_IDLE, ""), AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_RESTART, PHASE_PREFLIGHT, ""),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"),
         AT(0, FSM_SPAWNED, PHASE_LOADING, "prove"), AT(0, FSM_SUITE_PASSED, PHASE_READY, "live"),
         AT(0, FSM_RESTART, PHASE_STOPPING, "quiet signal"));
    assert_int_equal(fsm_unit_state(&t.fsm), UNIT_RELOADING);
    TELL(&t, AT(0, FSM_EXITED, PHASE_STOPPING, ""), AT(0, FSM_EMPTY, PHASE_PREFLIGHT, "preflight"));
    assert_int_equal(t.fsm.epoch, 2);
    assert_int_equal(t.fsm.attempt, 1);
    assert_int_equal(t.fsm.request, FSM_REQUEST_NONE);
}

/* The failure is still diagnosed, but its decision does not bind the operator. */
static void test_restart_asked_of_a_failing_server(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_EXITED, PHASE_STOPPING, "quiet signal"),
         AT(0, FSM_RESTART, PHASE_STOPPING, ""), AT(0, FSM_EMPTY, PHASE_STOPPING, "collect"),
         DECIDED(0, PHASE_PREFLIGHT, "preflight", GIVE_UP));
}

static void test_stop_beats_restart(void **state unused)
{
    struct story_teller t = story_teller(&story_limits), reversed = story_teller(&story_limits);

    TELL(&t, TO_READY, AT(0, FSM_RESTART, PHASE_STOPPING, "quiet signal"),
         AT(0, FSM_STOP, PHASE_STOPPING, ""), AT(0, FSM_EXITED, PHASE_STOPPING, ""),
         AT(0, FSM_EMPTY, PHASE_STOPPED, "exit"));
    TELL(&reversed, TO_READY, AT(0, FSM_STOP, PHASE_STOPPING, "quiet signal"),
         AT(0, FSM_RESTART, PHASE_STOPPING, ""), AT(0, FSM_EXITED, PHASE_STOPPING, ""),
         AT(0, FSM_EMPTY, PHASE_STOPPED, "exit"));
}

static void test_restart_ends_the_cooling(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);

    TELL(&t, TO_DIAGNOSIS,
         DECIDED(0, PHASE_COOLING, "", RESTART_IN(300)),
         AT(SEC, FSM_RESTART, PHASE_PREFLIGHT, "preflight"));
    assert_int_equal(t.fsm.attempt, 1);
}

/* Echoes of an epoch that is over */

static void test_drops_old_epochs(void **state unused)
{
    struct story_teller t = story_teller(&story_limits);
    struct fsm_event old = {.epoch = 1};

    TELL(&t, TO_DIAGNOSIS, DECIDED(0, PHASE_COOLING, "", RESTART_IN(0)),
         AT(0, FSM_TIMER, PHASE_PREFLIGHT, "preflight"),
         AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"),
         AT(0, FSM_SPAWNED, PHASE_LOADING, "prove"));
    for (old.kind = FSM_PREFLIGHT_PASSED; old.kind <= FSM_DIAGNOSED; old.kind++) {
        struct fsm_step step = fsm_step(&t.fsm, &t.limits, &old, t.now);

        assert_row(fsm_event_name(old.kind), step.n_actions == 0);
        assert_row(fsm_event_name(old.kind), step.next.phase == PHASE_LOADING);
        assert_row(fsm_event_name(old.kind), step.next.alive && !step.next.suspected);
        assert_row(fsm_event_name(old.kind), step.next.deadline.stall == t.fsm.deadline.stall);
    }
}

static void test_names(void **state unused)
{
    assert_string_equal(fsm_event_name(FSM_START), "start");
    assert_string_equal(fsm_event_name(FSM_TIMER), "timer");
    assert_string_equal(fsm_action_name(FSM_ACTION_CANCEL_PREFLIGHT), "cancel-preflight");
    assert_string_equal(fsm_action_name(FSM_ACTION_EXIT), "exit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_becomes_ready),
        cmocka_unit_test(test_starts_without_preflight),
        cmocka_unit_test(test_proves_from_loading),
        cmocka_unit_test(test_gives_up_on_the_unmendable),
        cmocka_unit_test(test_restarts_in_place),
        cmocka_unit_test(test_leaves_the_restart_to_systemd),
        cmocka_unit_test(test_cools_for_ever),
        cmocka_unit_test(test_preflight_fails),
        cmocka_unit_test(test_preflight_hangs),
        cmocka_unit_test(test_spawn_fails),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_load_timeout),
        cmocka_unit_test(test_suspect_may_go_on_while_it_works),
        cmocka_unit_test(test_suspect_is_acquitted),
        cmocka_unit_test(test_suspicion_never_lengthens),
        cmocka_unit_test(test_degrades_and_recovers),
        cmocka_unit_test(test_falls),
        cmocka_unit_test(test_a_pass_breaks_the_row),
        cmocka_unit_test(test_falls_at_once),
        cmocka_unit_test(test_decisive_line_makes_look_at_once),
        cmocka_unit_test(test_suite_fails),
        cmocka_unit_test(test_looks_before_it_ends_a_hang),
        cmocka_unit_test(test_look_is_not_waited_for_for_ever),
        cmocka_unit_test(test_server_ends_during_the_look),
        cmocka_unit_test(test_stop_does_not_wait_for_the_look),
        cmocka_unit_test(test_empty_before_exited),
        cmocka_unit_test(test_stop_sees_empty_before_exited),
        cmocka_unit_test(test_kills_what_does_not_stop),
        cmocka_unit_test(test_unkillable),
        cmocka_unit_test(test_unkillable_goes_in_the_end),
        cmocka_unit_test(test_diagnosis_hangs),
        cmocka_unit_test(test_decision_without_exit_code),
        cmocka_unit_test(test_infinite_limits_arm_nothing),
        cmocka_unit_test(test_stop_in_each_phase),
        cmocka_unit_test(test_stop_beats_spawn),
        cmocka_unit_test(test_late_spawn_is_killed),
        cmocka_unit_test(test_spawn_fails_after_stop),
        cmocka_unit_test(test_stop_waits_for_the_diagnosis),
        cmocka_unit_test(test_restart_asked),
        cmocka_unit_test(test_restart_asked_of_a_failing_server),
        cmocka_unit_test(test_stop_beats_restart),
        cmocka_unit_test(test_restart_ends_the_cooling),
        cmocka_unit_test(test_drops_old_epochs),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests_name("fsm", tests, NULL, NULL);
}
