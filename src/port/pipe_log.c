/* SPDX-License-Identifier: MIT */
#include "port/pipe_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "port/outlet.h"

#define LINE_MAX_BYTES ((size_t) 64 * 1024)
/* So that a server which writes without end leaves the loop time for everything else. */
#define READS_PER_TURN 4

struct pipe_log {
    int read_fd;
    int write_fd; /* -1 once it is closed */
    struct loop_io *io;
    struct outlet *outlet;
    pipe_log_fn fn;
    pipe_log_end_fn end;
    void *userdata;
    size_t len; /* of the unfinished line in `buf` */
    char buf[LINE_MAX_BYTES];
};

static void deliver(const struct pipe_log *p, const char *text, size_t len)
{
    struct log_line line = {
        .source = LOG_SERVER,
        .text = text,
        .len = len,
        .realtime = loop_now().realtime,
    };

    p->fn(&line, p->userdata);
}

/* What has come so far of a line, as if it ended here. */
static void deliver_unfinished(struct pipe_log *p)
{
    size_t len = p->len;

    if (len == 0)
        return;
    p->len = 0;
    outlet_write(p->outlet, p->buf, len);
    outlet_write(p->outlet, "\n", 1);
    deliver(p, p->buf, len);
}

/* Delivers the lines of the buffer, of which n bytes are new. */
static void deliver_lines(struct pipe_log *p, size_t n)
{
    char *start = p->buf, *end = p->buf + p->len + n, *unseen = p->buf + p->len;
    char *newline;

    while ((newline = memchr(unseen, '\n', (size_t) (end - unseen)))) {
        outlet_write(p->outlet, start, (size_t) (newline + 1 - start));
        deliver(p, start, (size_t) (newline - start));
        start = unseen = newline + 1;
    }
    p->len = (size_t) (end - start);
    if (p->len == sizeof(p->buf)) {
        p->len = 0;
        outlet_write(p->outlet, p->buf, sizeof(p->buf));
        deliver(p, p->buf, sizeof(p->buf));
    } else if (start > p->buf) {
        memmove(p->buf, start, p->len);
    }
}

/* How many bytes came, at most `max`; 0 when the last writer has closed. */
static ssize_t read_some(struct pipe_log *p, size_t max)
{
    ssize_t n = read(p->read_fd, p->buf + p->len, MIN(max, sizeof(p->buf) - p->len));

    if (n < 0)
        return -errno;
    deliver_lines(p, (size_t) n);
    return n;
}

static void finish(struct pipe_log *p)
{
    pipe_log_end_fn end = p->end;

    loop_io_set(p->io, 0);
    deliver_unfinished(p);
    if (end)
        end(p->userdata);
}

static void on_readable(int fd unused, int events unused, void *userdata)
{
    struct pipe_log *p = userdata;

    for (int i = 0; i < READS_PER_TURN; i++) {
        ssize_t n = read_some(p, SIZE_MAX);

        if (n == -EINTR)
            continue;
        if (n == -EAGAIN)
            return;
        if (n <= 0) {
            finish(p);
            return;
        }
    }
}

int pipe_log_open(struct loop *l, pipe_log_fn fn, pipe_log_end_fn end, void *userdata, struct pipe_log **ret)
{
    _cleanup_(pipe_log_freep) struct pipe_log *p = calloc(1, sizeof(*p));
    int fds[2], r;

    if (!p)
        return -ENOMEM;
    p->read_fd = p->write_fd = -1;
    p->fn = fn;
    p->end = end;
    p->userdata = userdata;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    p->read_fd = fds[0];
    p->write_fd = fds[1];
    /* On our end alone: a server that does not expect EAGAIN from its stdout would lose output. */
    if (fcntl(p->read_fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    r = outlet_new(l, STDERR_FILENO, &p->outlet);
    if (r == 0)
        r = loop_io_new(l, p->read_fd, LOOP_READ, on_readable, p, &p->io);
    if (r < 0)
        return r;
    *ret = steal_pointer(&p);
    return 0;
}

int pipe_log_write_fd(const struct pipe_log *p)
{
    return p->write_fd;
}

void pipe_log_close_write(struct pipe_log *p)
{
    p->write_fd = close_fd(p->write_fd);
}

/* Not until it is empty: what holds the pipe open may go on writing. */
void pipe_log_drain(struct pipe_log *p)
{
    int left = 0;

    (void) ioctl(p->read_fd, FIONREAD, &left);
    while (left > 0) {
        ssize_t n = read_some(p, (size_t) left);

        if (n == -EINTR)
            continue;
        if (n <= 0)
            break;
        left -= (int) n;
    }
    deliver_unfinished(p);
}

void pipe_log_free(struct pipe_log *p)
{
    if (!p)
        return;
    loop_io_free(p->io);
    outlet_free(p->outlet);
    close_fd(p->read_fd);
    close_fd(p->write_fd);
    free(p);
}
