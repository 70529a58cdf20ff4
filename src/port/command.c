/* SPDX-License-Identifier: MIT */
#include "port/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/str.h"

#define READ_SIZE 4096
/* At most so many in one turn of the loop: a command that floods must not starve the rest. */
#define READS_A_TURN 16
/* What may still be in the pipe when the command has ended (pipe(7), default capacity), and no
 * more: someone outside of its process group may hold the pipe and go on writing. */
#define READS_AT_THE_END 16

/* What the timer waits for. */
enum stage {
    STAGE_RUNNING, /* the time-out */
    STAGE_ASKED,   /* the end of the grace after SIGTERM */
    STAGE_KILLED,  /* the same after SIGKILL */
    STAGE_FAILED,  /* the next turn of the loop, to tell of a failed start */
};

#define EXIT_STATUS_TIMED_OUT 124
#define EXIT_STATUS_NOT_STARTED 127

struct command {
    enum stage stage;
    struct loop *loop;
    struct child *child; /* NULL before the start and after the end */
    struct loop_timer *timer;
    struct loop_io *watch;
    int output_fd;
    size_t max_output;
    struct strbuf output;
    struct command_result result;
    command_fn fn;
    void *userdata;
};

static void keep(struct command *c, const char *data, size_t n)
{
    size_t room = c->max_output - c->output.len;

    strbuf_append_n(&c->output, data, MIN(n, room));
    if (n > room || c->output.failed)
        c->result.truncated = true;
}

/* False when there is nothing more, now or ever. */
static bool read_some(struct command *c)
{
    char data[READ_SIZE];
    ssize_t n = read(c->output_fd, data, sizeof(data));

    if (n > 0)
        keep(c, data, (size_t) n);
    else if (n == 0)
        loop_io_set(c->watch, 0);
    return n > 0;
}

static void on_output(int fd unused, int events unused, void *userdata)
{
    struct command *c = userdata;

    for (int i = 0; i < READS_A_TURN && read_some(c); i++)
        continue;
}

static void arm(struct command *c, enum stage stage, usec_t span)
{
    c->stage = stage;
    loop_timer_set(c->timer, usec_add(loop_now().monotonic, span));
}

/* Tells of the end. */
static void finish(struct command *c)
{
    loop_timer_set(c->timer, USEC_INFINITY);
    if (c->watch)
        loop_io_set(c->watch, 0);
    c->result.output = str_or_empty(c->output.data);
    c->result.output_len = c->output.len;
    c->fn(&c->result, c->userdata);
}

/* What it wrote is in the pipe already; whoever else holds the pipe is not waited for. */
static void on_ended(const struct child_exit *e, void *userdata)
{
    struct command *c = userdata;

    c->result.exit = *e;
    child_free(c->child);
    c->child = NULL;
    for (int i = 0; i < READS_AT_THE_END && read_some(c); i++)
        continue;
    finish(c);
}

/* SIGTERM comes first: a debugger or profiler that is killed may leave the process that it has
 * stopped so, a build its lock. What survives SIGKILL sleeps in the kernel, as nvidia-smi does
 * before a lost GPU: it is given up. */
static void on_timer(void *userdata)
{
    struct command *c = userdata;

    switch (c->stage) {
    case STAGE_RUNNING:
        c->result.timed_out = true;
        (void) child_signal_group(c->child, SIGTERM);
        arm(c, STAGE_ASKED, COMMAND_GRACE_USEC);
        break;
    case STAGE_ASKED:
        (void) child_signal_group(c->child, SIGKILL);
        arm(c, STAGE_KILLED, COMMAND_GRACE_USEC);
        break;
    case STAGE_KILLED:
        child_abandon(steal_pointer(&c->child));
        finish(c);
        break;
    case STAGE_FAILED:
        finish(c);
        break;
    }
}

static int open_output(struct command *c, int *ret_writer)
{
    _cleanup_close_ int writer = -1;
    int fds[2], r;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    c->output_fd = fds[0];
    writer = fds[1];
    if (fcntl(c->output_fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    r = loop_io_new(c->loop, c->output_fd, LOOP_READ, on_output, c, &c->watch);
    if (r < 0)
        return r;
    *ret_writer = steal_fd(&writer);
    return 0;
}

static int start(struct command *c, char *const *argv, char *const *environment)
{
    _cleanup_close_ int writer = -1;
    struct child_spec spec = {
        .argv = argv,
        .environment = environment,
        .stdin_fd = -1,
        .cgroup_fd = -1,
        .kill_group = true,
    };
    int r = open_output(c, &writer);

    if (r < 0)
        return r;
    spec.stdout_fd = writer;
    spec.stderr_fd = writer;
    return child_spawn(c->loop, &spec, on_ended, c, &c->child);
}

int command_run(struct loop *l, char *const *argv, char *const *environment, usec_t timeout,
                size_t max_output, command_fn fn, void *userdata, struct command **ret)
{
    _cleanup_(command_freep) struct command *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return -ENOMEM;
    *c = (struct command){
        .loop = l,
        .output_fd = -1,
        .max_output = max_output,
        .fn = fn,
        .userdata = userdata,
    };
    r = loop_timer_new(l, on_timer, c, &c->timer);
    if (r < 0)
        return r;
    r = start(c, argv, environment);
    if (r == -ENOMEM)
        return r;
    c->result.spawn_error = r;
    if (r < 0)
        arm(c, STAGE_FAILED, 0);
    else
        arm(c, STAGE_RUNNING, timeout);
    *ret = steal_pointer(&c);
    return 0;
}

int command_exit_status(const struct command_result *r)
{
    if (r->spawn_error < 0)
        return EXIT_STATUS_NOT_STARTED;
    if (r->timed_out)
        return EXIT_STATUS_TIMED_OUT;
    return r->exit.code == CLD_EXITED ? r->exit.status : 128 + r->exit.status;
}

void command_free(struct command *c)
{
    if (!c)
        return;
    if (c->child)
        (void) child_signal_group(c->child, SIGKILL);
    child_abandon(c->child);
    loop_io_free(c->watch);
    close_fd(c->output_fd);
    loop_timer_free(c->timer);
    strbuf_release(&c->output);
    free(c);
}
