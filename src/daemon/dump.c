/* SPDX-License-Identifier: MIT */
#include "daemon/dump.h"

#include <errno.h>

#include "base/str.h"
#include "port/command.h"
#include "port/process_look.h"

#define PROCESSES_MAX 4096
#define OUTPUT_MAX_BYTES ((size_t) 128 * 1024)
#define PID_WORD "$SERVER_PID"

struct dump {
    struct snapshot snapshot;
    const char *when; /* NULL: nobody has looked */
    struct command *command;
    char **argv;
    dump_fn fn;
    void *userdata;
    bool ended;
    int exit_status;
    bool truncated;
    char *output;
};

int dump_new(struct dump **ret)
{
    struct dump *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    *ret = d;
    return 0;
}

int dump_look(struct dump *d, const struct processes *processes, const char *when)
{
    _cleanup_free_ pid_t *pids = NULL;
    struct snapshot snapshot = {};
    size_t n = 0;
    int r = processes_pids(processes, PROCESSES_MAX, &pids, &n);

    if (r == 0)
        r = process_look(pids, n, &snapshot);
    if (r < 0)
        return r;
    snapshot_release(&d->snapshot);
    d->snapshot = snapshot;
    d->when = when;
    return 0;
}

static void on_command(const struct command_result *r, void *userdata)
{
    struct dump *d = userdata;

    d->ended = true;
    d->exit_status = command_exit_status(r);
    d->truncated = r->truncated;
    d->output = r->spawn_error < 0 ? strdup(strerror(-r->spawn_error)) : strndup(r->output, r->output_len);
    d->fn(d->userdata);
}

/* `word` with the PID in each place that asks for it. */
static char *fill_in(const char *word, const char *pid)
{
    struct strbuf b = {};
    const char *at;

    for (; (at = strstr(word, PID_WORD)); word = at + strlen(PID_WORD)) {
        bool longer = at[strlen(PID_WORD)] == 'S'; /* $SERVER_PIDS */

        strbuf_append_n(&b, word, (size_t) (at - word));
        strbuf_append(&b, longer ? PID_WORD : pid);
    }
    strbuf_append(&b, word);
    return strbuf_steal(&b);
}

static int make_argv(char *const *command, const char *pid, char ***ret)
{
    _cleanup_strv_ char **argv = NULL;

    for (size_t i = 0; command[i]; i++) {
        _cleanup_free_ char *word = fill_in(command[i], pid);

        if (!word || strv_push(&argv, word) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&argv);
    return 0;
}

static char *list_pids(const struct snapshot *s)
{
    struct strbuf b = {};

    strbuf_append(&b, "SERVER_PIDS=");
    for (size_t i = 0; i < s->n; i++)
        strbuf_appendf(&b, "%s%d", i > 0 ? " " : "", (int) s->processes[i].pid);
    return strbuf_steal(&b);
}

static int make_environment(const struct dump *d, const struct dump_target *target, const char *pid, char ***ret)
{
    _cleanup_strv_ char **environment = NULL;
    _cleanup_free_ char *one = str_format("SERVER_PID=%s", pid), *all = list_pids(&d->snapshot);
    int r;

    if (!one || !all)
        return -ENOMEM;
    r = strv_copy(target->environment, &environment);
    if (r == 0)
        r = strv_push(&environment, one);
    if (r == 0)
        r = strv_push(&environment, all);
    if (r == 0)
        *ret = steal_pointer(&environment);
    return r;
}

/* Where the main process is gone, the oldest of the others stands for it. */
static pid_t choose_pid(const struct dump *d, const struct dump_target *target)
{
    return target->main_pid > 0 ? target->main_pid : d->snapshot.n > 0 ? d->snapshot.processes[0].pid : 0;
}

int dump_run(struct dump *d, struct loop *l, const struct report_config *config, const struct dump_target *target,
             dump_fn fn, void *userdata)
{
    _cleanup_strv_ char **environment = NULL;
    char pid[16];
    int r;

    if (!config->dump_command || choose_pid(d, target) == 0)
        return 0;
    (void) snprintf(pid, sizeof pid, "%d", (int) choose_pid(d, target));
    d->fn = fn;
    d->userdata = userdata;
    r = make_environment(d, target, pid, &environment);
    if (r == 0)
        r = make_argv(config->dump_command, pid, &d->argv);
    if (r == 0)
        r = command_run(l, d->argv, environment, config->dump_usec, OUTPUT_MAX_BYTES, on_command, d, &d->command);
    return r < 0 ? r : 1;
}

void dump_end(struct dump *d)
{
    if (!d || d->ended)
        return;
    command_free(d->command);
    d->command = NULL;
}

struct report_dump dump_report(const struct dump *d)
{
    return (struct report_dump){
        .when = d->when,
        .snapshot = &d->snapshot,
        .command = d->argv,
        .ended = d->ended,
        .exit_status = d->exit_status,
        .truncated = d->truncated,
        .output = d->output,
    };
}

char *dump_describe_stuck(const struct dump *d)
{
    return snapshot_describe_stuck(&d->snapshot);
}

void dump_free(struct dump *d)
{
    if (!d)
        return;
    command_free(d->command);
    snapshot_release(&d->snapshot);
    strv_free(d->argv);
    free(d->output);
    free(d);
}
