/* SPDX-License-Identifier: MIT */
/* Every verdict, from a server that deserves it; hostile servers; rounds, parallel requests, time-outs. */
#include "unit.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/str.h"
#include "canaries.h"
#include "client/canary_run.h"
#include "fake_http.h"
#include "scratch.h"
#include "world.h"

#define MEMORY_MAX ((size_t) 4 * 1024 * 1024)

/* What a canary came back with. */
struct heard {
    struct loop *loop;
    struct judgement j;
    unsigned times;
};

static void on_judged(struct judgement *j, void *userdata)
{
    struct heard *h = userdata;

    h->times++;
    h->j = *j;
    *j = (struct judgement){};
    loop_stop(h->loop);
}

/* One canary of `lines` against the server at `base`, whose client may be used again. */
struct scene {
    struct loop *loop;
    struct config *config;
    struct client *client;
};

static struct scene scene_new(const char *base, const char *lines)
{
    _cleanup_free_ char *text = str_format("%s[Server]\nURL=%s\n", lines, base);
    struct scene s = {.loop = world_loop(), .config = canaries_parse(text)};

    assert_int_equal(client_new(s.loop, s.config, &s.client), 0);
    return s;
}

static void scene_release(struct scene *s)
{
    client_free(s->client);
    config_free(s->config);
    loop_free(s->loop);
}
#define _cleanup_scene_ _cleanup_(scene_release)

static struct judgement run(struct scene *s, bool first)
{
    struct heard h = {.loop = s->loop};
    struct canary_run *r = NULL;

    assert_int_equal(canary_run_start(s->client, canaries_x(s->config), first, on_judged, &h, &r), 0);
    assert_string_equal(canary_run_name(r), "x");
    world_run_to_stop(s->loop);
    assert_int_equal(h.times, 1);
    return h.j;
}

#define HTTP(status, body) FAKE_TEXT("HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body)
#define OK "200 OK"
#define TEXT(text) "{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"" text "\"}}]}"
#define SSE "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define CHUNK(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define DONE "data: [DONE]\n\n"

static void every_verdict(void unused **state)
{
    static const struct {
        enum verdict verdict;
        const char *lines;
        struct fake_script script;
    } rows[] = {
        {VERDICT_GENERATED, "", FAKE_SCRIPT(HTTP(OK, TEXT("a b c")))},
        {VERDICT_GENERATED, "Stream=yes\n", FAKE_SCRIPT(FAKE_TEXT(SSE CHUNK("a") DONE))},
        {VERDICT_RESET, "", FAKE_SCRIPT({FAKE_RESET, NULL, 0})},
        {VERDICT_RESET, "Stream=yes\n", FAKE_SCRIPT(FAKE_TEXT(SSE CHUNK("a")))},
        {VERDICT_TIMEOUT, "TimeoutSec=300ms\n", FAKE_SCRIPT({FAKE_HANG, NULL, 0})},
        {VERDICT_TIMEOUT, "TimeoutSec=300ms\nStream=yes\n",
         FAKE_SCRIPT(FAKE_TEXT(SSE CHUNK("a")), {FAKE_HANG, NULL, 0})},
        {VERDICT_FIRST_TOKEN_TIMEOUT, "TimeoutSec=300ms\nStream=yes\n",
         FAKE_SCRIPT(FAKE_TEXT(SSE CHUNK("")), {FAKE_HANG, NULL, 0})},
        {VERDICT_FIRST_TOKEN_TIMEOUT, "FirstTokenSec=200ms\nTimeoutSec=50s\nStream=yes\n",
         FAKE_SCRIPT(FAKE_TEXT(SSE CHUNK("")), {FAKE_HANG, NULL, 0})},
        {VERDICT_HTTP_4XX, "", FAKE_SCRIPT(HTTP("400 Bad Request", "{\"error\":\"bad\"}"))},
        {VERDICT_HTTP_4XX, "", FAKE_SCRIPT(HTTP("302 Found\r\nLocation: /y", ""))},
        {VERDICT_HTTP_5XX, "", FAKE_SCRIPT(HTTP("500 Oops", "CUDA error"))},
        {VERDICT_NOT_READY, "", FAKE_SCRIPT(HTTP("503 Unavailable", "{\"error\":\"Loading model\"}"))},
        {VERDICT_AUTH_REQUIRED, "", FAKE_SCRIPT(HTTP("401 Unauthorized", ""))},
        {VERDICT_WRONG_MODEL, "ExpectModel=n\n", FAKE_SCRIPT(HTTP(OK, TEXT("a")))},
        {VERDICT_NO_TOKENS, "", FAKE_SCRIPT(HTTP(OK, TEXT("")))},
        {VERDICT_DEGENERATE, "", FAKE_SCRIPT(HTTP(OK, TEXT("!!!!!!!!")))},
        {VERDICT_SLOW, "MinTokensPerSec=1000\n", FAKE_SCRIPT({FAKE_PAUSE, NULL, 20}, HTTP(OK, TEXT("a")))},
        {VERDICT_BAD_JSON, "", FAKE_SCRIPT(HTTP(OK, "<html>"))},
        {VERDICT_BAD_JSON, "", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                                                     "Content-Length: 3\r\n\r\n\x1f\x8b\x08"))},
        {VERDICT_TOO_LARGE, "", FAKE_SCRIPT(FAKE_TEXT(SSE), FAKE_FLOOD_OF("[[],"))},
        {VERDICT_TOO_LARGE, "Stream=yes\n", FAKE_SCRIPT(FAKE_TEXT(SSE), FAKE_FLOOD_OF(CHUNK("word ")))},
        {VERDICT_NONE, "BodyFile=/nonexistent\n", FAKE_SCRIPT(HTTP(OK, TEXT("a")))},
        {VERDICT_NONE, "Kind=triton-generate\n", FAKE_SCRIPT(HTTP(OK, TEXT("a")))},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_http *fake = fake_http_new(NULL, &rows[i].script, 1);
        _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), rows[i].lines);
        struct judgement j = run(&s, false);

        if (j.verdict != rows[i].verdict)
            fail_msg("row %zu (%s): %s, %s", i, verdict_name(rows[i].verdict), verdict_name(j.verdict),
                     str_or_empty(j.detail));
        assert_true(j.total_usec < 10 * USEC_PER_SEC);
        judgement_release(&j);
        fake_http_free(fake);
    }
}

static void refused_and_tls(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT(HTTP("400 Bad Request", ""));
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_free_ char *https = str_format("https%s", fake_http_base(fake) + strlen("http"));
    _cleanup_scene_ struct scene nobody = scene_new("http://127.0.0.1:1", ""), tls = scene_new(https, "");
    struct judgement j = run(&nobody, true);

    assert_int_equal(j.verdict, VERDICT_REFUSED);
    judgement_release(&j);
    j = run(&tls, true);
    assert_int_equal(j.verdict, VERDICT_TLS);
    judgement_release(&j);
    fake_http_free(fake);
}

/* The most memory that this process has had so far, where that means anything. */
static size_t peak_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#else
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t) usage.ru_maxrss * 1024;
#endif
}

/* What a server sends without an end costs time and memory within bounds. */
static void hostile_answers_are_cheap(void unused **state)
{
    static char junk[4096];
    static const struct {
        const char *name, *lines;
        struct fake_script script;
    } rows[] = {
        {"a gigabyte", "", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"),
                                       {FAKE_FLOOD, junk, sizeof(junk)})},
        {"arrays", "", FAKE_SCRIPT(FAKE_TEXT(SSE "["), FAKE_FLOOD_OF("[],"))},
        {"an answer that is all brackets", "",
         FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 250000\r\n\r\n["), FAKE_FLOOD_OF("[],"))},
        {"headers", "", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\n"), FAKE_FLOOD_OF("X-A: b\r\n"))},
        {"four at once", "Parallel=4\n", FAKE_SCRIPT(FAKE_TEXT(SSE), {FAKE_FLOOD, junk, sizeof(junk)})},
        {"an event without an end", "Stream=yes\n", FAKE_SCRIPT(FAKE_TEXT(SSE "data: "), FAKE_FLOOD_OF("[],"))},
        {"events without an end", "Stream=yes\nParallel=4\n",
         FAKE_SCRIPT(FAKE_TEXT(SSE), FAKE_FLOOD_OF(CHUNK("word ")))},
        {"comments", "Stream=yes\n", FAKE_SCRIPT(FAKE_TEXT(SSE), FAKE_FLOOD_OF(": ping\n"))},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_http *fake = fake_http_new(NULL, &rows[i].script, 1);
        _cleanup_free_ char *lines = str_format("%sTimeoutSec=50s\n", rows[i].lines);
        _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), lines);
        usec_t before = world_now();
        size_t peak = peak_bytes();
        struct judgement j = run(&s, false);

        assert_row(rows[i].name, j.verdict == VERDICT_TOO_LARGE);
        assert_row(rows[i].name, world_now() - before < WORLD_LIMIT);
        if (peak_bytes() - peak > MEMORY_MAX)
            fail_msg("%s: %zu more bytes", rows[i].name, peak_bytes() - peak);
        judgement_release(&j);
        fake_http_free(fake);
    }
}

static void invalid_text(void unused **state)
{
    static const char nul[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"choices\":[{\"text\":\"a\0b\xff\"}]}";
    static const char utf8[] = "HTTP/1.1 500 \xff\xfe\r\nConnection: close\r\n\r\n\x80\0\x1b[31mred\n\xf0\x9f";
    static const struct fake_script scripts[] = {FAKE_SCRIPT(FAKE_BYTES(nul)), FAKE_SCRIPT(FAKE_BYTES(utf8))};
    struct fake_http *fake = fake_http_new(NULL, scripts, 2);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), "");
    struct judgement j = run(&s, true);

    assert_int_equal(j.verdict, VERDICT_BAD_JSON);
    judgement_release(&j);
    j = run(&s, true);
    assert_int_equal(j.verdict, VERDICT_HTTP_5XX);
    for (const char *c = j.detail; *c != '\0'; c++)
        assert_true((unsigned char) *c >= ' ');
    judgement_release(&j);
    fake_http_free(fake);
}

static void rounds_and_lanes(void unused **state)
{
    static const struct fake_script good = FAKE_SCRIPT({FAKE_PAUSE, NULL, 150}, HTTP(OK, TEXT("a b")));
    struct fake_http *fake = fake_http_new(NULL, &good, 1);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), "Parallel=4\nRepeat=3\n");
    usec_t before = world_now();
    struct judgement j = run(&s, true);
    usec_t took = world_now() - before;

    assert_int_equal(j.verdict, VERDICT_GENERATED);
    assert_int_equal(j.tokens, 12);
    assert_true(took >= 450 * USEC_PER_MSEC && took < 1700 * USEC_PER_MSEC);
    assert_true(j.total_usec <= took && j.total_usec >= 450 * USEC_PER_MSEC);
    for (int i = 0; i < 12; i++) {
        _cleanup_free_ char *request = fake_http_request(fake);

        assert_non_null(str_after(request, "POST /v1/chat/completions HTTP/1.1\r\n"));
    }
    judgement_release(&j);
    fake_http_free(fake);
}

/* One of four fails: the round is brought to its end, and is the last. */
static void a_failure_among_others(void unused **state)
{
    static const struct fake_script scripts[] = {
        FAKE_SCRIPT(HTTP("500 Oops", "no memory")),
        FAKE_SCRIPT({FAKE_PAUSE, NULL, 200}, HTTP(OK, TEXT("a"))),
    };
    struct fake_http *fake = fake_http_new(NULL, scripts, 2);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), "Parallel=4\nRepeat=5\n");
    struct judgement j = run(&s, true);

    assert_int_equal(j.verdict, VERDICT_HTTP_5XX);
    assert_string_equal(j.detail, "1 of 4: HTTP 500: no memory");
    assert_true(j.total_usec >= 200 * USEC_PER_MSEC && j.total_usec < USEC_PER_SEC);
    judgement_release(&j);
    fake_http_free(fake);
}

/* The first round after a start has its own time-out, and may be slow: kernels may have to be built. */
static void first_time(void unused **state)
{
    static const struct fake_script scripts[] = {
        FAKE_SCRIPT({FAKE_PAUSE, NULL, 600}, FAKE_TEXT(SSE CHUNK("a") DONE)),
        FAKE_SCRIPT(FAKE_TEXT(SSE CHUNK("a") DONE)),
    };
#define SLOW_START "Stream=yes\nFirstTokenSec=300ms\nTimeoutSec=400ms\nFirstTimeoutSec=20s\n"
    struct fake_http *fake = fake_http_new(NULL, scripts, 2);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), SLOW_START);
    struct judgement j = run(&s, true);
    _cleanup_free_ char *one = fake_http_request(fake), *two = fake_http_request(fake);

    assert_int_equal(j.verdict, VERDICT_GENERATED);
    assert_true(j.first_token_usec < 300 * USEC_PER_MSEC && j.total_usec < 400 * USEC_PER_MSEC);
    judgement_release(&j);
    fake_http_free(fake);

    fake = fake_http_new(NULL, scripts, 1);
    scene_release(&s);
    s = scene_new(fake_http_base(fake), SLOW_START);
    j = run(&s, false);
    assert_int_equal(j.verdict, VERDICT_FIRST_TOKEN_TIMEOUT);
    judgement_release(&j);
    fake_http_free(fake);
}

static void repetitions(void unused **state)
{
    static const struct fake_script scripts[] = {
        FAKE_SCRIPT(HTTP(OK, TEXT("a"))),
        FAKE_SCRIPT(HTTP(OK, TEXT("b"))),
    };
    struct fake_http *fake = fake_http_new(NULL, scripts, 2);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), "ExpectRepeatable=yes\n");
    struct judgement j = run(&s, true);

    assert_int_equal(j.verdict, VERDICT_DEGENERATE);
    judgement_release(&j);
    j = run(&s, true);
    assert_int_equal(j.verdict, VERDICT_GENERATED);
    judgement_release(&j);
    fake_http_free(fake);
}

/* A proxy has another model behind it than before. */
static void swapped_models(void unused **state)
{
    static const struct fake_script scripts[] = {
        FAKE_SCRIPT(HTTP(OK, "{\"model\":\"m\",\"choices\":[{\"text\":\"a\"}]}")),
        FAKE_SCRIPT(HTTP(OK, "{\"model\":\"other\",\"choices\":[{\"text\":\"a\"}]}")),
    };
    struct fake_http *fake = fake_http_new(NULL, scripts, 2);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), "");
    struct judgement j = run(&s, true);

    assert_int_equal(j.verdict, VERDICT_GENERATED);
    judgement_release(&j);
    j = run(&s, false);
    assert_int_equal(j.verdict, VERDICT_WRONG_MODEL);
    assert_string_equal(j.detail, "answered as model \"other\" instead of \"m\"");
    judgement_release(&j);
    assert_int_equal(client_renew(s.client), 0);
    j = run(&s, true);
    assert_int_equal(j.verdict, VERDICT_GENERATED);
    judgement_release(&j);
    fake_http_free(fake);
}

static void what_is_sent(void unused **state)
{
    static const struct fake_script good = FAKE_SCRIPT(HTTP(OK, "{}"));
    char *dir = scratch_new();
    _cleanup_free_ char *key = str_format("%s/key", dir), *body = str_format("%s/body", dir);
    struct fake_http *fake = fake_http_new(NULL, &good, 1);
    _cleanup_free_ char *lines = str_format("Kind=raw\nPath=/x\nHeader=X-A: b\nBodyFile=%s\n"
                                            "[Server]\nAPIKeyFile=%s\n", body, key);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), lines);
    FILE *f = fopen(key, "we");
    _cleanup_free_ char *request = NULL;
    struct judgement j;

    assert_non_null(f);
    (void) fputs(" sesame\n", f);
    (void) fclose(f);
    f = fopen(body, "we");
    assert_non_null(f);
    (void) fputs("<x/>", f);
    (void) fclose(f);
    j = run(&s, true);
    assert_int_equal(j.verdict, VERDICT_GENERATED);
    judgement_release(&j);
    request = fake_http_request(fake);
    assert_non_null(str_after(request, "POST /x HTTP/1.1\r\n"));
    assert_non_null(strstr(request, "\r\nAuthorization: Bearer sesame\r\n"));
    assert_non_null(strstr(request, "\r\nX-A: b\r\n"));
    assert_true(str_ends_with(request, "\r\n\r\n<x/>"));
    assert_int_equal(unlink(key), 0);
    j = run(&s, true);
    assert_int_equal(j.verdict, VERDICT_NONE);
    assert_string_equal(j.detail, "the key in APIKeyFile= cannot be read");
    judgement_release(&j);
    fake_http_free(fake);
    scratch_remove(dir);
}

/* A time-out closes the connection, and so does a run that nobody wants any more. */
static void connections_are_closed(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT({FAKE_HANG, NULL, 0});
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_scene_ struct scene s = scene_new(fake_http_base(fake), "TimeoutSec=300ms\nParallel=3\n");
    struct judgement j = run(&s, false);
    struct heard h = {.loop = s.loop};
    struct canary_run *r = NULL;
    unsigned closed = 0;

    assert_int_equal(j.verdict, VERDICT_TIMEOUT);
    judgement_release(&j);
    assert_int_equal(canary_run_start(s.client, canaries_x(s.config), true, on_judged, &h, &r), 0);
    world_run_quietly(s.loop, 200 * USEC_PER_MSEC);
    canary_run_cancel(r);
    while (closed < 6) {
        _cleanup_free_ char *request = fake_http_request(fake);

        closed += str_equal(request, "closed");
    }
    assert_int_equal(h.times, 0);
    canary_run_cancel(NULL);
    fake_http_free(fake);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verdict),
        cmocka_unit_test(refused_and_tls),
        cmocka_unit_test(hostile_answers_are_cheap),
        cmocka_unit_test(invalid_text),
        cmocka_unit_test(rounds_and_lanes),
        cmocka_unit_test(a_failure_among_others),
        cmocka_unit_test(first_time),
        cmocka_unit_test(repetitions),
        cmocka_unit_test(swapped_models),
        cmocka_unit_test(what_is_sent),
        cmocka_unit_test(connections_are_closed),
    };

    return cmocka_run_group_tests_name("canary run", tests, NULL, NULL);
}
