/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "chaos.h"
#include "port/notify.h"

struct listener {
    int fd;
    char directory[32];
    char path[sizeof(((struct sockaddr_un *) NULL)->sun_path) + 1];
};

static int no_service_manager(void **state)
{
    (void) unsetenv("NOTIFY_SOCKET");
    (void) unsetenv("WATCHDOG_USEC");
    (void) unsetenv("WATCHDOG_PID");
    *state = NULL;
    return 0;
}

static void bind_to(struct listener *l, const struct sockaddr_un *address, size_t length)
{
    l->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(l->fd >= 0);
    assert_int_equal(bind(l->fd, (const struct sockaddr *) address, (socklen_t) length), 0);
}

static void listen_on_path(struct listener *l)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void) snprintf(l->directory, sizeof(l->directory), "/tmp/coalmine-XXXXXX");
    assert_non_null(mkdtemp(l->directory));
    (void) snprintf(l->path, sizeof(l->path), "%s/notify", l->directory);
    (void) snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", l->path);
    bind_to(l, &address, sizeof(address));
    assert_int_equal(setenv("NOTIFY_SOCKET", l->path, 1), 0);
}

static void stop_listening(struct listener *l)
{
    close_fd(l->fd);
    (void) unlink(l->path);
    (void) rmdir(l->directory);
}

static void assert_received(struct listener *l, const char *expected)
{
    char message[8192];
    ssize_t n = recv(l->fd, message, sizeof(message) - 1, 0);

    assert_true(n >= 0);
    message[n] = '\0';
    assert_string_equal(message, expected);
}

static void nobody_listens(void unused **state)
{
    assert_false(notify_wanted());
    assert_int_equal(notify_send("READY=1"), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", "", 1), 0);
    assert_false(notify_wanted());
    assert_int_equal(notify_send("READY=1"), 0);
}

static void messages_arrive(void unused **state)
{
    struct listener l = {};
    char status[4001];

    listen_on_path(&l);
    assert_true(notify_wanted());
    assert_int_equal(notify_send("READY=1\nSTATUS=%s, attempt %d", "ready", 3), 0);
    assert_received(&l, "READY=1\nSTATUS=ready, attempt 3");
    assert_int_equal(notify_send("%s", ""), 0);
    assert_received(&l, "");
    memset(status, 'x', sizeof(status) - 1);
    status[sizeof(status) - 1] = '\0';
    assert_int_equal(notify_send("%s", status), 0);
    assert_received(&l, status);
    stop_listening(&l);
}

static void abstract_socket(void unused **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct listener l = {};
    int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "coalmine-test-%d",
                     (int) getpid());

    bind_to(&l, &address, offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) n);
    (void) snprintf(l.path, sizeof(l.path), "@%s", address.sun_path + 1);
    assert_int_equal(setenv("NOTIFY_SOCKET", l.path, 1), 0);
    assert_int_equal(notify_send("WATCHDOG=1"), 0);
    assert_received(&l, "WATCHDOG=1");
    close_fd(l.fd);
}

static void lost_listener_is_an_error(void unused **state)
{
    struct listener l = {};

    listen_on_path(&l);
    stop_listening(&l);
    assert_true(notify_send("READY=1") < 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", "nonsense", 1), 0);
    assert_true(notify_send("READY=1") < 0);
}

static void watchdog(void unused **state)
{
    char pid[32];

    assert_int_equal(notify_watchdog_usec(), 0);
    assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
    assert_int_equal(notify_watchdog_usec(), 30 * USEC_PER_SEC);
    (void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
    assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
    assert_int_equal(notify_watchdog_usec(), 30 * USEC_PER_SEC);
    assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
    assert_int_equal(notify_watchdog_usec(), 0);
    assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
    assert_int_equal(setenv("WATCHDOG_USEC", "soon", 1), 0);
    assert_int_equal(notify_watchdog_usec(), 0);
}

static int send_long(void *data unused)
{
    return notify_send("STATUS=%0200d", 1);
}

static void memory_runs_out(void unused **state)
{
    struct listener l = {};

    listen_on_path(&l);
    assert_true(chaos_each(send_long, NULL) >= 1);
    stop_listening(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nobody_listens, no_service_manager),
        cmocka_unit_test_setup(messages_arrive, no_service_manager),
        cmocka_unit_test_setup(abstract_socket, no_service_manager),
        cmocka_unit_test_setup(lost_listener_is_an_error, no_service_manager),
        cmocka_unit_test_setup(watchdog, no_service_manager),
        cmocka_unit_test_setup(memory_runs_out, no_service_manager),
    };

    return cmocka_run_group_tests_name("port_notify", tests, NULL, NULL);
}
