/* SPDX-License-Identifier: MIT */
#include "port/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/str.h"
#include "chaos.h"
#include "fake_http.h"
#include "spin.h"
#include "world.h"

/* What a transfer must not do: take longer than it may, block, or come back from within. */

#define MAX_BYTES ((size_t) 64 * 1024)
#define ANSWER FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

static int lookups;

/* In the place of the C library's: this name's server does not answer. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
    (void) name;
    (void) service;
    (void) hints;
    (void) ret;
    lookups++;
    (void) usleep(3000000);
    return EAI_AGAIN;
}

struct bench {
    struct loop *loop;
    struct http *http;
    struct http_transfer *transfer;
    struct http_transfer *other; /* to be cancelled by the first answer */
    enum http_outcome outcome;
    long status;
    usec_t total;
    int answers;
    int knock;
    const struct fake_http *fake;
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->loop = world_loop();
    assert_int_equal(http_new(b->loop, &b->http), 0);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    http_free(b->http);
    loop_free(b->loop);
    free(b);
    return 0;
}

static void on_answer(const struct http_answer *a, void *userdata)
{
    struct bench *b = userdata;

    b->answers++;
    b->outcome = a->outcome;
    b->status = a->status;
    b->total = a->total_usec;
    b->transfer = NULL;
    loop_stop(b->loop);
    http_cancel(b->other);
    b->other = NULL;
}

static bool has_answer(const void *data)
{
    return ((const struct bench *) data)->answers > 0;
}

static int start(struct bench *b, const char *base, usec_t timeout)
{
    struct http_request r = {.base = base, .path = "/", .timeout_usec = timeout, .max_bytes = MAX_BYTES};

    b->answers = 0;
    return http_start(b->http, &r, on_answer, b, &b->transfer);
}

/* Returns how long it took. */
static usec_t ask(struct bench *b, const char *base, usec_t timeout)
{
    usec_t begin = world_now();

    assert_int_equal(start(b, base, timeout), 0);
    assert_int_equal(b->answers, 0);
    assert_true(spin_until(b->loop, has_answer, b, 60000));
    assert_int_equal(b->answers, 1);
    return world_now() - begin;
}

static void assert_about(usec_t took, usec_t expected)
{
    assert_true(took >= expected);
    assert_true(took < expected + 500 * USEC_PER_MSEC); /* a loaded machine */
}

static void the_time_out_is_kept(void **state)
{
#define DRIP FAKE_TEXT("x"), {FAKE_PAUSE, NULL, 150}
    static const struct fake_script scripts[] = {
        FAKE_SCRIPT({FAKE_HANG, NULL, 0}),
        FAKE_SCRIPT(FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), DRIP, DRIP, DRIP, {FAKE_HANG, NULL, 0}),
    };
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        struct fake_http *fake = fake_http_new(NULL, &scripts[i], 1);

        assert_about(ask(b, fake_http_base(fake), 400300), 400300);
        assert_int_equal(b->outcome, HTTP_TIMEOUT);
        assert_about(b->total, 400300);
        fake_http_free(fake);
    }
}

static void any_time_out_is_possible(void **state)
{
    static const usec_t spans[] = {USEC_INFINITY, USEC_INFINITY - 1, 60 * USEC_PER_DAY,
                                   ((UINT64_C(1) << 32) + 1) * USEC_PER_MSEC};
    static const struct fake_script script = FAKE_SCRIPT({FAKE_PAUSE, NULL, 50}, ANSWER);
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
        (void) ask(b, fake_http_base(fake), spans[i]);
        assert_int_equal(b->outcome, HTTP_COMPLETE);
        assert_int_equal(b->status, 200);
    }
    (void) ask(b, fake_http_base(fake), 0);
    assert_int_equal(b->outcome, HTTP_TIMEOUT);
    fake_http_free(fake);
}

/* A socket of `family` on the loopback, listening or not; its address for URLs in `authority`. */
static int bind_local(int family, int backlog, char authority[64], uint16_t *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *address = family == AF_INET6 ? (struct sockaddr *) &six : (struct sockaddr *) &four;
    socklen_t size = family == AF_INET6 ? sizeof(six) : sizeof(four);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, address, size) < 0 || listen(fd, backlog) < 0)
        return close_fd(fd);
    assert_int_equal(getsockname(fd, address, &size), 0);
    *port = ntohs(family == AF_INET6 ? six.sin6_port : four.sin_port);
    (void) snprintf(authority, 64, family == AF_INET6 ? "http://[::1]:%u" : "http://127.0.0.1:%u", *port);
    return fd;
}

static void on_knock(int error, void *userdata)
{
    struct bench *b = userdata;

    b->answers++;
    b->knock = error;
}

/* Nobody takes the connections that wait, and the kernel drops more of them. */
static void a_full_backlog(void **state)
{
    struct bench *b = *state;
    struct http_knock *knock;
    char base[64];
    uint16_t port;
    int listener = bind_local(AF_INET, 0, base, &port), waiting[8];

    for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
        struct sockaddr_in to = {
            .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};

        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void) !connect(waiting[i], (struct sockaddr *) &to, sizeof(to));
    }
    assert_about(ask(b, base, 300 * USEC_PER_MSEC), 300 * USEC_PER_MSEC);
    assert_int_equal(b->outcome, HTTP_TIMEOUT);
    b->answers = 0;
    assert_int_equal(http_knock(b->http, base, 200 * USEC_PER_MSEC, on_knock, b, &knock), 0);
    assert_true(spin_until(b->loop, has_answer, b, 60000));
    assert_int_equal(b->knock, -ETIMEDOUT);
    http_knock_free(knock);
    for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
        close_fd(waiting[i]);
    close_fd(listener);
}

static void a_key_is_no_header(void **state)
{
    static const char *const wrong[] = {"a\r\nX: y", "a\n", "\r", "a\x01", "\x7f"};
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *headers[] = {(char *) (uintptr_t) wrong[i], NULL};
        struct http_request r = {.base = "http://127.0.0.1:1", .path = "/", .timeout_usec = USEC_PER_SEC};

        r.bearer = wrong[i];
        assert_row(wrong[i], http_start(b->http, &r, on_answer, b, &b->transfer) == -EINVAL);
        r.bearer = NULL;
        r.headers = headers;
        assert_row(wrong[i], http_start(b->http, &r, on_answer, b, &b->transfer) == -EINVAL);
        assert_null(b->transfer);
    }
}

static void names_are_looked_up_only_when_they_are_names(void **state)
{
    static const struct fake_script script = FAKE_SCRIPT(ANSWER);
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    _cleanup_free_ char *local = str_format("http://localhost:%s", strrchr(fake_http_base(fake), ':') + 1);
    struct bench *b = *state;

    lookups = 0;
    (void) ask(b, fake_http_base(fake), USEC_PER_MINUTE);
    assert_int_equal(b->outcome, HTTP_COMPLETE);
    (void) ask(b, local, USEC_PER_MINUTE);
    assert_int_equal(b->outcome, HTTP_COMPLETE);
    assert_int_equal(lookups, 0);
    assert_about(ask(b, "http://slow.example:80", 300 * USEC_PER_MSEC), 300 * USEC_PER_MSEC);
    assert_int_equal(b->outcome, HTTP_TIMEOUT);
    assert_int_equal(lookups, 1);
    fake_http_free(fake);
}

/* The thread that waits for the name's server is left to itself. */
static void a_slow_lookup_holds_up_nothing(void **state)
{
    struct bench *b = *state;
    struct http *http;
    struct http_knock *knock;
    usec_t begin = world_now();

    assert_int_equal(start(b, "http://slow.example:80", USEC_PER_MINUTE), 0);
    spin_for(b->loop, 50);
    http_cancel(b->transfer);
    assert_int_equal(http_knock(b->http, "https://slow.example", USEC_PER_MINUTE, on_knock, b, &knock), 0);
    spin_for(b->loop, 50);
    http_knock_free(knock);
    http = b->http;
    b->http = NULL;
    http_free(http);
    assert_about(world_now() - begin, 100 * USEC_PER_MSEC);
    assert_int_equal(b->answers, 0);
}

/* "localhost" is what the server has of it: ::1, 127.0.0.1 or both. */
static void localhost_is_either(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        char base[64], local[64];
        struct http_knock *knock;
        uint16_t port;
        int listener = bind_local(families[i], 8, base, &port);

        if (listener < 0) {
            print_message("no IPv%d here\n", families[i] == AF_INET ? 4 : 6);
            continue;
        }
        (void) snprintf(local, sizeof(local), "http://localhost:%u", port);
        for (int n = 0; n < 2; n++) {
            b->answers = 0;
            assert_int_equal(http_knock(b->http, n ? local : base, USEC_PER_MINUTE, on_knock, b, &knock), 0);
            assert_int_equal(b->answers, 0);
            assert_true(spin_until(b->loop, has_answer, b, 60000));
            assert_int_equal(b->knock, 0);
            http_knock_free(knock);
        }
        close_fd(listener);
        b->answers = 0;
        assert_int_equal(http_knock(b->http, local, USEC_PER_MINUTE, on_knock, b, &knock), 0);
        assert_true(spin_until(b->loop, has_answer, b, 60000));
        assert_int_equal(b->knock, -ECONNREFUSED);
        http_knock_free(knock);
    }
}

/* Two transfers have ended in one turn; the first that is told cancels the other. */
static void an_answer_may_cancel_another(void **state)
{
    static const struct fake_script script = FAKE_SCRIPT(ANSWER);
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    struct bench *b = *state;
    struct bench second = {.loop = b->loop, .http = b->http};

    assert_int_equal(start(b, fake_http_base(fake), USEC_PER_MINUTE), 0);
    assert_int_equal(start(&second, fake_http_base(fake), USEC_PER_MINUTE), 0);
    b->other = second.transfer;
    second.other = b->transfer;
    while (b->answers + second.answers == 0) {
        spin_for(b->loop, 1);
        (void) usleep(20000);
    }
    spin_for(b->loop, 50);
    assert_int_equal(b->answers + second.answers, 1);
    fake_http_free(fake);
}

/* A server that goes away while TLS is agreed on has not refused TLS. */
static void tls_that_breaks_off(void **state)
{
    static const struct fake_script scripts[] = {
        FAKE_SCRIPT({FAKE_PAUSE, NULL, 0}),
        FAKE_SCRIPT({FAKE_RESET, NULL, 0}),
    };
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        struct fake_http *fake = fake_http_new(NULL, &scripts[i], 1);
        _cleanup_free_ char *base = str_format("https%s", fake_http_base(fake) + strlen("http"));

        (void) ask(b, base, USEC_PER_MINUTE);
        assert_int_equal(b->outcome, HTTP_RESET);
        fake_http_free(fake);
    }
}

static void what_is_no_address(void **state)
{
    static const char *const wrong[] = {
        "ftp://127.0.0.1:1", "file:///etc/passwd", "gopher://127.0.0.1:1", "http://", "http://a b",
        "http://127.0.0.1:99999", "http://[::1", "", "http://x\ny",
    };
    struct bench *b = *state;
    struct http_knock *knock = NULL;
    char *host = NULL;
    uint16_t port = 7;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        (void) ask(b, wrong[i], USEC_PER_MINUTE);
        assert_row(wrong[i], b->outcome == HTTP_UNREACHABLE);
        assert_row(wrong[i], http_endpoint(wrong[i], &host, &port) == -EINVAL);
        assert_row(wrong[i], http_knock(b->http, wrong[i], USEC_PER_SEC, on_knock, b, &knock) == -EINVAL);
    }
    assert_int_equal(http_endpoint("127.0.0.1:1", &host, &port), -EINVAL);
    assert_null(host);
    assert_null(knock);
    assert_int_equal(port, 7);
}

static void count_turn(void *userdata)
{
    int *turns = userdata;

    ++*turns;
}

static void stop_loop(void *userdata)
{
    loop_stop(userdata);
}

static void rest_is_rest(void **state)
{
    static const struct fake_script script = FAKE_SCRIPT(ANSWER);
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    struct bench *b = *state;
    struct loop_timer *timer;
    size_t fds = world_count_fds();
    int turns = 0;

    for (int i = 0; i < 20; i++)
        (void) ask(b, fake_http_base(fake), USEC_PER_MINUTE);
    assert_int_equal(world_count_fds(), fds);
    spin_for(b->loop, 20);
    loop_set_turn(b->loop, count_turn, &turns);
    assert_int_equal(loop_timer_new(b->loop, stop_loop, b->loop, &timer), 0);
    loop_timer_set(timer, usec_add(world_now(), 700 * USEC_PER_MSEC));
    loop_run(b->loop);
    loop_timer_free(timer);
    loop_set_turn(b->loop, NULL, NULL);
    assert_true(turns <= 3);
    fake_http_free(fake);
}

static int ask_once(struct bench *b)
{
    int r = start(b, fake_http_base(b->fake), 300 * USEC_PER_MSEC);

    if (r < 0)
        return r;
    while (b->answers == 0)
        loop_run(b->loop);
    if (b->outcome == HTTP_COMPLETE)
        return 0;
    assert_int_equal(b->outcome, HTTP_UNREACHABLE);
    return -ENOMEM;
}

static void memory_may_run_out(void **state)
{
    static const struct fake_script script = FAKE_SCRIPT(ANSWER);
    struct fake_http *fake = fake_http_new(NULL, &script, 1);
    struct bench *b = *state;
    unsigned long nth = 0, failed = 0;
    bool reached;

    b->fake = fake;
    do {
        int r;

        chaos_arm(++nth);
        r = ask_once(b);
        reached = chaos_disarm();
        assert_true(r == 0 || (reached && r == -ENOMEM)); /* a descriptor is watched at the second attempt */
        failed += r < 0;
    } while (reached);
    assert_true(failed >= 3);
    fake_http_free(fake);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_time_out_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(any_time_out_is_possible, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_backlog, setup, teardown),
        cmocka_unit_test_setup_teardown(a_key_is_no_header, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_looked_up_only_when_they_are_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_lookup_holds_up_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(localhost_is_either, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_may_cancel_another, setup, teardown),
        cmocka_unit_test_setup_teardown(tls_that_breaks_off, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_address, setup, teardown),
        cmocka_unit_test_setup_teardown(rest_is_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
    };

    (void) signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
