/* SPDX-License-Identifier: MIT */
#include "port/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/str.h"
#include "spin.h"
#include "unit.h"

#define LIFE (300 * USEC_PER_MSEC)

struct bench {
    struct loop *loop;
    struct http_server *server;
    uint16_t port;
    char *path; /* of the last request */
    size_t asked;
    bool poor; /* answers without a body */
};

static void on_request(const char *path, struct http_reply *reply, void *userdata)
{
    struct bench *b = userdata;

    b->asked++;
    assert_int_equal(str_replace(&b->path, path), 0);
    reply->status = str_equal(path, "/sad") ? 503 : 200;
    reply->type = "text/plain";
    reply->body = b->poor ? NULL : strdup("la la\n");
}

/* A port that was free a moment ago. */
static uint16_t free_port(int family)
{
    struct sockaddr_in6 address = { .sin6_family = (sa_family_t) family };
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof address;

    assert_int_equal(bind(fd, (struct sockaddr *) &address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &len), 0);
    close_fd(fd);
    return ntohs(address.sin6_port); /* where sin_port is, too */
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    _cleanup_free_ char *address = NULL;

    assert_non_null(b);
    assert_int_equal(loop_new(&b->loop), 0);
    b->port = free_port(AF_INET);
    address = str_format("127.0.0.1:%u", b->port);
    assert_int_equal(http_server_open(b->loop, address, LIFE, on_request, b, &b->server), 0);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    http_server_free(b->server);
    loop_free(b->loop);
    free(b->path);
    free(b);
    return 0;
}

/* A client is a socket and what has come out of it. */

struct client {
    int fd;
    struct strbuf answer;
    bool ended;
};

static struct client client_new(const struct bench *b)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(b->port) };
    struct client c = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(c.fd, (struct sockaddr *) &address, sizeof address), 0);
    return c;
}

static void client_say(const struct client *c, const char *text)
{
    assert_int_equal(send(c->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static bool client_ended(const void *data)
{
    struct client *c = (void *) (uintptr_t) data;
    char buf[4096];
    ssize_t n;

    while ((n = recv(c->fd, buf, sizeof buf, MSG_DONTWAIT)) > 0)
        strbuf_append_n(&c->answer, buf, (size_t) n);
    c->ended = n == 0 || (errno != EAGAIN && errno != EINTR);
    return c->ended;
}

static void client_release(struct client *c)
{
    close_fd(c->fd);
    strbuf_release(&c->answer);
}

/* What a request is answered with, until the server has closed. */
static char *ask(struct bench *b, const char *request)
{
    struct client c = client_new(b);
    char *answer;

    client_say(&c, request);
    assert_true(spin_until(b->loop, client_ended, &c, 5000));
    answer = strbuf_steal(&c.answer);
    client_release(&c);
    return answer;
}

/* Tests */

static void get_is_answered(void **state)
{
    struct bench *b = *state;
    _cleanup_free_ char *answer = ask(b, "GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\n\r\n");

    assert_non_null(str_after(answer, "HTTP/1.1 200 "));
    assert_non_null(strstr(answer, "Connection: close\r\n"));
    assert_non_null(strstr(answer, "Content-Type: text/plain\r\n"));
    assert_true(str_ends_with(answer, "\r\n\r\nla la\n"));
    assert_string_equal(b->path, "/a b");
}

static void status_is_the_handlers(void **state)
{
    _cleanup_free_ char *answer = ask(*state, "GET /sad HTTP/1.1\r\nHost: x\r\n\r\n");

    assert_non_null(str_after(answer, "HTTP/1.1 503 "));
}

static void head_has_no_body(void **state)
{
    _cleanup_free_ char *answer = ask(*state, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");

    assert_non_null(str_after(answer, "HTTP/1.1 200 "));
    assert_non_null(strstr(answer, "Content-Length: 6\r\n"));
    assert_true(str_ends_with(answer, "\r\n\r\n"));
}

static void one_request_a_connection(void **state)
{
    struct bench *b = *state;
    _cleanup_free_ char *answer =
        ask(b, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");

    assert_int_equal(b->asked, 1);
}

static void an_answer_without_memory_is_an_error(void **state)
{
    struct bench *b = *state;
    _cleanup_free_ char *answer = NULL;

    b->poor = true;
    answer = ask(b, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(str_after(answer, "HTTP/1.1 500 "));
}

static void other_methods_are_refused_without_reading(void **state)
{
    static const char *const requests[] = {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
        "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        _cleanup_free_ char *answer = ask(b, requests[i]);

        assert_row(requests[i], str_after(answer, "HTTP/1.1 405 ") != NULL);
        assert_row(requests[i], strstr(answer, "Allow: GET, HEAD\r\n") != NULL);
    }
    assert_int_equal(b->asked, 0);
}

static void garbage_does_no_harm(void **state)
{
    static const char *const requests[] = {
        "\x16\x03\x01\x02\x01 hello\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "\r\n\r\n\r\n\r\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        _cleanup_free_ char *answer = ask(*state, requests[i]);

        assert_row(requests[i], answer != NULL && strstr(answer, " 200 ") == NULL);
    }
}

static void endless_headers_are_cut_off(void **state)
{
    struct bench *b = *state;
    struct client c = client_new(b);
    char header[1024];
    size_t sent = 0;

    (void) memset(header, 'x', sizeof header);
    client_say(&c, "GET / HTTP/1.1\r\nHost: ");
    while (!spin_until(b->loop, client_ended, &c, 5) && sent < 1024 * 1024) {
        if (send(c.fd, header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
            sent += sizeof header;
    }
    assert_true(c.ended);
    assert_true(sent < 256 * 1024);
    assert_int_equal(b->asked, 0);
    client_release(&c);
}

static void a_slow_client_is_cut_off(void **state)
{
    struct bench *b = *state;
    struct client c = client_new(b);
    usec_t started = loop_now().monotonic;

    while (!spin_until(b->loop, client_ended, &c, 20)) {
        (void) send(c.fd, "G", 1, MSG_NOSIGNAL);
        assert_true(loop_now().monotonic < started + 10 * LIFE);
    }
    assert_true(loop_now().monotonic >= started + LIFE);
    client_release(&c);
}

static usec_t cpu_used(void)
{
    struct rusage u;

    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (usec_t) (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC +
           (usec_t) (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* More than there is room for, who say nothing: the next in line is answered when they have been ended, and
 * until then the loop sleeps. */
static void silent_crowds_pass(void **state)
{
    struct bench *b = *state;
    struct client crowd[HTTP_SERVER_CLIENTS + 8];
    _cleanup_free_ char *answer = NULL;
    usec_t used;

    for (size_t i = 0; i < ARRAY_SIZE(crowd); i++) {
        crowd[i] = client_new(b);
        spin_for(b->loop, 1);
    }
    used = cpu_used();
    spin_for(b->loop, LIFE / USEC_PER_MSEC / 2);
    assert_true(cpu_used() - used < LIFE / 4);
    answer = ask(b, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(str_after(answer, "HTTP/1.1 200 "));
    for (size_t i = 0; i < ARRAY_SIZE(crowd); i++)
        client_release(&crowd[i]);
}

static void a_client_may_leave(void **state)
{
    struct bench *b = *state;
    struct client c = client_new(b);

    client_say(&c, "GET / HTT");
    spin_for(b->loop, 20);
    client_release(&c);
    spin_for(b->loop, 20);
}

static void a_server_may_leave(void **state)
{
    struct bench *b = *state;
    struct client c = client_new(b);

    client_say(&c, "GET / HTT");
    spin_for(b->loop, 20);
    http_server_free(b->server);
    b->server = NULL;
    assert_true(spin_until(b->loop, client_ended, &c, 1000));
    client_release(&c);
}

static void a_taken_port_is_told(void **state)
{
    struct bench *b = *state;
    _cleanup_free_ char *address = str_format("127.0.0.1:%u", b->port);
    struct http_server *other;

    assert_int_equal(http_server_open(b->loop, address, LIFE, on_request, b, &other), -EADDRINUSE);
}

static void ipv6_works(void **state)
{
    struct bench *b = *state;
    struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct client c = { .fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    _cleanup_free_ char *address = NULL;
    struct http_server *server;

    if (c.fd < 0 || bind(c.fd, (struct sockaddr *) &to, sizeof to) < 0) {
        close_fd(c.fd);
        skip();
    }
    close_fd(c.fd);
    c.fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin6_port = htons(free_port(AF_INET6));
    address = str_format("[::1]:%u", ntohs(to.sin6_port));
    assert_int_equal(http_server_open(b->loop, address, LIFE, on_request, b, &server), 0);
    assert_int_equal(connect(c.fd, (struct sockaddr *) &to, sizeof to), 0);
    client_say(&c, "GET / HTTP/1.0\r\n\r\n");
    assert_true(spin_until(b->loop, client_ended, &c, 1000));
    assert_non_null(strstr(c.answer.data, " 200 "));
    client_release(&c);
    http_server_free(server);
}

static void addresses_must_be_some(void **state)
{
    static const char *const addresses[] = {
        "", ":", ":80", "80", "[]:80", "[::1]", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
        "localhost:80", "[127.0.0.1]:80", "::1:80", "[::1:80", "[",
        "127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1.127.0.0.1:80",
    };
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        struct http_server *server;

        assert_row(addresses[i],
                   http_server_open(b->loop, addresses[i], LIFE, on_request, b, &server) == -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(get_is_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(status_is_the_handlers, setup, teardown),
        cmocka_unit_test_setup_teardown(head_has_no_body, setup, teardown),
        cmocka_unit_test_setup_teardown(one_request_a_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_without_memory_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(other_methods_are_refused_without_reading, setup, teardown),
        cmocka_unit_test_setup_teardown(garbage_does_no_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(endless_headers_are_cut_off, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_client_is_cut_off, setup, teardown),
        cmocka_unit_test_setup_teardown(silent_crowds_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_may_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_may_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(a_taken_port_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(ipv6_works, setup, teardown),
        cmocka_unit_test_setup_teardown(addresses_must_be_some, setup, teardown),
    };

    (void) signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
