/* SPDX-License-Identifier: MIT */
#include "port/bus.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/str.h"
#include "chaos.h"
#include "scratch.h"
#include "spin.h"
#include "world.h"

#define NAME "org.coalmine1.test"
#define PATH "/org/coalmine1"
#define PATIENCE_MSEC 60000

static const char configuration[] =
    "<busconfig><type>session</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>"
    "<policy context=\"default\"><allow send_destination=\"*\"/><allow receive_sender=\"*\"/>"
    "<allow own=\"*\"/></policy></busconfig>\n";

/* A bus daemon of our own, one connection that serves and one that asks. */
struct bench {
    char *dir;
    pid_t daemon;
    struct loop *loop;
    struct bus *server;
    struct bus *client;
    int lost;
    int lost_error;
    bool free_when_lost;
    bool reopen_when_lost;
    int replies;
    int reply_error;
    int signals;
    size_t calls;
};

static void on_lost(int error, void *userdata)
{
    struct bench *b = userdata;

    b->lost++;
    b->lost_error = error;
    if (b->free_when_lost) {
        bus_free(b->client);
        b->client = NULL;
    }
    if (b->reopen_when_lost)
        assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->client), 0);
}

static bool is_lost(const void *data)
{
    return ((const struct bench *) data)->lost > 0;
}

static bool has_reply(const void *data)
{
    return ((const struct bench *) data)->replies > 0;
}

static void use_address(const struct bench *b)
{
    _cleanup_free_ char *address = str_format("unix:path=%s/bus", b->dir);

    assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1), 0);
    assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", address, 1), 0);
}

static void start_daemon(struct bench *b)
{
    _cleanup_free_ char *text = str_format(configuration, b->dir), *file = str_format("%s/config", b->dir);
    _cleanup_free_ char *option = str_format("--config-file=%s", file), *socket = str_format("%s/bus", b->dir);
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    (void) unlink(socket);
    b->daemon = fork();
    if (b->daemon == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) !freopen("/dev/null", "w", stderr);
        (void) execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nopidfile", option, (char *) NULL);
        _exit(127);
    }
    for (int i = 0; i < 4000 && access(socket, F_OK) < 0; i++)
        assert_int_equal(usleep(5000), 0);
    assert_int_equal(access(socket, F_OK), 0);
    assert_int_equal(usleep(100000), 0); /* between bind(2) and listen(2) it refuses */
}

static void stop_daemon(struct bench *b)
{
    if (b->daemon <= 0)
        return;
    assert_int_equal(kill(b->daemon, SIGKILL), 0);
    assert_int_equal(waitpid(b->daemon, NULL, 0), b->daemon);
    b->daemon = 0;
}

static int setup_alone(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->dir = scratch_new();
    b->loop = world_loop();
    use_address(b);
    *state = b;
    return 0;
}

static int setup(void **state)
{
    struct bench *b;

    if (system("command -v dbus-daemon >/dev/null") != 0) {
        print_message("there is no dbus-daemon\n");
        skip();
    }
    assert_int_equal(setup_alone(state), 0);
    b = *state;
    start_daemon(b);
    assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->server), 0);
    assert_int_equal(bus_open(b->loop, true, on_lost, b, &b->client), 0);
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    if (!b)
        return 0;
    bus_free(b->client);
    bus_free(b->server);
    stop_daemon(b);
    loop_free(b->loop);
    scratch_remove(b->dir);
    free(b);
    return 0;
}

static int on_echo(sd_bus_message *m, void *userdata, sd_bus_error *error unused)
{
    struct bench *b = userdata;
    const char *text;
    int r = sd_bus_message_read(m, "s", &text);

    b->calls++;
    return r < 0 ? r : sd_bus_reply_method_return(m, "s", text);
}

/* Answers never. */
static int on_hang(sd_bus_message *m unused, void *userdata, sd_bus_error *error unused)
{
    struct bench *b = userdata;

    b->calls++;
    return 1;
}

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Echo", "s", "s", on_echo, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Hang", "", "", on_hang, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error unused)
{
    struct bench *b = userdata;

    b->replies++;
    b->reply_error = sd_bus_message_get_errno(m);
    return 0;
}

/* Calls are made outside of callbacks here, as the daemon makes them. */
static void serve(struct bench *b)
{
    sd_bus *bus = bus_get(b->server);

    assert_true(sd_bus_add_object_vtable(bus, NULL, PATH, NAME, vtable, b) >= 0);
    assert_true(sd_bus_request_name_async(bus, NULL, NAME, 0, on_reply, b) >= 0);
    bus_flush(b->server);
    assert_true(spin_until(b->loop, has_reply, b, PATIENCE_MSEC));
    assert_int_equal(b->reply_error, 0);
    b->replies = 0;
    spin_for(b->loop, 50); /* until both are at rest */
}

static void call(struct bench *b, const char *method, const char *text, uint64_t timeout_usec)
{
    sd_bus_message *m = NULL;
    sd_bus *bus = bus_get(b->client);

    assert_true(sd_bus_message_new_method_call(bus, &m, NAME, PATH, NAME, method) >= 0);
    if (text)
        assert_true(sd_bus_message_append(m, "s", text) >= 0);
    assert_true(sd_bus_call_async(bus, NULL, m, on_reply, b, timeout_usec) >= 0);
    sd_bus_message_unref(m);
    bus_flush(b->client);
}

static void assert_answered(struct bench *b)
{
    assert_true(spin_until(b->loop, has_reply, b, PATIENCE_MSEC));
    assert_int_equal(b->reply_error, 0);
    b->replies = 0;
}

static void calls_are_answered(void **state)
{
    struct bench *b = *state;

    serve(b);
    for (int i = 0; i < 20; i++) {
        call(b, "Echo", "hello", 0);
        assert_answered(b);
    }
    assert_int_equal(b->calls, 20);
    assert_int_equal(b->lost, 0);
}

/* More than the socket takes at once: the rest waits for the socket, not for the next call. */
static void a_large_message_gets_through(void **state)
{
    struct bench *b = *state;
    size_t len = 20000000;
    char *text = malloc(len + 1);

    assert_non_null(text);
    memset(text, 'x', len);
    text[len] = '\0';
    serve(b);
    assert_int_equal(kill(b->daemon, SIGSTOP), 0);
    call(b, "Echo", text, 60 * USEC_PER_SEC);
    free(text);
    spin_for(b->loop, 50);
    assert_int_equal(kill(b->daemon, SIGCONT), 0);
    assert_answered(b);
    assert_int_equal(b->calls, 1);
}

/* Nothing comes in and nothing goes out: only the library's own time-out ends it. */
static void a_call_times_out(void **state)
{
    struct bench *b = *state;
    usec_t begin;

    serve(b);
    begin = world_now();
    call(b, "Hang", NULL, 300 * USEC_PER_MSEC);
    assert_true(spin_until(b->loop, has_reply, b, PATIENCE_MSEC));
    assert_int_equal(b->calls, 1);
    assert_int_equal(b->reply_error, ETIMEDOUT);
    assert_true(world_now() - begin >= 300 * USEC_PER_MSEC);
    assert_true(world_now() - begin < 2 * USEC_PER_SEC);
}

static int on_signal(sd_bus_message *m unused, void *userdata, sd_bus_error *error unused)
{
    struct bench *b = userdata;

    b->signals++;
    return 0;
}

struct progress {
    const struct bench *bench;
    int signals;
};

static void note_progress(void *userdata)
{
    struct progress *p = userdata;

    p->signals = p->bench->signals;
}

/* A flood of messages leaves the loop alive. */
static void a_flood_is_taken_in_turns(void **state)
{
    struct bench *b = *state;
    struct progress progress = {.bench = b, .signals = -1};
    struct loop_timer *timer;

    assert_true(sd_bus_match_signal_async(bus_get(b->client), NULL, NULL, PATH, NAME, "Tick", on_signal, NULL,
                                          b) >= 0);
    serve(b);
    for (int i = 0; i < 2000; i++)
        assert_true(sd_bus_emit_signal(bus_get(b->server), PATH, NAME, "Tick", "u", (uint32_t) i) >= 0);
    bus_flush(b->server);
    /* What the sockets hold of it has arrived before the client looks. */
    assert_int_equal(usleep(300000), 0);
    assert_int_equal(loop_timer_new(b->loop, note_progress, &progress, &timer), 0);
    loop_timer_set(timer, 0);
    for (int i = 0; i < 400 && b->signals < 2000; i++)
        spin_for(b->loop, 50);
    loop_timer_free(timer);
    assert_int_equal(b->signals, 2000);
    assert_in_range(progress.signals, 0, 128);
}

static void a_lost_bus_is_told_once(void **state)
{
    struct bench *b = *state;
    size_t fds;

    serve(b);
    bus_free(b->server);
    b->server = NULL;
    fds = world_count_fds();
    b->free_when_lost = true;
    stop_daemon(b);
    assert_true(spin_until(b->loop, is_lost, b, PATIENCE_MSEC));
    assert_true(b->lost_error < 0);
    assert_null(b->client);
    assert_int_equal(world_count_fds(), fds - 1);
    spin_for(b->loop, 100);
    assert_int_equal(b->lost, 1);
}

/* It is the caller's to free it, now or later; until then it is silent. */
static void a_lost_bus_may_be_kept(void **state)
{
    struct bench *b = *state;

    serve(b);
    bus_free(b->server);
    b->server = NULL;
    stop_daemon(b);
    assert_true(spin_until(b->loop, is_lost, b, PATIENCE_MSEC));
    (void) sd_bus_emit_signal(bus_get(b->client), PATH, NAME, "Tick", "u", 1);
    bus_flush(b->client);
    spin_for(b->loop, 100);
    assert_int_equal(b->lost, 1);

    start_daemon(b);
    bus_free(b->client);
    b->client = NULL;
    assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->client), 0);
    assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->server), 0);
    serve(b);
    call(b, "Echo", "again", 0);
    assert_answered(b);
}

static void no_bus_is_an_error_at_once(void **state)
{
    struct bench *b = *state;

    assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->client), -ENOENT);
    assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "nonsense", 1), 0);
    assert_true(bus_open(b->loop, true, on_lost, b, &b->client) < 0);
    assert_null(b->client);
    spin_for(b->loop, 20);
    assert_int_equal(b->lost, 0);
}

/* A process that takes one connection, says something and holds it, or closes it. */
static pid_t start_impostor(struct bench *b, const char *text, size_t len, bool hold)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t pid;

    (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", b->dir);
    (void) unlink(address.sun_path);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    pid = fork();
    if (pid == 0) {
        int client;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        client = accept(fd, NULL, NULL);
        (void) !write(client, text, len);
        if (hold)
            (void) pause();
        _exit(0);
    }
    close_fd(fd);
    return pid;
}

static void end_impostor(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_is_no_bus_is_lost(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {
        {"", 0},
        {"REJECTED EXTERNAL\r\n", 19},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", 28},
        {"\0\0\0\0\0\0\0\0", 8},
        {"DATA\r\nOK zz\r\n", 13},
    };
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        pid_t pid = start_impostor(b, rows[i].text, rows[i].len, false);

        b->lost = 0;
        assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->client), 0);
        assert_int_equal(b->lost, 0);
        assert_true(spin_until(b->loop, is_lost, b, PATIENCE_MSEC));
        assert_true(b->lost_error < 0);
        bus_free(b->client);
        b->client = NULL;
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
}

/* The new connection may well have the number of the old one's descriptor. */
static void a_bus_may_be_opened_by_the_loss_of_another(void **state)
{
    struct bench *b = *state;
    pid_t first = start_impostor(b, "", 0, true), second;

    assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->client), 0);
    spin_for(b->loop, 20);
    second = start_impostor(b, "", 0, true);
    b->free_when_lost = b->reopen_when_lost = true;
    end_impostor(first);
    assert_true(spin_until(b->loop, is_lost, b, PATIENCE_MSEC));
    assert_non_null(b->client);
    spin_for(b->loop, 20);
    assert_int_equal(b->lost, 1);

    b->lost = 0;
    b->reopen_when_lost = false;
    end_impostor(second);
    assert_true(spin_until(b->loop, is_lost, b, PATIENCE_MSEC));
    assert_null(b->client);
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

static int turns_at_rest(struct bench *b)
{
    struct loop_timer *timer;
    int turns = 0;

    loop_set_turn(b->loop, count_turn, &turns);
    assert_int_equal(loop_timer_new(b->loop, stop_loop, b->loop, &timer), 0);
    loop_timer_set(timer, usec_add(world_now(), 500 * USEC_PER_MSEC));
    loop_run(b->loop);
    loop_timer_free(timer);
    loop_set_turn(b->loop, NULL, NULL);
    return turns;
}

/* A daemon that takes the connection and says nothing is waited for, by nobody but the loop. */
static void a_silent_daemon_is_waited_for_in_peace(void **state)
{
    struct bench *b = *state;
    pid_t pid = start_impostor(b, "", 0, true);
    usec_t begin = world_now();

    assert_int_equal(bus_open(b->loop, false, on_lost, b, &b->client), 0);
    assert_true(sd_bus_request_name_async(bus_get(b->client), NULL, NAME, 0, on_reply, b) >= 0);
    bus_flush(b->client);
    assert_true(world_now() - begin < 500 * USEC_PER_MSEC);
    spin_for(b->loop, 50);
    assert_true(turns_at_rest(b) <= 3);
    assert_int_equal(b->lost + b->replies, 0);
    bus_free(b->client);
    b->client = NULL;
    end_impostor(pid);
}

static void rest_is_rest(void **state)
{
    struct bench *b = *state;

    serve(b);
    call(b, "Echo", "hello", 0);
    assert_answered(b);
    spin_for(b->loop, 50);
    assert_true(turns_at_rest(b) <= 3);
}

static void names_are_bus_names(void **state unused)
{
    static const struct {
        const char *instance, *name;
    } rows[] = {
        {"k26", "org.coalmine1.k26"},
        {"Kimi-K2", "org.coalmine1.Kimi-K2"},
        {"2b", "org.coalmine1._32b"},
        {"b2", "org.coalmine1.b2"},
        {"a_b", "org.coalmine1.a_5fb"},
        {"a.b@c:d", "org.coalmine1.a_2eb_40c_3ad"},
        {"\xc3\xa9", "org.coalmine1._c3_a9"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *name = bus_name_of(rows[i].instance);

        assert_string_equal(name, rows[i].name);
        assert_true(sd_bus_service_name_is_valid(name) > 0);
    }
}

static int open_once(void *data)
{
    struct bench *b = data;
    _cleanup_(bus_freep) struct bus *bus = NULL;
    _cleanup_free_ char *name = bus_name_of("a.b");

    return name ? bus_open(b->loop, false, on_lost, b, &bus) : -ENOMEM;
}

static void memory_may_run_out(void **state)
{
    struct bench *b = *state;

    assert_true(chaos_each(open_once, b) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_are_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_message_gets_through, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_times_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_flood_is_taken_in_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_bus_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_bus_may_be_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(rest_is_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
        cmocka_unit_test_setup_teardown(no_bus_is_an_error_at_once, setup_alone, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_bus_is_lost, setup_alone, teardown),
        cmocka_unit_test_setup_teardown(a_bus_may_be_opened_by_the_loss_of_another, setup_alone, teardown),
        cmocka_unit_test_setup_teardown(a_silent_daemon_is_waited_for_in_peace, setup_alone, teardown),
        cmocka_unit_test(names_are_bus_names),
    };

    (void) signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
