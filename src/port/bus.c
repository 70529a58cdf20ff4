/* SPDX-License-Identifier: MIT */
#include "port/bus.h"

#include <errno.h>
#include <poll.h>

#include "base/str.h"

/* Messages handled in one go; what is left over comes in the next turn of the loop. */
#define MESSAGES_A_TURN 64

struct bus {
    struct loop *loop;
    sd_bus *sd;
    struct loop_io *io;
    struct loop_timer *timer; /* sd-bus's own time-out, or now when work is left over */
    bus_lost_fn fn;
    void *userdata;
    bool lost;
};

static int loop_events_of(int poll_events)
{
    return (poll_events & POLLIN ? LOOP_READ : 0) | (poll_events & POLLOUT ? LOOP_WRITE : 0);
}

/* Waits for what sd-bus wants to wait for (sd_bus_get_fd(3)). */
static int await(struct bus *b)
{
    int events = sd_bus_get_events(b->sd);
    uint64_t timeout;
    int r = sd_bus_get_timeout(b->sd, &timeout);

    if (events < 0)
        return events;
    if (r < 0)
        return r;
    loop_io_set(b->io, loop_events_of(events));
    loop_timer_set(b->timer, timeout);
    return 0;
}

static void lose(struct bus *b, int error)
{
    b->lost = true;
    loop_io_set(b->io, 0);
    loop_timer_set(b->timer, USEC_INFINITY);
    b->fn(error, b->userdata);
}

/* Handlers of messages must not free the bus; only `fn` may, which is called last. */
static void process(struct bus *b)
{
    int r = 1;

    for (unsigned n = 0; r > 0 && n < MESSAGES_A_TURN; n++)
        r = sd_bus_process(b->sd, NULL);
    if (r >= 0)
        r = r > 0 ? 1 : await(b);
    if (r < 0)
        lose(b, r);
    else if (r > 0)
        loop_timer_set(b->timer, 0);
}

static void on_io(int fd unused, int events unused, void *userdata)
{
    process(userdata);
}

static void on_timer(void *userdata)
{
    process(userdata);
}

/* Connects without waiting: what the daemon has to say comes through process() (sd_bus_open(3)). */
static int start(struct bus *b, bool user)
{
    int r = user ? sd_bus_open_user(&b->sd) : sd_bus_open_system(&b->sd);

    return r < 0 ? r : 0;
}

int bus_open(struct loop *l, bool user, bus_lost_fn fn, void *userdata, struct bus **ret)
{
    _cleanup_(bus_freep) struct bus *b = calloc(1, sizeof *b);
    int fd, r;

    if (!b)
        return -ENOMEM;
    *b = (struct bus){ .loop = l, .fn = fn, .userdata = userdata };
    r = start(b, user);
    if (r < 0)
        return r;
    fd = sd_bus_get_fd(b->sd);
    if (fd < 0)
        return fd;
    r = loop_io_new(l, fd, LOOP_READ, on_io, b, &b->io);
    if (r == 0)
        r = loop_timer_new(l, on_timer, b, &b->timer);
    if (r < 0)
        return r;
    loop_timer_set(b->timer, 0);
    *ret = steal_pointer(&b);
    return 0;
}

sd_bus *bus_get(struct bus *b)
{
    return b->sd;
}

void bus_flush(struct bus *b)
{
    /* Not here: a lost connection would be told from within the caller's own call. */
    if (!b->lost)
        loop_timer_set(b->timer, 0);
}

void bus_free(struct bus *b)
{
    if (!b)
        return;
    loop_io_free(b->io);
    loop_timer_free(b->timer);
    sd_bus_close_unref(b->sd);
    free(b);
}

static bool stands_for_itself(char c, bool first)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-')
        return true;
    return c >= '0' && c <= '9' && !first;
}

char *bus_name_of(const char *instance)
{
    struct strbuf b = {};

    strbuf_append(&b, "org.coalmine1.");
    for (const char *c = instance; *c; c++) {
        if (stands_for_itself(*c, c == instance))
            strbuf_append_char(&b, *c);
        else
            strbuf_appendf(&b, "_%02x", (unsigned) (unsigned char) *c);
    }
    return strbuf_steal(&b);
}
