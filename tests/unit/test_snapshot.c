/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/snapshot.h"

#define WAITS 3

static struct snapshot_process process_of(pid_t pid, const char *name, const char *states)
{
    struct snapshot_process p = {.pid = pid, .parent = 1, .state = states[0], .name = strdup(name)};

    for (const char *s = states; *s; s++)
        assert_int_equal(snapshot_add_wait(&p, *s, *s == 'R' ? "" : *s == 'D' ? "nv_wait" : "futex", WAITS), 0);
    return p;
}

static struct snapshot snapshot_of(size_t n)
{
    return (struct snapshot){.processes = calloc(n, sizeof(struct snapshot_process)), .n = n};
}

static void threads_are_counted_by_place(void **state unused)
{
    struct snapshot s = snapshot_of(1);
    struct snapshot_process *p = &s.processes[0];

    *p = process_of(7, "python3", "SRSSRD");
    assert_int_equal(p->n_waits, 3);
    assert_int_equal(p->waits[0].threads, 3);
    assert_int_equal(p->waits[1].threads, 2);
    assert_int_equal(p->waits[2].state, 'D');
    assert_int_equal(snapshot_add_wait(p, 'S', "pipe_read", WAITS), 0);
    assert_int_equal(p->n_waits, 3);
    snapshot_release(&s);
    assert_null(s.processes);
}

static void describes_what_is_in_the_way(void **state unused)
{
    static const struct {
        const char *first, *second, *expected;
    } rows[] = {
        {"S", "SD", "PID 12 (second) is in uninterruptible sleep in nv_wait"},
        {"SSD", "D", "PID 11 (first) is in uninterruptible sleep in nv_wait"},
        {"R", "S", "PID 11 (first) is left"},
    };
    struct snapshot none = {};
    char *text = snapshot_describe_stuck(&none);

    assert_string_equal(text, "");
    free(text);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct snapshot s = snapshot_of(2);

        s.processes[0] = process_of(11, "first", rows[i].first);
        s.processes[1] = process_of(12, "second", rows[i].second);
        text = snapshot_describe_stuck(&s);
        assert_string_equal(text, rows[i].expected);
        free(text);
        snapshot_release(&s);
    }
}

static int build_one(void *data)
{
    struct build b = {.root = json_object()};

    snapshot_build(data, &b, b.root);
    if (!build_finish(&b))
        return -ENOMEM;
    json_decref(b.root);
    return 0;
}

static void builds_the_report(void **state unused)
{
    struct snapshot s = snapshot_of(1);
    struct build b = {.root = json_object()};
    char *text;

    s.processes[0] = process_of(7, "a\"b", "SR");
    assert_int_equal(strv_push(&s.processes[0].stack, "futex_wait+0x1/0x2"), 0);
    assert_int_equal(strv_push(&s.sockets, "tcp 127.0.0.1:1 listen, PID 7"), 0);
    s.left_out = 3;
    snapshot_build(&s, &b, b.root);
    text = json_dumps(b.root, JSON_COMPACT);
    assert_string_equal(text,
                        "{\"processes\":[{\"pid\":7,\"parent\":1,\"name\":\"a\\\"b\",\"state\":\"sleeping\","
                        "\"threads\":[{\"count\":1,\"state\":\"sleeping\",\"wait_channel\":\"futex\"},"
                        "{\"count\":1,\"state\":\"running\"}],\"kernel_stack\":[\"futex_wait+0x1/0x2\"]}],"
                        "\"processes_left_out\":3,\"sockets\":[\"tcp 127.0.0.1:1 listen, PID 7\"]}");
    free(text);
    json_decref(b.root);
    json_set_alloc_funcs(chaos_malloc, free);
    chaos_each(build_one, &s);
    json_set_alloc_funcs(malloc, free);
    snapshot_release(&s);
}

static int add_some(void *data unused)
{
    struct snapshot_process p = {};
    int r = snapshot_add_wait(&p, 'S', "futex", WAITS);

    if (r == 0)
        r = snapshot_add_wait(&p, 'S', "poll", WAITS);
    for (size_t i = 0; i < p.n_waits; i++)
        free(p.waits[i].channel);
    free(p.waits);
    return r;
}

static void out_of_memory(void **state unused)
{
    chaos_each(add_some, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_counted_by_place),
        cmocka_unit_test(describes_what_is_in_the_way),
        cmocka_unit_test(builds_the_report),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
