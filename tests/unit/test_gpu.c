/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "core/gpu/gpu.h"

#define MIB(n) (UINT64_C(n) << 20)

/* "0=1024/81920(GPU-a) ... 42:python3@GPU-a=512", sizes in MiB. */
static char *shown(const struct gpu_state *s)
{
    struct strbuf b = {};

    for (size_t i = 0; i < s->n_devices; i++)
        strbuf_appendf(&b, "%s%s=%llu/%llu(%s)", b.len ? " " : "", s->devices[i].name,
                       (unsigned long long) s->devices[i].used >> 20,
                       (unsigned long long) s->devices[i].total >> 20, s->devices[i].uuid);
    for (size_t i = 0; i < s->n_holders; i++)
        strbuf_appendf(&b, "%s%d:%s@%s=%llu", b.len ? " " : "", (int) s->holders[i].pid, s->holders[i].process,
                       s->holders[i].device, (unsigned long long) s->holders[i].used >> 20);
    return strbuf_steal(&b);
}

static void texts(void **state unused)
{
    static const struct {
        const char *name;
        gpu_parse_fn parse;
        const char *text, *expected;
    } rows[] = {
        {"two devices", gpu_parse_nvidia_devices,
         "0, 1024, 81920, GPU-5c1e\n1, 4, 81920, GPU-77aa\n", "0=1024/81920(GPU-5c1e) 1=4/81920(GPU-77aa)"},
        {"shared memory is not told", gpu_parse_nvidia_devices, "0, [N/A], [N/A], GPU-1\n", ""},
        {"some are not told", gpu_parse_nvidia_devices,
         "0, [Not Supported], 1, GPU-1\r\n1, 7, 10, GPU-2\r\n", "1=7/10(GPU-2)"},
        {"no devices", gpu_parse_nvidia_devices, "No devices were found\n", ""},
        {"no driver", gpu_parse_nvidia_devices,
         "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
         "latest NVIDIA driver is installed and running.\n", ""},
        {"cut", gpu_parse_nvidia_devices, "0, 1024, 819", ""},
        {"too large", gpu_parse_nvidia_devices, "0, 18446744073709551615, 1, x\n0, 18446744073709551616, 1, x",
         "0=17592186044415/1(x)"},
        {"holders", gpu_parse_nvidia_holders,
         "4242, 39000, /usr/bin/python3, GPU-5c1e\n4243, 100, VLLM::EngineCore, GPU-5c1e\n",
         "4242:/usr/bin/python3@GPU-5c1e=39000 4243:VLLM::EngineCore@GPU-5c1e=100"},
        {"holders' names", gpu_parse_nvidia_holders,
         "7, 1, a, b --api-key x, GPU-1\n8, [N/A], [Insufficient Permissions], GPU-1\n9, 2, , GPU-1\n",
         "7:a,@GPU-1=1 8:@GPU-1=0 9:@GPU-1=2"},
        {"no holder", gpu_parse_nvidia_holders, "[N/A], 1, x, GPU-1\n0, 1, x, GPU-1\n-1, 1, x, G\n4294967296, 1, x, G\n", ""},
        {"amd devices", gpu_parse_amd_devices,
         "[{\"gpu\": 0, \"mem_usage\": {\"total_vram\": {\"value\": 196592, \"unit\": \"MB\"}, \"used_vram\": "
         "{\"value\": 283, \"unit\": \"MB\"}, \"free_vram\": {\"value\": 196309, \"unit\": \"MB\"}}}]",
         "0=283/196592()"},
        {"amd devices, wrapped, after a warning", gpu_parse_amd_devices,
         "[WARN] something\n{ \"gpu_data\": [{\"gpu\": 0, \"mem_usage\": {\"total_vram\": {\"value\": 2, \"unit\": "
         "\"GB\"}, \"used_vram\": {\"value\": \"1\", \"unit\": \"GB\"}}}, {\"gpu\": 1, \"mem_usage\": \"N/A\"}]}\n",
         "0=1024/2048()"},
        {"amd values that are none", gpu_parse_amd_devices,
         "[{\"gpu\": 0, \"mem_usage\": {\"total_vram\": {\"value\": 1, \"unit\": \"MB\"}, \"used_vram\": {\"value\": "
         "\"N/A\", \"unit\": \"MB\"}}}, {\"gpu\": 1, \"mem_usage\": {\"total_vram\": {\"value\": 1, \"unit\": \"XB\"}, "
         "\"used_vram\": {\"value\": -1, \"unit\": \"MB\"}}}, 7]", ""},
        {"amd holders", gpu_parse_amd_holders,
         "[{\"gpu\": 0, \"process_list\": [{\"process_info\": {\"name\": \"python3\", \"pid\": 42, \"memory_usage\": "
         "{\"gtt_mem\": {\"value\": 0, \"unit\": \"B\"}, \"vram_mem\": {\"value\": 1073741824, \"unit\": \"B\"}}, "
         "\"mem_usage\": {\"value\": 2097152, \"unit\": \"B\"}}}, {\"process_info\": {\"name\": \"idle\", \"pid\": 43, "
         "\"mem_usage\": {\"value\": 0}}}]}, {\"gpu\": 1, \"process_list\": [{\"process_info\": \"No running processes "
         "detected\"}]}]",
         "42:python3@0=1024"},
        {"amd holders, another version", gpu_parse_amd_holders,
         "[{\"gpu\": 3, \"process_list\": [{\"process_info\": {\"pid\": 42, \"mem_usage\": {\"value\": 2, \"unit\": "
         "\"GB\"}}}]}]", "42:@3=2048"},
        {"rocm devices", gpu_parse_rocm_devices,
         "WARNING: AMD GPU device(s) is/are in a low-power state\n\n{\"card0\": {\"VRAM Total Memory (B)\": "
         "\"21458059264\", \"VRAM Total Used Memory (B)\": \"27856896\"}, \"system\": {}}\n",
         "0=26/20464()"},
        {"rocm holders", gpu_parse_rocm_holders,
         "{\"system\": {\"PID123\": \"python3, 1, 30000000000, 0, 0\", \"PID 7\": \"a, b, 2, 1048576, 0, 0\", "
         "\"PID8\": \"idle, 0, 0, 0, 0\", \"PID9\": \"odd\", \"x\": 1}}",
         "123:python3@=28610 7:a@=1"},
        {"nothing", gpu_parse_amd_devices, "", ""},
        {"no JSON", gpu_parse_rocm_devices, "ERROR: cannot load rocm_smi library\n{", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct gpu_state s = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(rows[i].parse(&s, rows[i].text, strlen(rows[i].text)), 0);
        got = shown(&s);
        if (!str_equal(got, rows[i].expected))
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].name, got, rows[i].expected);
        gpu_state_release(&s);
    }
}

static struct gpu_state nvidia(const char *devices, const char *holders)
{
    struct gpu_state s = {};

    assert_int_equal(gpu_parse_nvidia_devices(&s, devices, strlen(devices)), 0);
    assert_int_equal(gpu_parse_nvidia_holders(&s, holders, strlen(holders)), 0);
    return s;
}

static void held(void **state unused)
{
    static const struct {
        const char *before, *now, *holders, *expected;
    } rows[] = {
        {"0, 500, 81920, GPU-a\n1, 4, 81920, GPU-b\n", "0, 500, 81920, GPU-a\n1, 4, 81920, GPU-b\n", "", ""},
        /* a hundredth of the device, or 256 MiB */
        {"0, 500, 81920, GPU-a\n", "0, 1319, 81920, GPU-a\n", "", ""},
        {"0, 500, 8192, GPU-a\n", "0, 756, 8192, GPU-a\n", "", ""},
        {"0, 500, 8192, GPU-a\n", "0, 757, 8192, GPU-a\n", "",
         "GPU 0: 0.7 GiB in use, 0.4 GiB before, and no process is known to hold it"},
        {"0, 512, 81920, GPU-a\n1, 0, 81920, GPU-b\n", "0, 39322, 81920, GPU-a\n1, 2048, 81920, GPU-b\n",
         "4242, 38810, /usr/bin/python3, GPU-a\n4243, [N/A], [Not Found], GPU-b\n",
         "GPU 0: 38.4 GiB in use, 0.5 GiB before, PID 4242 (/usr/bin/python3) holds 37.9 GiB; "
         "GPU 1: 2.0 GiB in use, 0.0 GiB before, PID 4243 holds some of it"},
        /* one that was not there before is nobody's fault */
        {"0, 0, 10, GPU-a\n", "1, 4096, 8192, GPU-b\n", "", ""},
        {"0, 4096, 8192, GPU-a\n", "0, 0, 8192, GPU-a\n", "", ""},
        {"0, 0, 8192, G\n", "0, 4096, 8192, G\n", "1, 1024, a, G\n2, 1024, b, G\n3, 1024, c, G\n4, 1, d, G\n5, 1, e, G\n6, 1, f, G\n",
         "GPU 0: 4.0 GiB in use, 0.0 GiB before, PID 1 (a) holds 1.0 GiB, PID 2 (b) holds 1.0 GiB, PID 3 (c) holds "
         "1.0 GiB, PID 4 (d) holds 0.0 GiB and 2 more"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct gpu_state before = nvidia(rows[i].before, ""), now = nvidia(rows[i].now, rows[i].holders);
        _cleanup_free_ char *got = gpu_describe_held(&before, &now);

        assert_string_equal(got, rows[i].expected);
        assert_row(got, gpu_freed(&before, &now) == str_empty(got));
        gpu_state_release(&before);
        gpu_state_release(&now);
    }
}

static void baseline_only_falls(void **state unused)
{
    struct gpu_state before = nvidia("0, 500, 8192, a\n1, 100, 8192, b\n", "");
    struct gpu_state now = nvidia("0, 30, 8192, a\n1, 4000, 8192, b\n2, 1, 8192, c\n", "");

    gpu_lower(&before, &now);
    assert_int_equal(before.n_devices, 2);
    assert_int_equal(before.devices[0].used, MIB(30));
    assert_int_equal(before.devices[1].used, MIB(100));
    assert_int_equal(gpu_used(&now), MIB(4031));
    gpu_state_release(&before);
    gpu_state_release(&now);
}

static void is_bounded(void **state unused)
{
    struct gpu_state s = {};

    for (int i = 0; i < 2000; i++) {
        assert_int_equal(gpu_add_device(&s, "x", NULL, UINT64_MAX, 0), 0);
        assert_int_equal(gpu_add_holder(&s, i + 1, NULL, NULL, 0), 0);
    }
    assert_true(s.n_devices < 1000);
    assert_true(s.n_holders < 1000);
    assert_int_equal(gpu_used(&s), UINT64_MAX);
    gpu_state_release(&s);
}

static int parse_all(void *data unused)
{
    static const char nvidia_text[] = "0, 1, 2, GPU-1\n", holder_text[] = "7, 1, x, GPU-1\n",
                      rocm_text[] = "{\"system\": {\"PID7\": \"a, 1, 2, 0, 0\"}}";
    struct gpu_state s = {};
    char *text;
    int r = gpu_parse_nvidia_devices(&s, nvidia_text, strlen(nvidia_text));

    if (r == 0)
        r = gpu_parse_nvidia_holders(&s, holder_text, strlen(holder_text));
    if (r == 0)
        r = gpu_parse_rocm_holders(&s, rocm_text, strlen(rocm_text));
    if (r == 0) {
        text = gpu_describe_held(&s, &s);
        r = text ? 0 : -ENOMEM;
        free(text);
    }
    gpu_state_release(&s);
    return r;
}

static void out_of_memory(void **state unused)
{
    chaos_each(parse_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(held),
        cmocka_unit_test(baseline_only_falls),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
