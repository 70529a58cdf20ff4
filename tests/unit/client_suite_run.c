/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "canaries.h"
#include "client/look.h"
#include "client/models.h"
#include "client/suite_run.h"
#include "fake_http.h"
#include "world.h"

#define HTTP(status, body) FAKE_TEXT("HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body)
#define LIST FAKE_SCRIPT(HTTP("200 OK", "{\"data\":[{\"id\":\"m\"}]}"))
#define LOADING FAKE_SCRIPT(HTTP("503 Unavailable", "{\"error\":\"Loading model\"}"))
#define GOOD FAKE_SCRIPT(HTTP("200 OK", "{\"model\":\"m\",\"choices\":[{\"text\":\"a\"}]}"))
#define BAD FAKE_SCRIPT(HTTP("500 Oops", "no"))
#define REJECTED FAKE_SCRIPT(HTTP("400 Bad Request", "no such thing"))

struct scene {
    struct loop *loop;
    struct config *config;
    struct client *client;
    struct fake_http *fake;
    struct strbuf heard; /* "x: generated|y: http-4xx, let off|done: generated" */
};

static struct scene scene_new(const struct fake_script *scripts, size_t n, const char *lines)
{
    struct scene s = {.loop = world_loop(), .fake = fake_http_new(NULL, scripts, n)};
    _cleanup_free_ char *text = str_format("%s[Server]\nURL=%s\n", lines, fake_http_base(s.fake));

    s.config = canaries_parse(text);
    assert_int_equal(client_new(s.loop, s.config, &s.client), 0);
    return s;
}

static void scene_release(struct scene *s)
{
    client_free(s->client);
    config_free(s->config);
    loop_free(s->loop);
    fake_http_free(s->fake);
    strbuf_release(&s->heard);
}
#define _cleanup_scene_ _cleanup_(scene_release)

static void on_canary(const struct canary_config *c, struct judgement *j, bool let_off, void *userdata)
{
    struct scene *s = userdata;

    strbuf_appendf(&s->heard, "%s: %s%s|", c->name, verdict_name(j->verdict), let_off ? ", let off" : "");
}

static void on_done(enum verdict verdict, const char *detail, void *userdata)
{
    struct scene *s = userdata;

    strbuf_appendf(&s->heard, "done: %s%s%s", verdict_name(verdict), detail ? ", " : "", str_or_empty(detail));
    loop_stop(s->loop);
}

static const struct suite_run_events events = {.canary = on_canary, .done = on_done};
#define CANARIES "[Canary y]\nOptional=yes\n[Canary z]\nOptional=yes\n"
#define NAMES WORLD_VECTOR("x", "y", "z")

static const char *run(struct scene *s, usec_t patience)
{
    struct suite_run *r = NULL;

    strbuf_clear(&s->heard);
    assert_int_equal(suite_run_start(s->client, NAMES, patience, &events, s, &r), 0);
    assert_null(suite_run_current(r));
    world_run_to_stop(s->loop);
    return s->heard.data;
}

static void all_are_run(void unused **state)
{
    static const struct fake_script scripts[] = {LIST, BAD, REJECTED, GOOD};
    _cleanup_scene_ struct scene s = scene_new(scripts, 4, CANARIES);

    assert_string_equal(run(&s, 0), "x: http-5xx|y: http-4xx, let off|z: generated|done: generated");
    assert_string_equal(client_model(s.client), "m");
}

static void without_a_model_there_is_nothing_to_ask(void unused **state)
{
    static const struct {
        struct fake_script script;
        const char *heard;
    } rows[] = {
        {LOADING, "done: not-ready, /v1/models: HTTP 503: Loading model"},
        {FAKE_SCRIPT(HTTP("401 Unauthorized", "")), "done: auth-required, /v1/models: HTTP 401"},
        {FAKE_SCRIPT(HTTP("200 OK", "{\"data\":[]}")), "done: not-ready, /v1/models"},
        {FAKE_SCRIPT({FAKE_RESET, NULL, 0}), "done: reset, /v1/models: "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_scene_ struct scene s = scene_new(&rows[i].script, 1, CANARIES);

        assert_row(rows[i].heard, str_after(run(&s, 0), rows[i].heard) != NULL);
    }
}

/* No list is no mistake. */
static void servers_without_a_list(void unused **state)
{
    static const struct fake_script scripts[] = {FAKE_SCRIPT(HTTP("404 Not Found", "")), GOOD};
    _cleanup_scene_ struct scene s = scene_new(scripts, 2, CANARIES);

    assert_string_equal(run(&s, 0), "x: generated|y: generated|z: generated|done: generated");
    assert_null(client_model(s.client));
}

static void patience(void unused **state)
{
    static const struct fake_script scripts[] = {LOADING, FAKE_SCRIPT({FAKE_RESET, NULL, 0}), LIST, LOADING, LIST,
                                                 LOADING, LIST, GOOD, BAD, GOOD};
    _cleanup_scene_ struct scene s = scene_new(scripts, 10, CANARIES);
    usec_t before = world_now();

    assert_string_equal(run(&s, 30 * USEC_PER_SEC),
                        "x: generated|y: http-5xx|z: generated|done: generated");
    assert_true(world_now() - before >= 3 * 250 * USEC_PER_MSEC);
}

static void cancelled(void unused **state)
{
    static const struct fake_script scripts[] = {LIST, FAKE_SCRIPT({FAKE_HANG, NULL, 0})};
    _cleanup_scene_ struct scene s = scene_new(scripts, 2, CANARIES);
    _cleanup_free_ char *list = NULL, *canary = NULL, *closed = NULL;
    struct suite_run *r = NULL;

    assert_int_equal(suite_run_start(s.client, NAMES, 0, &events, &s, &r), 0);
    world_run_quietly(s.loop, 300 * USEC_PER_MSEC);
    assert_string_equal(suite_run_current(r), "x");
    suite_run_cancel(r);
    list = fake_http_request(s.fake);
    canary = fake_http_request(s.fake);
    closed = fake_http_request(s.fake);
    assert_string_equal(closed, "closed");
    suite_run_cancel(NULL);
    assert_null(s.heard.data);
}

/* The list of models */

static void on_models(enum verdict verdict, const char *detail, void *userdata)
{
    on_done(verdict, detail, userdata);
}

static void tritons_index(void unused **state)
{
    static const struct fake_script script =
        FAKE_SCRIPT(HTTP("200 OK", "[{\"name\":\"a\",\"state\":\"UNAVAILABLE\"},{\"name\":\"b\",\"state\":\"READY\"}]"));
    _cleanup_scene_ struct scene s = scene_new(&script, 1, "[Server]\nModelsPath=/v2/repository/index\n");
    _cleanup_free_ char *request = NULL;
    struct models *m = NULL;
    const char *why = NULL;

    assert_int_equal(models_find(s.client, on_models, &s, &m, &why), 0);
    world_run_to_stop(s.loop);
    request = fake_http_request(s.fake);
    assert_non_null(str_after(request, "POST /v2/repository/index HTTP/1.1\r\n"));
    assert_string_equal(s.heard.data, "done: generated");
    assert_string_equal(client_model(s.client), "b");
    models_cancel(NULL);
}

/* Looks at metrics */

static void on_look(const struct activity *a, void *userdata)
{
    struct scene *s = userdata;

    strbuf_appendf(&s->heard, "%s %g|", a->known ? "known" : "unknown", a->running);
    loop_stop(s->loop);
}

static void looks(void unused **state)
{
    static const struct fake_script scripts[] = {
        FAKE_SCRIPT(HTTP("200 OK", "a:tokens_total{m=\"x\"} 5\na:running 2\n")),
        FAKE_SCRIPT(HTTP("404 Not Found", "a:tokens_total 5\n")),
        FAKE_SCRIPT({FAKE_RESET, NULL, 0}),
        FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\n\r\n"), FAKE_FLOOD_OF("a:tokens_total 5\n")),
    };
    _cleanup_scene_ struct scene s = scene_new(scripts, 4, "[Live]\nMetricsPath=/metrics\nProgressMetric="
                                                           "a:tokens_total\nRunningMetric=a:running\n");

    assert_true(look_possible(s.client));
    for (size_t i = 0; i < 4; i++) {
        struct look *l = NULL;

        assert_int_equal(look_start(s.client, on_look, &s, &l), 0);
        world_run_to_stop(s.loop);
    }
    assert_string_equal(s.heard.data, "known 2|unknown 0|unknown 0|unknown 0|");
    look_cancel(NULL);
}

static void looks_elsewhere(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT(HTTP("200 OK", "[{\"is_processing\":true,\"id_task\":3}]"));
    struct fake_http *other = fake_http_new(NULL, &script, 1);
    _cleanup_free_ char *lines = str_format("[Live]\nMetricsURL=%s\nMetricsPath=/slots\n", fake_http_base(other));
    _cleanup_scene_ struct scene s = scene_new(&script, 1, lines), none = scene_new(&script, 1, "");
    struct look *l = NULL;
    _cleanup_free_ char *request = NULL;

    assert_false(look_possible(none.client));
    assert_int_equal(look_start(s.client, on_look, &s, &l), 0);
    world_run_to_stop(s.loop);
    request = fake_http_request(other);
    assert_non_null(str_after(request, "GET /slots HTTP/1.1\r\n"));
    assert_string_equal(s.heard.data, "known 1|");
    fake_http_free(other);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_run),
        cmocka_unit_test(without_a_model_there_is_nothing_to_ask),
        cmocka_unit_test(servers_without_a_list),
        cmocka_unit_test(patience),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(tritons_index),
        cmocka_unit_test(looks),
        cmocka_unit_test(looks_elsewhere),
    };

    return cmocka_run_group_tests_name("suite run", tests, NULL, NULL);
}
