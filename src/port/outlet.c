/* SPDX-License-Identifier: MIT */
#include "port/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/str.h"

#define QUEUE_MAX ((size_t) 256 * 1024)
/* That much written at the queue's beginning is worth moving the rest to the front. */
#define COMPACT_FROM (QUEUE_MAX / 4)

struct outlet {
    int fd;
    int own_fd;     /* the same pipe or terminal opened anew, with O_NONBLOCK, or -1 */
    bool is_socket; /* which can be told not to block call by call */
    bool broken;    /* nobody reads any more */
    struct loop_io *io;
    struct strbuf queue;
    size_t written; /* of the queue */
    uint64_t dropped;
};

/* An open file of our own, so that O_NONBLOCK is ours alone. Not for regular files, whose offset would be
 * ours alone too. */
static int open_anew(int fd, mode_t mode)
{
    char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

    if (!S_ISFIFO(mode) && !isatty(fd))
        return -1;
    (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static bool takes_more(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) == 1 && p.revents & (POLLOUT | POLLERR | POLLHUP);
}

/* Where O_NONBLOCK cannot be had (another user's pipe), PIPE_BUF bytes do not block after poll(2) has
 * found room, unless another writer was faster. */
static ssize_t write_now(const struct outlet *o, const char *data, size_t n)
{
    if (o->is_socket)
        return send(o->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (o->own_fd >= 0)
        return write(o->own_fd, data, n);
    if (!takes_more(o->fd)) {
        errno = EAGAIN;
        return -1;
    }
    return write(o->fd, data, MIN(n, (size_t) PIPE_BUF));
}

/* How many bytes were taken. */
static size_t write_some(struct outlet *o, const char *data, size_t n)
{
    size_t done = 0;

    while (done < n && !o->broken) {
        ssize_t r = write_now(o, data + done, n - done);

        if (r >= 0)
            done += (size_t) r;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            o->broken = true;
    }
    return done;
}

static size_t queued(const struct outlet *o)
{
    return o->queue.len - o->written;
}

static void enqueue(struct outlet *o, const char *data, size_t n)
{
    bool was_empty = queued(o) == 0;

    if (o->written >= COMPACT_FROM) {
        o->queue.len -= o->written;
        memmove(o->queue.data, o->queue.data + o->written, o->queue.len);
        o->written = 0;
    }
    strbuf_append_n(&o->queue, data, n);
    if (o->queue.failed) {
        o->queue.failed = false;
        o->dropped++;
    } else if (was_empty) {
        loop_io_set(o->io, LOOP_WRITE);
    }
}

static void pass_on(struct outlet *o, const char *data, size_t n)
{
    size_t done = queued(o) == 0 ? write_some(o, data, n) : 0;

    if (done < n && !o->broken)
        enqueue(o, data + done, n - done);
}

/* The drop ends when the queue is empty: with a slow reader, a line about every few lines that had to go
 * would be all that gets through. */
static void end_of_drop(struct outlet *o)
{
    char text[96];
    int n = snprintf(text, sizeof(text), "coalmine: %" PRIu64 " lines are missing here: stderr was full\n",
                     o->dropped);

    o->dropped = 0;
    pass_on(o, text, (size_t) n);
}

static void flush_queue(struct outlet *o)
{
    o->written += write_some(o, o->queue.data + o->written, queued(o));
    if (!o->broken && queued(o) > 0)
        return;
    strbuf_release(&o->queue);
    o->written = 0;
    loop_io_set(o->io, 0);
    if (o->dropped > 0)
        end_of_drop(o);
}

static void on_writable(int fd unused, int events unused, void *userdata)
{
    flush_queue(userdata);
}

int outlet_new(struct loop *l, int fd, struct outlet **ret)
{
    _cleanup_(outlet_freep) struct outlet *o = malloc(sizeof(*o));
    struct stat st;
    int r;

    if (!o)
        return -ENOMEM;
    *o = (struct outlet){.fd = fd, .own_fd = -1};
    if (fstat(fd, &st) < 0) {
        o->broken = true;
    } else {
        o->is_socket = S_ISSOCK(st.st_mode);
        o->own_fd = open_anew(fd, st.st_mode);
        r = loop_io_new(l, o->own_fd >= 0 ? o->own_fd : fd, 0, on_writable, o, &o->io);
        if (r < 0)
            return r;
    }
    *ret = steal_pointer(&o);
    return 0;
}

void outlet_write(struct outlet *o, const char *line, size_t n)
{
    if (o->broken)
        return;
    if (o->dropped > 0 && queued(o) == 0)
        end_of_drop(o);
    if (o->dropped > 0 || n > QUEUE_MAX - queued(o)) {
        o->dropped++;
        return;
    }
    pass_on(o, line, n);
}

void outlet_free(struct outlet *o)
{
    if (!o)
        return;
    if (queued(o) > 0)
        flush_queue(o);
    loop_io_free(o->io);
    close_fd(o->own_fd);
    strbuf_release(&o->queue);
    free(o);
}
