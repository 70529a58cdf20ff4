/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/str.h"
#include "port/gpu.h"
#include "scratch.h"
#include "world.h"

/* A directory that is PATH, with fake tools in it. */
struct bench {
    char *directory;
    char *environment[2];
    int fd;
    struct loop *loop;
    struct gpu *gpu;
    bool called;
    size_t n_devices, n_holders;
    uint64_t used;
    pid_t holder;
};

static void set_up(struct bench *b)
{
    *b = (struct bench){ .directory = scratch_new(), .loop = world_loop() };
    b->fd = open(b->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(b->fd >= 0);
    b->environment[0] = str_format("PATH=%s", b->directory);
    assert_int_equal(gpu_new(b->loop, &b->gpu), 0);
}

static void tear_down(struct bench *b)
{
    gpu_free(b->gpu);
    loop_free(b->loop);
    (void) close(b->fd);
    free(b->environment[0]);
    scratch_remove(b->directory);
}

static void add_tool(const struct bench *b, const char *name, const char *script)
{
    scratch_write(b->fd, name, script, strlen(script));
    assert_int_equal(fchmodat(b->fd, name, 0755, 0), 0);
}

static void on_state(const struct gpu_state *state, void *userdata)
{
    struct bench *b = userdata;

    assert_false(b->called);
    b->called = true;
    b->n_devices = state->n_devices;
    b->n_holders = state->n_holders;
    b->used = gpu_used(state);
    b->holder = state->n_holders > 0 ? state->holders[0].pid : 0;
    loop_stop(b->loop);
}

static void ask(struct bench *b, bool holders)
{
    b->called = false;
    assert_int_equal(gpu_ask(b->gpu, b->environment, holders, on_state, b), 0);
    world_run_to_stop(b->loop);
}

#define NVIDIA                                                                       \
    "#!/bin/sh\n"                                                                    \
    "case $1 in\n"                                                                   \
    "--query-gpu=*) echo '0, 1024, 81920, GPU-a'; echo '1, 0, 81920, GPU-b' ;;\n"    \
    "--query-compute-apps=*) echo '4242, 1000, /usr/bin/python3, GPU-a' ;;\n"        \
    "esac\n"

static void no_tool_tells_nothing(void **state unused)
{
    struct bench b;

    set_up(&b);
    assert_false(gpu_has_tool(b.environment));
    ask(&b, true);
    assert_int_equal(b.n_devices, 0);
    tear_down(&b);
}

static void asks_for_devices_and_holders(void **state unused)
{
    struct bench b;

    set_up(&b);
    add_tool(&b, "nvidia-smi", NVIDIA);
    assert_true(gpu_has_tool(b.environment));
    ask(&b, true);
    assert_int_equal(b.n_devices, 2);
    assert_int_equal(b.used, UINT64_C(1024) << 20);
    assert_int_equal(b.holder, 4242);
    ask(&b, false);
    assert_int_equal(b.n_devices, 2);
    assert_int_equal(b.n_holders, 0);
    tear_down(&b);
}

/* A machine may have the tools of a vendor and the cards of another. */
static void goes_on_to_the_next_tool(void **state unused)
{
    struct bench b;

    set_up(&b);
    add_tool(&b, "nvidia-smi", "#!/bin/sh\necho 'NVIDIA-SMI has failed because it could not...'\nexit 9\n");
    add_tool(&b, "amd-smi", "#!/nonexistent\n");
    add_tool(&b, "rocm-smi",
             "#!/bin/sh\ncase $1 in\n"
             "--showmeminfo) echo '{\"card0\": {\"VRAM Total Memory (B)\": \"100\", \"VRAM Total Used Memory (B)\": \"7\"}}' ;;\n"
             "--showpids) echo '{\"system\": {\"PID77\": \"python3, 1, 5, 0, 0\"}}' ;;\nesac\n");
    ask(&b, true);
    assert_int_equal(b.n_devices, 1);
    assert_int_equal(b.used, 7);
    assert_int_equal(b.holder, 77);
    tear_down(&b);
}

static void can_be_cancelled(void **state unused)
{
    struct bench b;

    set_up(&b);
    add_tool(&b, "nvidia-smi", "#!/bin/sh\n/bin/sleep 1000\n");
    assert_int_equal(gpu_ask(b.gpu, b.environment, true, on_state, &b), 0);
    assert_int_equal(gpu_ask(b.gpu, b.environment, true, on_state, &b), -EBUSY);
    world_run_quietly(b.loop, 50 * USEC_PER_MSEC);
    gpu_cancel(b.gpu);
    world_run_quietly(b.loop, 50 * USEC_PER_MSEC);
    assert_false(b.called);
    add_tool(&b, "nvidia-smi", NVIDIA);
    ask(&b, false);
    assert_int_equal(b.n_devices, 2);
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_tool_tells_nothing),
        cmocka_unit_test(asks_for_devices_and_holders),
        cmocka_unit_test(goes_on_to_the_next_tool),
        cmocka_unit_test(can_be_cancelled),
    };

    return world_run_group("gpu", tests);
}
