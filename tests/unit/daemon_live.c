/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "canaries.h"
#include "daemon/live.h"
#include "fake_http.h"
#include "world.h"

#define HTTP(status, body) FAKE_TEXT("HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body)
#define GOOD FAKE_SCRIPT(HTTP("200 OK", "{\"model\":\"m\",\"choices\":[{\"text\":\"a\"}]}"))
#define BAD FAKE_SCRIPT(HTTP("500 Oops", "no"))
#define SILENT FAKE_SCRIPT({FAKE_HANG, NULL, 0})
#define METRICS(tokens, running) FAKE_SCRIPT(HTTP("200 OK", "tokens " tokens "\nrunning " running "\n"))

#define SETTINGS "Suite=x\n[Live]\nMetricsPath=/metrics\nProgressMetric=tokens\nRunningMetric=running\n"

/* A server, its metrics, and what came of the live canaries. */
struct scene {
    struct loop *loop;
    struct fake_http *server, *metrics;
    struct config *config;
    struct client *client;
    struct live *live;
    struct strbuf heard; /* "generated|timeout (detail)|" */
    usec_t at[8];
    size_t n, wanted;
};

static void on_judged(const char *canary, struct judgement *j, void *userdata)
{
    struct scene *s = userdata;

    assert_string_equal(canary, "x");
    strbuf_append(&s->heard, verdict_name(j->verdict));
    if (j->detail)
        strbuf_appendf(&s->heard, " (%s)", j->detail);
    strbuf_append_char(&s->heard, '|');
    if (s->n < ARRAY_SIZE(s->at))
        s->at[s->n] = world_now();
    if (++s->n == s->wanted)
        loop_stop(s->loop);
}

static const struct live_events events = {.judged = on_judged};

static void scene_open(struct scene *s, const struct fake_script *scripts, size_t n,
                       const struct fake_script *metrics, size_t n_metrics, const char *lines)
{
    _cleanup_free_ char *text = NULL;

    s->loop = world_loop();
    s->server = fake_http_new(NULL, scripts, n);
    s->metrics = fake_http_new(NULL, metrics, n_metrics);
    text = str_format("TimeoutSec=300ms\n[Server]\nURL=%s\n[Start]\n%s[Live]\nMetricsURL=%s\n",
                      fake_http_base(s->server), lines, fake_http_base(s->metrics));
    s->config = canaries_parse(text);
    assert_int_equal(client_new(s->loop, s->config, &s->client), 0);
    assert_int_equal(live_new(s->loop, s->client, &events, s, &s->live), 0);
}

#define OPEN(s, scripts, metrics, lines) \
    scene_open((s), (scripts), ARRAY_SIZE(scripts), (metrics), ARRAY_SIZE(metrics), (lines))

static void scene_release(struct scene *s)
{
    live_free(s->live);
    client_free(s->client);
    config_free(s->config);
    fake_http_free(s->server);
    fake_http_free(s->metrics);
    loop_free(s->loop);
    strbuf_release(&s->heard);
}
#define _cleanup_scene_ _cleanup_(scene_release)

/* Until so many verdicts are in, from now on. */
static const char *hear(struct scene *s, size_t wanted)
{
    s->wanted = s->n + wanted;
    strbuf_clear(&s->heard);
    world_run_to_stop(s->loop);
    return s->heard.data;
}

static const struct fake_script idle[] = {METRICS("5", "0")};
static const struct fake_script stuck[] = {METRICS("5", "2")};
static const struct fake_script moving[] = {
    METRICS("1", "1"), METRICS("2", "1"), METRICS("3", "1"), METRICS("4", "1"), METRICS("5", "1"),
    METRICS("6", "1"), METRICS("7", "1"), METRICS("8", "1"), METRICS("9", "1"),
};
static const struct fake_script untold[] = {FAKE_SCRIPT(HTTP("404 Not Found", ""))};

static void every_interval(void unused **state)
{
    static const struct fake_script good[] = {GOOD};
    _cleanup_scene_ struct scene s = {};

    OPEN(&s, good, idle, "Suite=x\n[Live]\nIntervalSec=1s\n");
    live_begin(s.live);
    assert_null(live_current(s.live));
    assert_string_equal(hear(&s, 2), "generated|generated|");
    assert_true(s.at[1] - s.at[0] >= 900 * USEC_PER_MSEC);
    assert_true(s.at[1] - s.at[0] < 2500 * USEC_PER_MSEC);
}

/* After a failure soon, until so many have passed as bring the server back. */
static void faster_in_transition(void unused **state)
{
    static const struct fake_script scripts[] = {BAD, GOOD, GOOD, GOOD};
    _cleanup_scene_ struct scene s = {};
    usec_t before;

    OPEN(&s, scripts, idle, "Suite=x\n[Live]\nIntervalSec=10min\nTransitionSec=100ms\nRise=2\n");
    live_begin(s.live);
    live_now(s.live);
    before = world_now();
    assert_string_equal(hear(&s, 3), "http-5xx (HTTP 500: no)|generated|generated|");
    assert_true(world_now() - before >= 190 * USEC_PER_MSEC && world_now() - before < 5 * USEC_PER_SEC);
    world_run_quietly(s.loop, 400 * USEC_PER_MSEC);
}

/* What a time-out means depends on what others get meanwhile. */
static void busy_is_not_dead(void unused **state)
{
    static const struct {
        const char *name;
        const struct fake_script *metrics;
        size_t n;
        const char *heard;
    } rows[] = {
        {"moving", moving, ARRAY_SIZE(moving), "busy (requests complete)|"},
        {"stuck", stuck, 1, "timeout (requests are under way, and nothing moves)|"},
        {"idle", idle, 1, "timeout (no request is under way)|"},
        {"untold", untold, 1, "timeout|"},
    };
    static const struct fake_script silent[] = {SILENT};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_scene_ struct scene s = {};
        _cleanup_free_ char *request = NULL, *closed = NULL;

        scene_open(&s, silent, 1, rows[i].metrics, rows[i].n, SETTINGS "IntervalSec=10min\nTransitionSec=10min\n");
        live_begin(s.live);
        live_now(s.live);
        hear(&s, 1);
        /* The words of the library stand in front. */
        assert_row(rows[i].name, strncmp(s.heard.data, rows[i].heard, 4) == 0);
        if (strchr(rows[i].heard, '('))
            assert_row(s.heard.data, str_ends_with(s.heard.data, strchr(rows[i].heard, '(') + 1));
        request = fake_http_request(s.server);
        closed = fake_http_request(s.server);
        assert_string_equal(closed, "closed");
    }
}

/* An engine that turns the canary away because others fill it. */
static void turned_away(void unused **state)
{
    static const struct fake_script full[] = {FAKE_SCRIPT({FAKE_PAUSE, NULL, 150},
                                                          HTTP("429 Too Many", "{\"error\":\"overloaded\"}"))};
    _cleanup_scene_ struct scene s = {};

    OPEN(&s, full, moving, SETTINGS "IntervalSec=10min\n");
    live_begin(s.live);
    live_now(s.live);
    assert_string_equal(hear(&s, 1), "busy (HTTP 429: overloaded; requests complete)|");
}

static void real_requests_stand_in(void unused **state)
{
    static const struct fake_script good[] = {GOOD};
    _cleanup_scene_ struct scene s = {};
    usec_t before;

    OPEN(&s, good, moving, SETTINGS "IntervalSec=1500ms\nPostponeSec=4s\n");
    live_begin(s.live);
    before = world_now();
    assert_string_equal(hear(&s, 1), "generated|");
    assert_true(world_now() - before >= 4 * USEC_PER_SEC);
    assert_true(world_now() - before < 10 * USEC_PER_SEC);
}

static void without_them_it_is_sent(void unused **state)
{
    static const struct fake_script good[] = {GOOD};
    const struct {
        const struct fake_script *metrics;
        const char *lines;
    } rows[] = {
        {idle, SETTINGS "IntervalSec=1500ms\nPostponeSec=1h\n"},
        {stuck, SETTINGS "IntervalSec=1500ms\nPostponeSec=1h\n"},
        {untold, SETTINGS "IntervalSec=1500ms\nPostponeSec=1h\n"},
        {moving, SETTINGS "IntervalSec=1500ms\nPostponeSec=0\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_scene_ struct scene s = {};
        usec_t before;

        scene_open(&s, good, 1, rows[i].metrics, 1, rows[i].lines);
        live_begin(s.live);
        before = world_now();
        assert_string_equal(hear(&s, 1), "generated|");
        assert_true(world_now() - before < 4 * USEC_PER_SEC);
    }
}

static void at_once(void unused **state)
{
    static const struct fake_script slow[] = {FAKE_SCRIPT({FAKE_PAUSE, NULL, 150}, HTTP("500 Oops", "no"))};
    _cleanup_scene_ struct scene s = {};

    OPEN(&s, slow, moving, SETTINGS "IntervalSec=10min\nPostponeSec=1h\nTransitionSec=10min\n");
    live_begin(s.live);
    live_now(s.live);
    world_run_quietly(s.loop, 60 * USEC_PER_MSEC);
    assert_string_equal(live_current(s.live), "x");
    live_now(s.live);
    assert_string_equal(hear(&s, 1), "http-5xx (HTTP 500: no)|");
    world_run_quietly(s.loop, 400 * USEC_PER_MSEC);
    live_now(s.live);
    world_run_quietly(s.loop, 60 * USEC_PER_MSEC);
    live_again(s.live);
    assert_string_equal(hear(&s, 1), "http-5xx (HTTP 500: no)|");
    live_now(s.live);
    world_run_quietly(s.loop, 60 * USEC_PER_MSEC);
    live_end(s.live);
    assert_null(live_current(s.live));
    world_run_quietly(s.loop, 400 * USEC_PER_MSEC);
    assert_int_equal(s.n, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_interval),
        cmocka_unit_test(faster_in_transition),
        cmocka_unit_test(busy_is_not_dead),
        cmocka_unit_test(turned_away),
        cmocka_unit_test(real_requests_stand_in),
        cmocka_unit_test(without_them_it_is_sent),
        cmocka_unit_test(at_once),
    };

    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
