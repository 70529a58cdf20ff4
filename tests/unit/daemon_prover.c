/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "canaries.h"
#include "daemon/prover.h"
#include "fake_http.h"
#include "world.h"

#define HTTP(status, body) FAKE_TEXT("HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body)
#define KNOCK FAKE_SCRIPT({FAKE_PAUSE, NULL, 0})
#define LIST FAKE_SCRIPT(HTTP("200 OK", "{\"data\":[{\"id\":\"m\"}]}"))
#define LOADING FAKE_SCRIPT(HTTP("503 Unavailable", "{\"error\":\"Loading model\"}"))
#define GOOD FAKE_SCRIPT(HTTP("200 OK", "{\"model\":\"m\",\"choices\":[{\"text\":\"a\"}]}"))
#define BAD FAKE_SCRIPT(HTTP("500 Oops", "no"))
#define REJECTED FAKE_SCRIPT(HTTP("400 Bad Request", "no such thing"))
#define BROKEN FAKE_SCRIPT({FAKE_RESET, NULL, 0})
#define SILENT FAKE_SCRIPT({FAKE_HANG, NULL, 0})

/* What the state machine is told, and each proof: "port-open|canary-sent|x generated|suite-passed|". */
struct scene {
    struct loop *loop;
    struct fake_http *fake;
    struct config *config;
    struct prover *prover;
    struct strbuf heard;
    enum fsm_event_kind until;
};

static void on_event(enum fsm_event_kind kind, void *userdata)
{
    struct scene *s = userdata;

    strbuf_appendf(&s->heard, "%s|", fsm_event_name(kind));
    if (kind == s->until || kind == FSM_SUITE_FAILED)
        loop_stop(s->loop);
}

static void on_proof(const struct proof *proof, void *userdata)
{
    struct scene *s = userdata;

    strbuf_appendf(&s->heard, "%s %s%s|", proof->canary, verdict_name(proof->verdict),
                   proof->let_off ? " let off" : "");
}

static const struct prover_events events = {.event = on_event, .proof = on_proof};

static struct config *configure(const struct scene *s, const char *lines)
{
    _cleanup_free_ char *text =
        str_format("Proves=it\n[Canary y]\nOptional=yes\n[Server]\nURL=%s\n[Start]\nVerifyListener=no\n"
                   "ProbeSec=10ms\nProbeMaxSec=20ms\n[Live]\nTransitionSec=100ms\nIntervalSec=10min\n%s",
                   fake_http_base(s->fake), lines);

    return canaries_parse(text);
}

static void scene_open(struct scene *s, const struct fake_script *scripts, size_t n, const char *lines)
{
    s->loop = world_loop();
    s->fake = fake_http_new(NULL, scripts, n);
    s->config = configure(s, lines);
    s->until = FSM_SUITE_PASSED;
    assert_int_equal(prover_new(s->loop, s->config, &events, s, &s->prover), 0);
    prover_begin(s->prover);
}

static void scene_release(struct scene *s)
{
    prover_free(s->prover);
    config_free(s->config);
    fake_http_free(s->fake);
    loop_free(s->loop);
    strbuf_release(&s->heard);
}
#define _cleanup_scene_ _cleanup_(scene_release)

static const char *prove(struct scene *s)
{
    strbuf_clear(&s->heard);
    prover_prove(s->prover, NULL);
    world_run_to_stop(s->loop);
    return s->heard.data;
}

#define SUITE "[Start]\nSuite=x y\n"

static void starts(void unused **state)
{
    static const struct {
        const char *name, *lines;
        struct fake_script scripts[10];
        size_t n;
        const char *heard;
    } rows[] = {
        {"healthy", SUITE, {KNOCK, LIST, GOOD, GOOD}, 4,
         "port-open|canary-sent|x generated|progress|y generated|progress|suite-passed|"},
        {"loading", SUITE, {KNOCK, LOADING, LOADING, LIST, LOADING, GOOD, GOOD}, 7,
         "port-open|canary-sent|x not-ready|x generated|progress|y generated|progress|suite-passed|"},
        {"an optional one is rejected", SUITE, {KNOCK, LIST, GOOD, REJECTED}, 4,
         "port-open|canary-sent|x generated|progress|y http-4xx let off|progress|suite-passed|"},
        {"the other is rejected", SUITE, {KNOCK, LIST, REJECTED}, 3,
         "port-open|canary-sent|x http-4xx|suite-failed|"},
        {"an error that passes", SUITE, {KNOCK, LIST, BAD, GOOD, BAD, GOOD}, 6,
         "port-open|canary-sent|x http-5xx|x generated|progress|y http-5xx|y generated|progress|suite-passed|"},
        {"an error that does not", SUITE, {KNOCK, LIST, BAD}, 3,
         "port-open|canary-sent|x http-5xx|x http-5xx|x http-5xx|x http-5xx|x http-5xx|suite-failed|"},
        {"a connection that breaks", SUITE, {KNOCK, LIST, BROKEN, KNOCK, GOOD, GOOD}, 6,
         "port-open|canary-sent|x reset|x generated|progress|y generated|progress|suite-passed|"},
        {"all that break", SUITE,
         {KNOCK, LIST, BROKEN, KNOCK, BROKEN, KNOCK, BROKEN, KNOCK, BROKEN, KNOCK}, 10,
         "port-open|canary-sent|x reset|x reset|x reset|x reset|x reset|suite-failed|"},
        {"silence", SUITE "[Canary x]\nFirstTimeoutSec=200ms\n", {KNOCK, LIST, SILENT}, 3,
         "port-open|canary-sent|x timeout|suite-failed|"},
        {"no list", SUITE, {KNOCK, REJECTED, GOOD, GOOD}, 4,
         "port-open|canary-sent|x generated|progress|y generated|progress|suite-passed|"},
        {"another model", SUITE "[Server]\nModel=n\n", {KNOCK, LIST}, 2, "port-open|suite-failed|"},
        {"no such key", SUITE "[Server]\nAPIKeyFile=/nonexistent\n", {KNOCK}, 1, "port-open|suite-failed|"},
        {"no such file", SUITE "[Canary x]\nBodyFile=/nonexistent\n", {KNOCK, LIST}, 2,
         "port-open|canary-sent|x none|x none|x none|x none|x none|suite-failed|"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_scene_ struct scene s = {};

        scene_open(&s, rows[i].scripts, rows[i].n, rows[i].lines);
        if (!str_equal(prove(&s), rows[i].heard))
            fail_msg("%s: %s", rows[i].name, s.heard.data);
    }
}

/* A closed port is waited for; the end of an epoch forgets all of it. */
static void nobody_there(void unused **state)
{
    static const struct fake_script scripts[] = {KNOCK};
    _cleanup_scene_ struct scene s = {};
    struct config *closed;

    scene_open(&s, scripts, 1, SUITE);
    closed = canaries_parse("[Server]\nURL=http://127.0.0.1:1\n[Start]\nProbeSec=10ms\n");
    prover_reconfigure(s.prover, closed);
    prover_begin(s.prover);
    prover_prove(s.prover, NULL);
    world_run_quietly(s.loop, 300 * USEC_PER_MSEC);
    assert_null(s.heard.data);
    assert_null(prover_current(s.prover));
    prover_quiet(s.prover);
    prover_reconfigure(s.prover, s.config);
    config_free(closed);
}

static void proofs(void unused **state)
{
    static const struct fake_script scripts[] = {
        KNOCK, LIST, FAKE_SCRIPT(HTTP("500 Oops", "key sk-abcdefghijklmnopqrstuvwxyz012345"))};
    _cleanup_scene_ struct scene s = {};
    struct proof proof;

    scene_open(&s, scripts, 3, SUITE);
    prove(&s);
    proof = prover_last(s.prover);
    assert_string_equal(proof.canary, "x");
    assert_string_equal(proof.proves, "it");
    assert_int_equal(proof.verdict, VERDICT_HTTP_5XX);
    assert_null(strstr(proof.detail, "abcdefghijkl"));
    assert_true(proof.ended_realtime > 0);
    assert_null(prover_foreign_owner(s.prover));
    prover_begin(s.prover);
    proof = prover_last(s.prover);
    assert_null(proof.canary);
    assert_int_equal(proof.verdict, VERDICT_NONE);
}

static void on_answer(const struct proof *proof, void *userdata)
{
    struct scene *s = userdata;

    strbuf_appendf(&s->heard, "answer %s|", verdict_name(proof->verdict));
    if (proof->verdict == VERDICT_NONE)
        loop_stop(s->loop);
}

static void live_canaries(void unused **state)
{
    static const struct fake_script scripts[] = {KNOCK, LIST, GOOD, GOOD, BAD, GOOD, SILENT};
    _cleanup_scene_ struct scene s = {};

    scene_open(&s, scripts, 7, SUITE);
    prove(&s);
    assert_int_equal(prover_ask(s.prover, on_answer, &s), -EAGAIN);
    prover_live(s.prover);
    strbuf_clear(&s.heard);
    assert_int_equal(prover_ask(s.prover, on_answer, &s), 0);
    assert_int_equal(prover_ask(s.prover, on_answer, &s), -EBUSY);
    s.until = FSM_LIVE_PASSED;
    world_run_to_stop(s.loop);
    assert_string_equal(s.heard.data,
                        "x http-5xx|answer http-5xx|live-failed|x generated|live-passed|");
    strbuf_clear(&s.heard);
    assert_int_equal(prover_ask(s.prover, on_answer, &s), 0);
    world_run_quietly(s.loop, 100 * USEC_PER_MSEC);
    assert_string_equal(prover_current(s.prover), "x");
    prover_quiet(s.prover);
    assert_string_equal(s.heard.data, "answer none|");
    assert_null(prover_current(s.prover));
}

static void reload(struct scene *s, const char *lines)
{
    struct config *next = configure(s, lines);

    prover_reconfigure(s->prover, next);
    config_free(s->config);
    s->config = next;
}

/* What a reload changes is looked at anew, what it leaves alone goes on. */
static void reloads(void unused **state)
{
    static const struct fake_script slow = FAKE_SCRIPT(
        {FAKE_PAUSE, NULL, 300}, HTTP("200 OK", "{\"model\":\"m\",\"choices\":[{\"text\":\"a\"}]}"));
    const struct {
        const char *lines, *heard;
        struct fake_script scripts[6];
        size_t n;
    } rows[] = {
        {SUITE "[Report]\nKeep=7\n", "port-open|canary-sent|x generated|progress|y generated|progress|suite-passed|",
         {KNOCK, LIST, slow, GOOD}, 4},
        {"[Start]\nSuite=y\n", "port-open|canary-sent|y generated|progress|suite-passed|",
         {KNOCK, LIST, slow, KNOCK, LIST, GOOD}, 6},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_scene_ struct scene s = {};

        scene_open(&s, rows[i].scripts, rows[i].n, SUITE);
        prover_prove(s.prover, NULL);
        world_run_quietly(s.loop, 150 * USEC_PER_MSEC);
        assert_string_equal(prover_current(s.prover), "x");
        reload(&s, rows[i].lines);
        world_run_to_stop(s.loop);
        if (!str_equal(s.heard.data, rows[i].heard))
            fail_msg("%s", s.heard.data);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(proofs),
        cmocka_unit_test(live_canaries),
        cmocka_unit_test(reloads),
    };

    return cmocka_run_group_tests_name("prover", tests, NULL, NULL);
}
