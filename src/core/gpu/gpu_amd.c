/* SPDX-License-Identifier: MIT */
#include "core/gpu/gpu.h"

#include <errno.h>
#include <jansson.h>

#include "base/parse.h"
#include "base/str.h"

/* The JSON of amd-smi, whose shape has changed over its versions, and of rocm-smi. */

#define TRIES_MAX 64 /* lines that look like the beginning of the document */

/* Warnings may come before it. */
static json_t *load(const char *text, size_t len)
{
    const char *end = text + len, *at = text;

    for (int tries = 0; at < end && tries < TRIES_MAX;) {
        const char *newline;

        if (*at == '{' || *at == '[') {
            json_t *json = json_loadb(at, (size_t) (end - at), JSON_DISABLE_EOF_CHECK, NULL);

            if (json)
                return json;
            tries++;
        }
        newline = memchr(at, '\n', (size_t) (end - at));
        at = newline ? newline + 1 : end;
    }
    return NULL;
}

/* A number, or a text that is one; false for "N/A". */
static bool number(const json_t *value, double *ret)
{
    if (json_is_number(value))
        *ret = json_number_value(value);
    else if (!json_is_string(value) || parse_double(json_string_value(value), ret) < 0)
        return false;
    return *ret >= 0;
}

static uint64_t to_bytes(double n)
{
    return n >= 0x1p63 ? UINT64_C(1) << 63 : (uint64_t) n;
}

static double unit(const json_t *value)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"B", 1}, {"KB", 0x1p10}, {"MB", 0x1p20}, {"GB", 0x1p30}, {"TB", 0x1p40}};
    const char *name = json_string_value(json_object_get(value, "unit"));

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (str_equal(units[i].name, name))
            return units[i].bytes;
    }
    return 0;
}

/* {"value": 283, "unit": "MB"}; a bare number is in `plain` bytes. */
static bool size_of(const json_t *value, double plain, uint64_t *ret)
{
    double n, bytes = plain;

    if (json_is_object(value)) {
        bytes = unit(value);
        value = json_object_get(value, "value");
    }
    if (bytes == 0 || !number(value, &n))
        return false;
    *ret = to_bytes(n * bytes);
    return true;
}

/* The list of GPUs, which newer versions wrap. */
static const json_t *gpus_of(const json_t *root)
{
    const json_t *wrapped = json_object_get(root, "gpu_data");

    return wrapped ? wrapped : root;
}

/* "0" of {"gpu": 0}. */
static void gpu_name(const json_t *gpu, char *buf, size_t size)
{
    const json_t *name = json_object_get(gpu, "gpu");

    if (json_is_string(name))
        (void) snprintf(buf, size, "%s", json_string_value(name));
    else
        (void) snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(name));
}

int gpu_parse_amd_devices(struct gpu_state *s, const char *text, size_t len)
{
    json_auto_t *root = load(text, len);
    const json_t *gpu;
    size_t i;
    int r = 0;

    json_array_foreach(gpus_of(root), i, gpu) {
        const json_t *memory = json_object_get(gpu, "mem_usage");
        uint64_t used, total;
        char name[32];

        gpu_name(gpu, name, sizeof(name));
        if (r == 0 && size_of(json_object_get(memory, "used_vram"), 0x1p20, &used) &&
            size_of(json_object_get(memory, "total_vram"), 0x1p20, &total))
            r = gpu_add_device(s, name, NULL, used, total);
    }
    return r;
}

/* What a process holds is told in one of two places; one that holds nothing is listed with every GPU. */
static uint64_t held_by(const json_t *process)
{
    const json_t *detailed = json_object_get(json_object_get(process, "memory_usage"), "vram_mem");
    uint64_t vram = 0, all = 0;

    (void) size_of(detailed, 1, &vram);
    (void) size_of(json_object_get(process, "mem_usage"), 1, &all);
    return vram > 0 ? vram : all;
}

static int add_amd_holder(struct gpu_state *s, const json_t *process, const char *device)
{
    json_int_t pid = json_integer_value(json_object_get(process, "pid"));
    uint64_t held = held_by(process);

    if (pid <= 0 || pid > INT32_MAX || held == 0)
        return 0;
    return gpu_add_holder(s, (pid_t) pid, json_string_value(json_object_get(process, "name")), device, held);
}

int gpu_parse_amd_holders(struct gpu_state *s, const char *text, size_t len)
{
    json_auto_t *root = load(text, len);
    const json_t *gpu, *entry;
    size_t i, k;
    int r = 0;

    json_array_foreach(gpus_of(root), i, gpu) {
        char name[32];

        gpu_name(gpu, name, sizeof(name));
        json_array_foreach(json_object_get(gpu, "process_list"), k, entry) {
            if (r == 0)
                r = add_amd_holder(s, json_object_get(entry, "process_info"), name);
        }
    }
    return r;
}

int gpu_parse_rocm_devices(struct gpu_state *s, const char *text, size_t len)
{
    json_auto_t *root = load(text, len);
    const char *name;
    json_t *card;
    int r = 0;

    json_object_foreach(root, name, card) {
        const char *index = str_after(name, "card");
        uint64_t used, total;

        if (r == 0 && index && size_of(json_object_get(card, "VRAM Total Used Memory (B)"), 1, &used) &&
            size_of(json_object_get(card, "VRAM Total Memory (B)"), 1, &total))
            r = gpu_add_device(s, index, NULL, used, total);
    }
    return r;
}

/* "python3, 1, 30000000000, 0, 0": name, GPUs, video memory, two more. A name may hold commas, too. */
static int add_rocm_holder(struct gpu_state *s, const char *pid_text, const char *text)
{
    _cleanup_strv_ char **fields = NULL;
    uint64_t pid, used = 0;
    size_t n;

    if (strv_split(text, ",", &fields) < 0)
        return -ENOMEM;
    n = strv_length(fields);
    if (n < 5 || parse_u64(pid_text, &pid) < 0 || pid == 0 || pid > INT32_MAX)
        return 0;
    if (parse_u64(fields[n - 3], &used) < 0 || used == 0)
        return 0;
    return gpu_add_holder(s, (pid_t) pid, fields[0], NULL, used);
}

int gpu_parse_rocm_holders(struct gpu_state *s, const char *text, size_t len)
{
    json_auto_t *root = load(text, len);
    const char *name;
    json_t *value;
    int r = 0;

    json_object_foreach(json_object_get(root, "system"), name, value) {
        const char *pid = str_after(name, "PID");

        if (r == 0 && pid && json_is_string(value))
            r = add_rocm_holder(s, pid, json_string_value(value));
    }
    return r;
}
