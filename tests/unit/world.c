/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <dirent.h>

#include "unit.h"

struct limit {
    struct loop *loop;
    bool up;
};

static void on_limit(void *userdata)
{
    struct limit *limit = userdata;

    limit->up = true;
    loop_stop(limit->loop);
}

bool world_run(struct loop *l, usec_t limit)
{
    _cleanup_(loop_timer_freep) struct loop_timer *timer = NULL;
    struct limit data = {.loop = l};

    assert_int_equal(loop_timer_new(l, on_limit, &data, &timer), 0);
    loop_timer_set(timer, usec_add(world_now(), limit));
    loop_run(l);
    return !data.up;
}

void world_run_to_stop(struct loop *l)
{
    assert_true(world_run(l, WORLD_LIMIT));
}

void world_run_quietly(struct loop *l, usec_t span)
{
    assert_false(world_run(l, span));
}

struct loop *world_loop(void)
{
    struct loop *l = NULL;

    assert_int_equal(loop_new(&l), 0);
    assert_non_null(l);
    return l;
}

usec_t world_now(void)
{
    return loop_now().monotonic;
}

size_t world_count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}
