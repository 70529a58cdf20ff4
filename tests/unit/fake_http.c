/* SPDX-License-Identifier: MIT */
#include "fake_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "unit.h"
#include "world.h"

/* No more than a pipe takes in one piece. */
#define REQUEST_MAX ((size_t) 4000)
#define SEPARATOR '\x1e'
#define PATIENCE_MSEC 60000

struct fake_http {
    pid_t pid;
    int reader; /* of requests */
    char *base;
};

/* In the processes of the server nothing of cmocka is used. */

static void tell(int pipe_fd, const char *text, size_t n)
{
    char buf[REQUEST_MAX + 1];

    n = MIN(n, REQUEST_MAX);
    memcpy(buf, text, n);
    buf[n] = SEPARATOR;
    (void) !write(pipe_fd, buf, n + 1);
}

static size_t length_of_body(const char *request)
{
    const char *header = strcasestr(request, "\r\ncontent-length:");

    return header ? strtoul(header + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

/* The first record of a TLS client is answered at once, as by servers that do not understand it. */
static bool is_whole(const char *request, size_t n)
{
    const char *end = strstr(request, "\r\n\r\n");

    if (n > 0 && request[0] == '\x16')
        return true;
    return end && n >= (size_t) (end + 4 - request) + length_of_body(request);
}

static void read_request(int fd, int pipe_fd)
{
    static char request[1 << 20];
    size_t n = 0;
    ssize_t got;

    while (n < sizeof(request) - 1 && !is_whole(request, n)) {
        got = read(fd, request + n, sizeof(request) - 1 - n);
        if (got <= 0)
            break;
        n += (size_t) got;
        request[n] = '\0';
    }
    if (n > 0)
        tell(pipe_fd, request, n);
}

static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t) sent;
    }
    return true;
}

static void hang(int fd, int pipe_fd)
{
    char c;

    while (read(fd, &c, 1) > 0)
        continue;
    tell(pipe_fd, "closed", strlen("closed"));
}

static bool act(int fd, int pipe_fd, const struct fake_step *step)
{
    struct linger linger = {.l_onoff = 1};

    switch (step->act) {
    case FAKE_SEND:
        return send_all(fd, step->bytes, step->n);
    case FAKE_FLOOD:
        while (send_all(fd, step->bytes, step->n))
            continue;
        return false;
    case FAKE_PAUSE:
        (void) usleep((useconds_t) step->n * 1000);
        return true;
    case FAKE_HANG:
        hang(fd, pipe_fd);
        return false;
    case FAKE_RESET:
        (void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
        return false;
    }
    return false;
}

/* What the client has sent and we have not read would make a reset of our close. */
static void drain(int fd)
{
    char buf[4096];
    struct pollfd p = {.fd = fd, .events = POLLIN};

    (void) shutdown(fd, SHUT_WR);
    while (poll(&p, 1, 1000) > 0 && read(fd, buf, sizeof(buf)) > 0)
        continue;
}

static void converse(int fd, int pipe_fd, const struct fake_script *script)
{
    bool reset = false;

    read_request(fd, pipe_fd);
    for (size_t i = 0; i < script->n; i++) {
        reset = script->steps[i].act == FAKE_RESET;
        if (!act(fd, pipe_fd, &script->steps[i]))
            break;
    }
    if (!reset)
        drain(fd);
}

static void serve(int listener, int pipe_fd, const struct fake_script *scripts, size_t n)
{
    (void) signal(SIGCHLD, SIG_IGN);
    for (size_t i = 0;; i++) {
        int fd = accept(listener, NULL, NULL);

        if (fd < 0)
            continue;
        if (fork() == 0) {
            (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void) close(listener);
            converse(fd, pipe_fd, &scripts[MIN(i, n - 1)]);
            _exit(0);
        }
        (void) close(fd);
    }
}

/* The test's own side */

static int listen_at(const char *path, char **ret_base)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(inet);
    int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (path) {
        assert_true(strlen(path) < sizeof(local.sun_path));
        (void) strcpy(local.sun_path, path);
        assert_int_equal(bind(fd, (struct sockaddr *) &local, sizeof(local)), 0);
        *ret_base = str_format("unix:%s", path);
    } else {
        assert_int_equal(bind(fd, (struct sockaddr *) &inet, sizeof(inet)), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *) &inet, &size), 0);
        *ret_base = str_format("http://127.0.0.1:%u", ntohs(inet.sin_port));
    }
    assert_int_equal(listen(fd, 64), 0);
    return fd;
}

struct fake_http *fake_http_new(const char *path, const struct fake_script *scripts, size_t n)
{
    struct fake_http *f = calloc(1, sizeof(*f));
    int listener, writer;

    assert_non_null(f);
    listener = listen_at(path, &f->base);
    world_pipe(&f->reader, &writer);
    f->pid = fork();
    assert_true(f->pid >= 0);
    if (f->pid == 0) {
        (void) setpgid(0, 0);
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test does not free it */
        (void) close(f->reader);
        serve(listener, writer, scripts, n);
    }
    (void) setpgid(f->pid, f->pid);
    close_fd(listener);
    close_fd(writer);
    return f;
}

const char *fake_http_base(const struct fake_http *f)
{
    return f->base;
}

char *fake_http_request(struct fake_http *f)
{
    struct pollfd p = {.fd = f->reader, .events = POLLIN};
    struct strbuf b = {};
    char c = '\0';

    for (;;) {
        assert_true(poll(&p, 1, PATIENCE_MSEC) > 0);
        assert_int_equal(read(f->reader, &c, 1), 1);
        if (c == SEPARATOR)
            return strbuf_steal(&b);
        strbuf_append_char(&b, c);
    }
}

void fake_http_free(struct fake_http *f)
{
    if (!f)
        return;
    (void) kill(-f->pid, SIGKILL);
    (void) waitpid(f->pid, NULL, 0);
    close_fd(f->reader);
    free(f->base);
    free(f);
}
