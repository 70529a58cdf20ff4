/* SPDX-License-Identifier: MIT */
#include "port/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/str.h"

#define READ_CHUNK 4096
/* At most so much in one turn of the loop: a command that floods must not starve the rest. */
#define READS_A_TURN 16

struct command {
    struct loop *loop;
    command_fn fn;
    void *userdata;
    size_t max_output;
    struct child *child; /* NULL before the start and after the end */
    struct loop_timer *timer; /* the time-out; before that, a failed start to be told */
    int output_fd;
    struct loop_io *output_io;
    struct strbuf output;
    struct command_result result;
};

static void keep(struct command *c, const char *data, size_t n)
{
    size_t room = c->max_output - MIN(c->output.len, c->max_output);

    if (n > room)
        c->result.truncated = true;
    strbuf_append_n(&c->output, data, MIN(n, room));
}

/* Reads what is there; returns false at the end or when nothing more will come now. */
static bool read_some(struct command *c)
{
    char buf[READ_CHUNK];
    ssize_t n = read(c->output_fd, buf, sizeof buf);

    if (n > 0)
        keep(c, buf, (size_t) n);
    else if (n == 0)
        loop_io_set(c->output_io, 0);
    return n > 0;
}

static void on_output(int fd unused, int events unused, void *userdata)
{
    struct command *c = userdata;

    for (unsigned i = 0; i < READS_A_TURN && read_some(c); i++)
        continue;
}

/* Calls back, once. What the command wrote before it ended is in the pipe already; a descendant that keeps the
 * pipe open is not waited for. */
static void finish(struct command *c)
{
    command_fn fn = c->fn;

    loop_timer_set(c->timer, USEC_INFINITY);
    if (c->output_io) {
        loop_io_set(c->output_io, 0);
        while (c->output.len < c->max_output && read_some(c))
            continue;
    }
    c->result.output = str_or_empty(c->output.data);
    c->result.output_len = c->output.len;
    fn(&c->result, c->userdata);
}

static void on_command_exit(const struct child_exit *e, void *userdata)
{
    struct command *c = userdata;

    c->result.exit = *e;
    child_free(c->child);
    c->child = NULL;
    finish(c);
}

/* A probe that ran out of time gets no second chance to hang: SIGKILL at once. Its end is told by its exit. */
static void on_timer(void *userdata)
{
    struct command *c = userdata;

    if (c->result.spawn_error < 0) {
        finish(c);
        return;
    }
    c->result.timed_out = true;
    (void) child_signal_group(c->child, SIGKILL);
}

static int open_output(struct command *c, int *ret_write_fd)
{
    int fds[2], r;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    c->output_fd = fds[0];
    r = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
    if (r == 0)
        r = loop_io_new(c->loop, fds[0], LOOP_READ, on_output, c, &c->output_io);
    if (r < 0)
        (void) close_fd(fds[1]);
    else
        *ret_write_fd = fds[1];
    return r;
}

static int start(struct command *c, char *const *argv, char *const *environment)
{
    _cleanup_close_ int write_fd = -1;
    struct child_spec spec;
    int r = open_output(c, &write_fd);

    if (r < 0)
        return r;
    spec = (struct child_spec){
        .argv = argv,
        .environment = environment,
        .stdin_fd = -1,
        .stdout_fd = write_fd,
        .stderr_fd = write_fd,
        .cgroup_fd = -1,
        .kill_group = true,
    };
    return child_spawn(c->loop, &spec, on_command_exit, c, &c->child);
}

int command_run(struct loop *l, char *const *argv, char *const *environment, usec_t timeout,
                size_t max_output, command_fn fn, void *userdata, struct command **ret)
{
    _cleanup_(command_freep) struct command *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return -ENOMEM;
    *c = (struct command){
        .loop = l, .fn = fn, .userdata = userdata, .max_output = max_output, .output_fd = -1
    };
    r = loop_timer_new(l, on_timer, c, &c->timer);
    if (r < 0)
        return r;
    c->result.spawn_error = start(c, argv, environment);
    loop_timer_set(c->timer, c->result.spawn_error < 0 ? 0 : usec_add(loop_now().monotonic, timeout));
    *ret = steal_pointer(&c);
    return 0;
}

void command_free(struct command *c)
{
    if (!c)
        return;
    if (c->child)
        (void) child_signal_group(c->child, SIGKILL);
    child_free(c->child);
    loop_io_free(c->output_io);
    (void) close_fd(c->output_fd);
    loop_timer_free(c->timer);
    strbuf_release(&c->output);
    free(c);
}
