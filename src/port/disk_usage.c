/* SPDX-License-Identifier: MIT */
#include "port/disk_usage.h"

#include <errno.h>
#include <unistd.h>

#include "base/str.h"
#include "port/command.h"

#define OUTPUT_MAX_BYTES ((size_t) 64 * 1024)

struct disk_usage {
    struct command *command;
    disk_usage_fn fn;
    void *userdata;
};

/* Lines are "4096<tab>/path"; messages about what cannot be read stand among them. */
static uint64_t sum(const char *text)
{
    uint64_t total = 0;

    while (*text) {
        char *end;
        uint64_t bytes = strtoull(text, &end, 10);
        size_t line = strcspn(text, "\n");

        if (end > text && *end == '\t' && bytes < UINT64_MAX - total)
            total += bytes;
        text += line + (text[line] == '\n');
    }
    return total;
}

static void on_command(const struct command_result *r, void *userdata)
{
    struct disk_usage *d = userdata;

    d->fn(r->spawn_error < 0 || r->timed_out ? 0 : sum(r->output), d->userdata);
}

/* A cache may itself be a link to a larger disk, so what is named is followed; links inside are not. */
static int make_argv(char *const *directories, char ***ret)
{
    static const char *const first[] = { "du", "-s", "-D", "--block-size=1", "--" };
    _cleanup_strv_ char **argv = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        if (strv_push(&argv, first[i]) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; directories && directories[i]; i++) {
        if (strv_push(&argv, directories[i]) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&argv);
    return 0;
}

int disk_usage_ask(struct loop *l, char *const *directories, usec_t timeout_usec, disk_usage_fn fn, void *userdata,
                   struct disk_usage **ret)
{
    _cleanup_(disk_usage_freep) struct disk_usage *d = calloc(1, sizeof *d);
    _cleanup_strv_ char **argv = NULL;
    int r;

    if (!d)
        return -ENOMEM;
    d->fn = fn;
    d->userdata = userdata;
    r = make_argv(directories, &argv);
    if (r == 0)
        r = command_run(l, argv, environ, timeout_usec, OUTPUT_MAX_BYTES, on_command, d, &d->command);
    if (r < 0)
        return r;
    *ret = steal_pointer(&d);
    return 0;
}

void disk_usage_free(struct disk_usage *d)
{
    if (!d)
        return;
    command_free(d->command);
    free(d);
}
