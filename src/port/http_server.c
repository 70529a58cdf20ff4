/* SPDX-License-Identifier: MIT */
#include "port/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include "base/parse.h"
#include "base/str.h"

/* For a request's headers and its answer's; the answer itself is apart. */
#define CLIENT_MEMORY ((size_t) 16 * 1024)

struct client {
    struct client *next;
    int fd;              /* libmicrohttpd's */
    usec_t deadline;     /* monotonic */
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct loop_io *io;
    struct loop_timer *timer;
    struct client *clients;
    usec_t life_usec;
    http_server_fn fn;
    void *userdata;
};

/* Clients */

static void add_client(struct http_server *s, int fd, void **context)
{
    struct client *c = malloc(sizeof *c);

    if (!c) {
        (void) shutdown(fd, SHUT_RDWR); /* one that nobody watches over */
        return;
    }
    *c = (struct client){
        .next = s->clients,
        .fd = fd,
        .deadline = usec_add(loop_now().monotonic, s->life_usec),
    };
    s->clients = *context = c;
}

static void remove_client(struct http_server *s, struct client *c)
{
    struct client **p = &s->clients;

    while (*p && *p != c)
        p = &(*p)->next;
    if (*p)
        *p = c->next;
    free(c);
}

static void on_client(void *userdata, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = userdata;
    const union MHD_ConnectionInfo *info;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        remove_client(s, *context);
        return;
    }
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        add_client(s, info->connect_fd, context);
}

/* libmicrohttpd counts idle time only; a connection that is shut down reads as closed by its client. */
static void end_old_clients(struct http_server *s, usec_t now)
{
    for (struct client *c = s->clients; c; c = c->next) {
        if (c->deadline > now)
            continue;
        (void) shutdown(c->fd, SHUT_RDWR);
        c->deadline = USEC_INFINITY;
    }
}

static usec_t next_deadline(const struct http_server *s)
{
    usec_t first = USEC_INFINITY;

    for (const struct client *c = s->clients; c; c = c->next)
        first = MIN(first, c->deadline);
    return first;
}

/* Requests */

static enum MHD_Result send_reply(struct MHD_Connection *connection, const struct http_reply *reply,
                                  const char *allow)
{
    const char *text = reply->body ? reply->body : "out of memory\n";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *) (uintptr_t) text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result r;

    if (!response)
        return MHD_NO;
    (void) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
    (void) MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (allow)
        (void) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    r = MHD_queue_response(connection, reply->body ? reply->status : MHD_HTTP_INTERNAL_SERVER_ERROR, response);
    MHD_destroy_response(response);
    return r;
}

/* Called when the headers are in; an answer now means that no body is read. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version unused, const char *data unused,
                                  size_t *data_size unused, void **context unused)
{
    struct http_server *s = userdata;
    struct http_reply reply = { .status = MHD_HTTP_METHOD_NOT_ALLOWED, .type = "text/plain; charset=utf-8" };
    bool known = str_equal(method, MHD_HTTP_METHOD_GET) || str_equal(method, MHD_HTTP_METHOD_HEAD);
    enum MHD_Result r;

    if (known)
        s->fn(path, &reply, s->userdata);
    else
        reply.body = strdup("only GET and HEAD\n");
    r = send_reply(connection, &reply, known ? NULL : "GET, HEAD");
    free(reply.body);
    return r;
}

/* The loop */

static void await(struct http_server *s)
{
    unsigned MHD_LONG_LONG wanted_msec;
    usec_t deadline = next_deadline(s);

    if (MHD_get_timeout(s->daemon, &wanted_msec) == MHD_YES)
        deadline = MIN(deadline, usec_add(loop_now().monotonic, wanted_msec * USEC_PER_MSEC));
    loop_timer_set(s->timer, deadline);
}

static void process(struct http_server *s)
{
    end_old_clients(s, loop_now().monotonic);
    (void) MHD_run(s->daemon);
    await(s);
}

static void on_io(int fd unused, int events unused, void *userdata)
{
    process(userdata);
}

static void on_timer(void *userdata)
{
    process(userdata);
}

/* Setting up */

static int parse_address(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *) ret;
    struct sockaddr_in *v4 = (struct sockaddr_in *) ret;
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN] = {};
    bool bracketed = text[0] == '[' && colon && colon > text + 1 && colon[-1] == ']';
    size_t skip = bracketed ? 1 : 0, n = colon ? (size_t) (colon - text) - 2 * skip : 0;
    uint64_t port;

    if (n == 0 || n >= sizeof host || parse_u64(colon + 1, &port) < 0 || port > UINT16_MAX)
        return -EINVAL;
    memcpy(host, text + skip, n);
    *ret = (struct sockaddr_storage){};
    if (bracketed) {
        *v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t) port) };
        *ret_len = sizeof *v6;
        return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? 0 : -EINVAL;
    }
    *v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t) port) };
    *ret_len = sizeof *v4;
    return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? 0 : -EINVAL;
}

/* Returns a listening socket or negative errno. */
static int open_socket(const char *text)
{
    struct sockaddr_storage address;
    _cleanup_close_ int fd = -1;
    const int on = 1;
    socklen_t len;
    int r = parse_address(text, &address, &len);

    if (r < 0)
        return r;
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    /* Connections of a coalmined that has just ended must not keep the next one out. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *) &address, len) < 0 || listen(fd, HTTP_SERVER_CLIENTS) < 0)
        return -errno;
    return steal_fd(&fd);
}

/* The daemon owns the socket once it runs. */
static int start_daemon(struct http_server *s, int *fd)
{
    s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s,
                                 MHD_OPTION_LISTEN_SOCKET, *fd,
                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned) HTTP_SERVER_CLIENTS,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, CLIENT_MEMORY,
                                 MHD_OPTION_NOTIFY_CONNECTION, on_client, s,
                                 MHD_OPTION_END);
    if (!s->daemon)
        return -ENOMEM;
    (void) steal_fd(fd);
    return 0;
}

static int watch_daemon(struct http_server *s, struct loop *l)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    int r;

    if (!info)
        return -EOPNOTSUPP;
    r = loop_io_new(l, info->epoll_fd, LOOP_READ, on_io, s, &s->io);
    if (r == 0)
        r = loop_timer_new(l, on_timer, s, &s->timer);
    return r;
}

int http_server_open(struct loop *l, const char *address, usec_t life_usec, http_server_fn fn,
                     void *userdata, struct http_server **ret)
{
    _cleanup_(http_server_freep) struct http_server *s = calloc(1, sizeof *s);
    _cleanup_close_ int fd = open_socket(address);
    int r;

    if (!s)
        return -ENOMEM;
    if (fd < 0)
        return fd;
    *s = (struct http_server){ .life_usec = life_usec, .fn = fn, .userdata = userdata };
    r = start_daemon(s, &fd);
    if (r == 0)
        r = watch_daemon(s, l);
    if (r < 0)
        return r;
    *ret = steal_pointer(&s);
    return 0;
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    loop_io_free(s->io);
    loop_timer_free(s->timer);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    free(s);
}
