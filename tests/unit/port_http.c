/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "base/str.h"
#include "fake_http.h"
#include "port/http.h"
#include "scratch.h"
#include "world.h"

#define MAX_BYTES ((size_t) 64 * 1024)

/* One transfer and what came of it. */
struct heard {
    struct loop *loop;
    unsigned times;
    enum http_outcome outcome;
    long status;
    char *body;
    size_t body_len;
    bool explained;
    usec_t total;
    struct strbuf pieces; /* each with a '|' behind it */
    usec_t arrivals[8];
    size_t n_pieces;
    enum http_want want;  /* what the last piece of `wanted` is answered with */
    size_t wanted;
};

static void on_answer(const struct http_answer *a, void *userdata)
{
    struct heard *h = userdata;

    h->times++;
    h->outcome = a->outcome;
    h->status = a->status;
    h->body = strndup(a->body, a->body_len);
    h->body_len = a->body_len;
    h->explained = !str_empty(a->detail);
    h->total = a->total_usec;
    loop_stop(h->loop);
}

static enum http_want on_piece(const char *data, size_t n, usec_t at, void *userdata)
{
    struct heard *h = userdata;

    strbuf_append_n(&h->pieces, data, n);
    strbuf_append_char(&h->pieces, '|');
    if (h->n_pieces < ARRAY_SIZE(h->arrivals))
        h->arrivals[h->n_pieces] = at;
    h->n_pieces++;
    return h->n_pieces == h->wanted ? h->want : HTTP_MORE;
}

static void heard_release(struct heard *h)
{
    free(h->body);
    strbuf_release(&h->pieces);
}
#define _cleanup_heard_ _cleanup_(heard_release)

/* Sends one request and waits for its end. */
static void ask(struct http_request *r, struct heard *h)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    _cleanup_(http_freep) struct http *http = NULL;
    struct http_transfer *t = NULL;

    h->loop = l;
    r->path = r->path ? r->path : "/x";
    r->timeout_usec = r->timeout_usec ? r->timeout_usec : 20 * USEC_PER_SEC;
    r->max_bytes = r->max_bytes ? r->max_bytes : MAX_BYTES;
    assert_int_equal(http_new(l, &http), 0);
    assert_int_equal(http_start(http, r, on_answer, h, &t), 0);
    world_run_to_stop(l);
    assert_int_equal(h->times, 1);
}

static void asks_as_it_is_told(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT(FAKE_JSON("{}"));
    static const char binary[] = "a\0b";
    static const struct {
        struct http_request request;
        const char *line, *has, *lacks;
    } rows[] = {
        {{}, "GET /x HTTP/1.1\r\n", "\r\nAccept: application/json, */*\r\n", "Content-Type"},
        {{.path = "/v1?a=b"}, "GET /v1?a=b HTTP/1.1\r\n", "\r\nUser-Agent: coalmine/", "Authorization"},
        {{.body = "{}", .body_len = 2}, "POST /x HTTP/1.1\r\n",
         "\r\nContent-Type: application/json\r\n", "Expect"},
        {{.body = "{}", .body_len = 2, .method = "PATCH"}, "PATCH /x HTTP/1.1\r\n", "\r\n\r\n{}", NULL},
        {{.method = "DELETE"}, "DELETE /x HTTP/1.1\r\n", "\r\nHost: 127.0.0.1", NULL},
        {{.method = "GET"}, "GET /x HTTP/1.1\r\n", NULL, NULL},
        {{.bearer = "sesame"}, "GET /x HTTP/1.1\r\n", "\r\nAuthorization: Bearer sesame\r\n", NULL},
        {{.body = binary, .body_len = sizeof(binary)}, "POST /x HTTP/1.1\r\n",
         "\r\nContent-Length: 4\r\n", NULL},
    };
    struct fake_http *fake = fake_http_new(NULL, &script, 1);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_heard_ struct heard h = {};
        _cleanup_free_ char *request = NULL;
        struct http_request r = rows[i].request;

        r.base = fake_http_base(fake);
        ask(&r, &h);
        request = fake_http_request(fake);
        assert_row(request, str_after(request, rows[i].line) != NULL);
        assert_row(request, !rows[i].has || strstr(request, rows[i].has));
        assert_row(request, !rows[i].lacks || !strstr(request, rows[i].lacks));
        assert_int_equal(h.outcome, HTTP_COMPLETE);
        assert_int_equal(h.status, 200);
        assert_string_equal(h.body, "{}");
        assert_false(h.explained);
    }
    fake_http_free(fake);
}

static void headers_of_its_own(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT(FAKE_JSON("{}"));
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    struct http_request r = {
        .base = fake_http_base(fake),
        .body = "a=b",
        .body_len = 3,
        .headers = WORLD_VECTOR("X-Trace: 7", "content-type: text/plain"),
    };
    _cleanup_heard_ struct heard h = {};
    _cleanup_free_ char *request = NULL;

    ask(&r, &h);
    request = fake_http_request(fake);
    assert_non_null(strstr(request, "\r\nX-Trace: 7\r\n"));
    assert_non_null(strstr(request, "\r\ncontent-type: text/plain\r\n"));
    assert_null(strstr(request, "application/json\r\nContent"));
    assert_null(strstr(request, "Content-Type: application/json"));
    fake_http_free(fake);
}

static void over_a_unix_socket(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT(FAKE_JSON("{\"a\":1}"));
    char *dir = scratch_new();
    _cleanup_free_ char *path = str_format("%s/sock", dir), *request = NULL;
    struct fake_http *fake = fake_http_new(path, &script, 1);
    _cleanup_heard_ struct heard h = {};
    struct http_request r = {.base = fake_http_base(fake), .path = "/v1/models"};

    ask(&r, &h);
    request = fake_http_request(fake);
    assert_non_null(str_after(request, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"));
    assert_string_equal(h.body, "{\"a\":1}");
    fake_http_free(fake);
    scratch_remove(dir);
}

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

static void streams(void unused **state)
{
    static const struct fake_script script =
        FAKE_SCRIPT(FAKE_TEXT(HEAD), {FAKE_PAUSE, NULL, 60}, FAKE_TEXT("one"), {FAKE_PAUSE, NULL, 120},
                    FAKE_TEXT("two"));
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_heard_ struct heard h = {};
    struct http_request r = {.base = fake_http_base(fake), .chunk = on_piece};

    ask(&r, &h);
    assert_int_equal(h.outcome, HTTP_COMPLETE);
    assert_string_equal(h.pieces.data, "one|two|");
    assert_int_equal(h.body_len, 0);
    assert_true(h.arrivals[1] - h.arrivals[0] >= 100 * USEC_PER_MSEC);
    assert_true(h.total >= 170 * USEC_PER_MSEC);
    fake_http_free(fake);
}

static void pieces_decide(void unused **state)
{
    static const struct fake_script script =
        FAKE_SCRIPT(FAKE_TEXT(HEAD "one"), {FAKE_PAUSE, NULL, 100}, FAKE_TEXT("two"), {FAKE_HANG, NULL, 0});
    static const struct {
        enum http_want want;
        enum http_outcome outcome;
    } rows[] = {{HTTP_ENOUGH, HTTP_COMPLETE}, {HTTP_OVERFLOW, HTTP_TOO_LARGE}};
    struct fake_http *fake = fake_http_new(NULL, &script, 1);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_heard_ struct heard h = {.want = rows[i].want, .wanted = 2};
        _cleanup_free_ char *request = NULL, *closed = NULL;
        struct http_request r = {.base = fake_http_base(fake), .chunk = on_piece};

        ask(&r, &h);
        assert_int_equal(h.outcome, rows[i].outcome);
        assert_false(h.explained);
        assert_string_equal(h.pieces.data, "one|two|");
        request = fake_http_request(fake);
        closed = fake_http_request(fake);
        assert_string_equal(closed, "closed");
    }
    fake_http_free(fake);
}

/* What is no stream comes as a whole. */
static void refused_streams(void unused **state)
{
    static const struct fake_script script =
        FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n{\"error\":\"no\"}"));
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_heard_ struct heard h = {};
    struct http_request r = {.base = fake_http_base(fake), .chunk = on_piece};

    ask(&r, &h);
    assert_int_equal(h.status, 400);
    assert_string_equal(h.body, "{\"error\":\"no\"}");
    assert_int_equal(h.n_pieces, 0);
    fake_http_free(fake);
}

/* Whatever a server does ends, soon, as something that has a name. */
static void hostile_servers(void unused **state)
{
    static char junk[4096];
    static const struct {
        const char *name;
        struct fake_script script;
        bool streamed;
        usec_t timeout;
        enum http_outcome outcome;
    } rows[] = {
        {"closed at once", FAKE_SCRIPT({FAKE_PAUSE, NULL, 0}), false, 0, HTTP_RESET},
        {"reset", FAKE_SCRIPT({FAKE_RESET, NULL, 0}), false, 0, HTTP_RESET},
        {"reset within the body", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
                                              {FAKE_RESET, NULL, 0}), false, 0, HTTP_RESET},
        {"closed within the body", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")),
         false, 0, HTTP_RESET},
        {"closed within a chunk",
         FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab")), false, 0,
         HTTP_RESET},
        {"no HTTP", FAKE_SCRIPT(FAKE_TEXT("SSH-2.0-OpenSSH_9.2\r\n")), false, 0, HTTP_RESET},
        {"bytes", FAKE_SCRIPT(FAKE_BYTES(junk)), false, 0, HTTP_RESET},
        {"endless bytes", FAKE_SCRIPT({FAKE_FLOOD, junk, sizeof(junk)}), false, 0, HTTP_RESET},
        {"silence", FAKE_SCRIPT({FAKE_HANG, NULL, 0}), false, 300 * USEC_PER_MSEC, HTTP_TIMEOUT},
        {"silence after the headers", FAKE_SCRIPT(FAKE_TEXT(HEAD), {FAKE_HANG, NULL, 0}), false,
         300 * USEC_PER_MSEC, HTTP_TIMEOUT},
        {"silence within a stream", FAKE_SCRIPT(FAKE_TEXT(HEAD "a"), {FAKE_HANG, NULL, 0}), true,
         300 * USEC_PER_MSEC, HTTP_TIMEOUT},
        {"endless headers", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\n"), FAKE_FLOOD_OF("X-A: b\r\n")), false,
         0, HTTP_TOO_LARGE},
        {"an endless header", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nX: "), FAKE_FLOOD_OF("aaaaaaaa")),
         false, 0, HTTP_TOO_LARGE},
        {"endless interim answers", FAKE_SCRIPT(FAKE_FLOOD_OF("HTTP/1.1 100 Continue\r\n\r\n")), false, 0,
         HTTP_TOO_LARGE},
        {"an endless body", FAKE_SCRIPT(FAKE_TEXT(HEAD), {FAKE_FLOOD, junk, sizeof(junk)}), false, 0,
         HTTP_TOO_LARGE},
        {"a gigabyte announced",
         FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"),
                     {FAKE_FLOOD, junk, sizeof(junk)}), false, 0, HTTP_TOO_LARGE},
        {"endless chunks", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
                                       FAKE_FLOOD_OF("1\r\na\r\n")), false, 0, HTTP_TOO_LARGE},
        {"a huge chunk", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n"),
                                     {FAKE_FLOOD, junk, sizeof(junk)}), false, 0, HTTP_TOO_LARGE},
        {"an impossible chunk",
         FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n")),
         false, 0, HTTP_RESET},
        {"an endless extension of a chunk",
         FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"),
                     FAKE_FLOOD_OF("aaaaaaaa")), false, 500 * USEC_PER_MSEC, HTTP_TIMEOUT},
        {"endless trailers",
         FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"),
                     FAKE_FLOOD_OF("X-A: b\r\n")), false, 0, HTTP_TOO_LARGE},
        {"a redirect to itself", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 302 Found\r\nLocation: /x\r\n"
                                                       "Content-Length: 0\r\n\r\n")), false, 0, HTTP_COMPLETE},
        {"a redirect to a file", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 301 Moved\r\nLocation: file:///etc/passwd\r\n"
                                                       "Content-Length: 0\r\n\r\n")), false, 0, HTTP_COMPLETE},
        {"packed without being asked", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                                                             "Content-Length: 4\r\n\r\n\x1f\x8b\x08\x00")), false, 0,
         HTTP_COMPLETE},
        {"two lengths", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\na")),
         false, 5 * USEC_PER_SEC, HTTP_RESET},
        {"HTTP/0.9", FAKE_SCRIPT(FAKE_TEXT("{\"choices\":[]}")), false, 0, HTTP_RESET},
        {"another protocol's upgrade", FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"),
                                                   {FAKE_HANG, NULL, 0}), false, 500 * USEC_PER_MSEC, HTTP_TIMEOUT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_http *fake = fake_http_new(NULL, &rows[i].script, 1);
        usec_t before = world_now();
        _cleanup_heard_ struct heard h = {};
        struct http_request r = {
            .base = fake_http_base(fake),
            .timeout_usec = rows[i].timeout,
            .chunk = rows[i].streamed ? on_piece : NULL,
        };

        ask(&r, &h);
        if (h.outcome != rows[i].outcome)
            fail_msg("%s: outcome %d, status %ld", rows[i].name, (int) h.outcome, h.status);
        assert_row(rows[i].name, h.body_len <= MAX_BYTES);
        assert_row(rows[i].name, world_now() - before < 20 * USEC_PER_SEC);
        fake_http_free(fake);
    }
}

static void who_is_not_there(void unused **state)
{
    static const struct {
        const char *base;
        enum http_outcome outcome;
    } rows[] = {
        {"http://127.0.0.1:1", HTTP_REFUSED},
        {"http://nowhere.invalid:80", HTTP_UNREACHABLE},
        {"unix:/nonexistent/sock", HTTP_UNREACHABLE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_heard_ struct heard h = {};
        struct http_request r = {.base = rows[i].base};

        ask(&r, &h);
        assert_row(rows[i].base, h.outcome == rows[i].outcome);
        assert_true(h.explained);
        assert_int_equal(h.status, 0);
    }
}

static void tls_with_a_plain_server(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 400 Bad Request\r\n\r\n"));
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_free_ char *base = str_format("https%s", fake_http_base(fake) + strlen("http"));
    _cleanup_heard_ struct heard h = {};
    struct http_request r = {.base = base};

    ask(&r, &h);
    assert_int_equal(h.outcome, HTTP_TLS);
    assert_true(h.explained);
    fake_http_free(fake);
}

static void never_called(const struct http_answer *a unused, void *userdata)
{
    *(bool *) userdata = true;
}

/* The connection is closed, and nothing of it stays. */
static void cancelled_transfers(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT({FAKE_HANG, NULL, 0});
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_(loop_freep) struct loop *l = world_loop();
    _cleanup_(http_freep) struct http *http = NULL;
    _cleanup_free_ char *request = NULL, *closed = NULL;
    struct http_request r = {
        .base = fake_http_base(fake), .path = "/", .timeout_usec = USEC_PER_MINUTE, .max_bytes = MAX_BYTES};
    struct http_transfer *t = NULL;
    bool called = false;
    size_t fds;

    assert_int_equal(http_new(l, &http), 0);
    fds = world_count_fds();
    assert_int_equal(http_start(http, &r, never_called, &called, &t), 0);
    world_run_quietly(l, 200 * USEC_PER_MSEC);
    request = fake_http_request(fake);
    http_cancel(t);
    closed = fake_http_request(fake);
    assert_string_equal(closed, "closed");
    world_run_quietly(l, 50 * USEC_PER_MSEC);
    assert_false(called);
    assert_true(world_count_fds() <= fds + 2); /* the library's own */
    http_cancel(NULL);
    fake_http_free(fake);
}

/* Many at once, each with a connection of its own. */
static void many_transfers(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT({FAKE_PAUSE, NULL, 200}, FAKE_JSON("{}"));
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_(loop_freep) struct loop *l = world_loop();
    _cleanup_(http_freep) struct http *http = NULL;
    struct http_request r = {
        .base = fake_http_base(fake), .path = "/", .timeout_usec = USEC_PER_MINUTE, .max_bytes = MAX_BYTES};
    struct heard heard[32] = {};
    usec_t before = world_now();

    assert_int_equal(http_new(l, &http), 0);
    for (size_t i = 0; i < ARRAY_SIZE(heard); i++) {
        struct http_transfer *t = NULL;

        heard[i].loop = l;
        assert_int_equal(http_start(http, &r, on_answer, &heard[i], &t), 0);
    }
    for (size_t done = 0; done < ARRAY_SIZE(heard);) {
        world_run_to_stop(l);
        done = 0;
        for (size_t i = 0; i < ARRAY_SIZE(heard); i++)
            done += heard[i].times;
    }
    assert_true(world_now() - before < 5 * USEC_PER_SEC);
    for (size_t i = 0; i < ARRAY_SIZE(heard); i++) {
        assert_int_equal(heard[i].outcome, HTTP_COMPLETE);
        heard_release(&heard[i]);
    }
    fake_http_free(fake);
}

struct knocked {
    struct loop *loop;
    int error;
};

static void on_knock(int error, void *userdata)
{
    struct knocked *k = userdata;

    k->error = error;
    loop_stop(k->loop);
}

static int knock(const char *base, usec_t timeout)
{
    _cleanup_(loop_freep) struct loop *l = world_loop();
    _cleanup_(http_freep) struct http *http = NULL;
    struct knocked k = {.loop = l, .error = 1};
    struct http_knock *handle = NULL;

    assert_int_equal(http_new(l, &http), 0);
    assert_int_equal(http_knock(http, base, timeout, on_knock, &k, &handle), 0);
    world_run_to_stop(l);
    http_knock_free(handle);
    return k.error;
}

static void knocks(void unused **state)
{
    static const struct fake_script script = FAKE_SCRIPT({FAKE_HANG, NULL, 0});
    char *dir = scratch_new();
    _cleanup_free_ char *path = str_format("%s/sock", dir), *https = NULL;
    struct fake_http *fake = fake_http_new(NULL, &script, 1), *local = fake_http_new(path, &script, 1);

    https = str_format("https%s", fake_http_base(fake) + strlen("http"));
    assert_int_equal(knock(fake_http_base(fake), USEC_PER_SEC), 0);
    assert_int_equal(knock(https, USEC_PER_SEC), 0);
    assert_int_equal(knock(fake_http_base(local), USEC_PER_SEC), 0);
    assert_int_equal(knock("http://127.0.0.1:1", USEC_PER_SEC), -ECONNREFUSED);
    assert_true(knock("unix:/nonexistent/sock", USEC_PER_SEC) < 0);
    fake_http_free(fake);
    fake_http_free(local);
    scratch_remove(dir);
}

static void endpoints(void unused **state)
{
    static const struct {
        const char *url, *host;
        unsigned port;
    } rows[] = {
        {"http://127.0.0.1:30000", "127.0.0.1", 30000},
        {"https://gpu", "gpu", 443},
        {"http://[::1]:8000", "::1", 8000},
    };
    uint16_t port = 7;
    char *host = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(http_endpoint(rows[i].url, &host, &port), 0);
        assert_string_equal(host, rows[i].host);
        assert_int_equal(port, rows[i].port);
        free(host);
    }
    assert_int_equal(http_endpoint("unix:/run/x", &host, &port), -EINVAL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_as_it_is_told),
        cmocka_unit_test(headers_of_its_own),
        cmocka_unit_test(over_a_unix_socket),
        cmocka_unit_test(streams),
        cmocka_unit_test(pieces_decide),
        cmocka_unit_test(refused_streams),
        cmocka_unit_test(hostile_servers),
        cmocka_unit_test(who_is_not_there),
        cmocka_unit_test(tls_with_a_plain_server),
        cmocka_unit_test(cancelled_transfers),
        cmocka_unit_test(many_transfers),
        cmocka_unit_test(knocks),
        cmocka_unit_test(endpoints),
    };

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
