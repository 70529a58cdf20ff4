/* SPDX-License-Identifier: MIT */
#include "daemon/output.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"
#include "port/journal.h"
#include "port/pipe_log.h"

struct output {
    struct loop *loop;
    const struct identity *id;
    const struct output_events *events;
    void *userdata;
    struct journal_tail *tail; /* NULL: the pipe is used */
    int stream;                /* ours, of the epoch; also carries the marker */
    struct pipe_log *pipe;
    uint64_t epoch;
    char *nonce; /* of the flush's marker */
    char *cut_nonce;
    struct loop_timer *patience;
    output_flushed_fn flushed; /* set while a flush is under way */
};

static void flush_done(struct output *o)
{
    output_flushed_fn fn = o->flushed;

    o->flushed = NULL;
    loop_timer_set(o->patience, USEC_INFINITY);
    if (o->tail)
        journal_tail_hurry(o->tail, 0);
    if (fn)
        fn(o->userdata);
}

static void on_patience(void *userdata)
{
    flush_done(userdata);
}

static void on_line(const struct log_line *line, void *userdata)
{
    struct output *o = userdata;

    if (line->source != LOG_SERVER || !journal_is_mark(line, NULL)) {
        o->events->line(line, o->userdata);
        return;
    }
    if (o->cut_nonce && journal_is_mark(line, o->cut_nonce))
        o->events->cut(o->userdata);
    else if (o->flushed && o->nonce && journal_is_mark(line, o->nonce))
        flush_done(o);
}

static const char *open_tail(struct output *o)
{
    struct journal_filter filter = {
        .invocation = o->id->invocation,
        .identifier = o->id->identifier,
        .since = loop_now().monotonic,
        .kernel = true,
    };

    if (!o->id->invocation)
        return "not started by systemd";
    if (!journal_available())
        return "no journald listens";
    if (journal_tail_open(o->loop, &filter, on_line, o, &o->tail) < 0)
        return "the journal cannot be read";
    return NULL;
}

int output_new(struct loop *l, const struct identity *id, const struct output_events *events,
               void *userdata, struct output **ret, const char **ret_why)
{
    _cleanup_(output_freep) struct output *o = calloc(1, sizeof *o);
    int r;

    if (!o)
        return -ENOMEM;
    *o = (struct output){ .loop = l, .id = id, .events = events, .userdata = userdata, .stream = -1 };
    r = loop_timer_new(l, on_patience, o, &o->patience);
    if (r < 0)
        return r;
    *ret_why = open_tail(o);
    *ret = steal_pointer(&o);
    return 0;
}

bool output_is_journal(const struct output *o)
{
    return o->tail != NULL;
}

static void end_epoch(struct output *o)
{
    o->flushed = NULL;
    free(o->cut_nonce);
    o->cut_nonce = NULL;
    loop_timer_set(o->patience, USEC_INFINITY);
    o->stream = close_fd(o->stream);
    pipe_log_free(o->pipe);
    o->pipe = NULL;
}

static int begin_stream(struct output *o, int *ret_fd)
{
    int r = journal_stream_open(o->id->identifier, o->id->user ? NULL : o->id->unit, &o->stream);

    if (r == 0)
        *ret_fd = o->stream;
    return r;
}

static int begin_pipe(struct output *o, int *ret_fd)
{
    int r = pipe_log_open(o->loop, on_line, NULL, o, &o->pipe);

    if (r == 0)
        *ret_fd = pipe_log_write_fd(o->pipe);
    return r;
}

/* When journald has been stopped for good, the server still has somewhere to write, and the cause of a failure
 * is still found. */
int output_begin(struct output *o, uint64_t epoch, int *ret_fd)
{
    end_epoch(o);
    o->epoch = epoch;
    if (o->tail && begin_stream(o, ret_fd) == 0)
        return 0;
    return begin_pipe(o, ret_fd);
}

void output_started(struct output *o)
{
    if (o->pipe)
        pipe_log_close_write(o->pipe);
}

/* True when a marker is on its way, so that there is something to wait for. */
static bool send_mark(struct output *o, char **nonce)
{
    free(*nonce);
    *nonce = str_format("epoch-%" PRIu64 "-%" PRIu64, o->epoch, loop_now().monotonic);
    return *nonce && o->stream >= 0 && journal_stream_mark(o->stream, *nonce) >= 0;
}

void output_cut(struct output *o)
{
    if (o->pipe)
        pipe_log_drain(o->pipe);
    if (o->pipe || !send_mark(o, &o->cut_nonce))
        o->events->cut(o->userdata);
}

void output_flush(struct output *o, usec_t timeout_usec, output_flushed_fn fn)
{
    usec_t until = 0; /* the next turn: there is nothing to wait for */

    if (o->pipe)
        pipe_log_drain(o->pipe);
    else if (send_mark(o, &o->nonce))
        until = usec_add(loop_now().monotonic, timeout_usec);
    if (o->tail)
        journal_tail_hurry(o->tail, until);
    o->flushed = fn;
    loop_timer_set(o->patience, until);
}

void output_free(struct output *o)
{
    if (!o)
        return;
    end_epoch(o);
    journal_tail_free(o->tail);
    loop_timer_free(o->patience);
    free(o->nonce);
    free(o->cut_nonce);
    free(o);
}
