/* SPDX-License-Identifier: MIT */
#include "port/gpu.h"

#include <errno.h>
#include <fcntl.h>

#include "port/command.h"
#include "port/program.h"

/* A driver that has to be woken takes seconds. */
#define TOOL_TIMEOUT_USEC (15 * USEC_PER_SEC)
#define OUTPUT_MAX_BYTES ((size_t) 256 * 1024)

struct question {
    const char *argv[6];
    gpu_parse_fn parse;
};

static const struct tool {
    struct question devices;
    struct question holders;
} tools[] = {
    {
        { { "nvidia-smi", "--query-gpu=index,memory.used,memory.total,uuid", "--format=csv,noheader,nounits" },
          gpu_parse_nvidia_devices },
        { { "nvidia-smi", "--query-compute-apps=pid,used_memory,process_name,gpu_uuid",
            "--format=csv,noheader,nounits" },
          gpu_parse_nvidia_holders },
    },
    {
        { { "amd-smi", "metric", "--mem-usage", "--json" }, gpu_parse_amd_devices },
        { { "amd-smi", "process", "--json" }, gpu_parse_amd_holders },
    },
    {
        { { "rocm-smi", "--showmeminfo", "vram", "--json" }, gpu_parse_rocm_devices },
        { { "rocm-smi", "--showpids", "--json" }, gpu_parse_rocm_holders },
    },
};

struct gpu {
    struct loop *loop;
    struct loop_timer *timer; /* the next step, from the loop */
    char *const *environment;
    bool wants_holders;
    gpu_fn fn; /* NULL: nothing is asked */
    void *userdata;
    size_t tool;
    const struct question *question; /* under way or next */
    struct command *command;
    struct gpu_state state;
};

static void on_timer(void *userdata);

int gpu_new(struct loop *l, struct gpu **ret)
{
    _cleanup_(gpu_freep) struct gpu *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return -ENOMEM;
    g->loop = l;
    r = loop_timer_new(l, on_timer, g, &g->timer);
    if (r < 0)
        return r;
    *ret = steal_pointer(&g);
    return 0;
}

static bool is_there(const char *program, char *const *environment)
{
    _cleanup_free_ char *path = NULL;

    return program_find(program, environment, AT_FDCWD, &path) == 0;
}

bool gpu_has_tool(char *const *environment)
{
    for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
        if (is_there(tools[i].devices.argv[0], environment))
            return true;
    }
    return false;
}

static void finish(struct gpu *g)
{
    gpu_fn fn = g->fn;

    g->fn = NULL;
    fn(&g->state, g->userdata);
    gpu_state_release(&g->state);
}

/* Goes on with the tool's other question, with another tool, or ends. NULL question: the tool is not there. */
static void go_on(struct gpu *g)
{
    const struct tool *tool = &tools[g->tool];

    if (g->state.n_devices == 0) {
        g->tool++;
        g->question = g->tool < ARRAY_SIZE(tools) ? &tools[g->tool].devices : NULL;
    } else {
        g->question = g->wants_holders && g->question == &tool->devices ? &tool->holders : NULL;
    }
    loop_timer_set(g->timer, 0);
}

/* What a failed tool prints is taken as well: parsers take only what they know. */
static void on_command(const struct command_result *r, void *userdata)
{
    struct gpu *g = userdata;

    if (r->spawn_error == 0)
        (void) g->question->parse(&g->state, r->output, r->output_len);
    go_on(g);
}

static int run(struct gpu *g)
{
    char *argv[ARRAY_SIZE(g->question->argv)] = {};

    if (!is_there(g->question->argv[0], g->environment))
        return -ENOENT;
    /* execve() takes them as they are, and writes to none. */
    for (size_t i = 0; g->question->argv[i]; i++)
        argv[i] = (char *) (uintptr_t) g->question->argv[i];
    return command_run(g->loop, argv, g->environment, TOOL_TIMEOUT_USEC, OUTPUT_MAX_BYTES, on_command, g,
                       &g->command);
}

static void on_timer(void *userdata)
{
    struct gpu *g = userdata;

    command_free(g->command);
    g->command = NULL;
    if (!g->question)
        finish(g);
    else if (run(g) < 0)
        go_on(g);
}

int gpu_ask(struct gpu *g, char *const *environment, bool holders, gpu_fn fn, void *userdata)
{
    if (g->fn)
        return -EBUSY;
    g->environment = environment;
    g->wants_holders = holders;
    g->fn = fn;
    g->userdata = userdata;
    g->tool = 0;
    g->question = &tools[0].devices;
    loop_timer_set(g->timer, 0);
    return 0;
}

void gpu_cancel(struct gpu *g)
{
    g->fn = NULL;
    loop_timer_set(g->timer, USEC_INFINITY);
    command_free(g->command);
    g->command = NULL;
    gpu_state_release(&g->state);
}

void gpu_free(struct gpu *g)
{
    if (!g)
        return;
    gpu_cancel(g);
    loop_timer_free(g->timer);
    free(g);
}
