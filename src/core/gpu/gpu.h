/* SPDX-License-Identifier: MIT */
#pragma once

/* What the GPUs' own tools tell of memory, and who holds it. Texts in, structs out; whatever the texts are. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

struct gpu_device {
    char *name; /* as people number it: "0" */
    char *uuid; /* as holders name it; "" where the tool has none */
    uint64_t used; /* bytes */
    uint64_t total;
};

struct gpu_holder {
    pid_t pid;
    char *process; /* the first word of its name; "" where it is not told */
    char *device;  /* a device's uuid or name; "" where it is not told */
    uint64_t used; /* bytes; 0: not told */
};

/* Zero-initialise. */
struct gpu_state {
    struct gpu_device *devices;
    size_t n_devices;
    struct gpu_holder *holders;
    size_t n_holders;
};

void gpu_state_release(struct gpu_state *s);
/* Empty strings stand for NULL. Beyond some hundreds nothing is added. -ENOMEM only. */
must_check int gpu_add_device(struct gpu_state *s, const char *name, const char *uuid, uint64_t used, uint64_t total);
must_check int gpu_add_holder(struct gpu_state *s, pid_t pid, const char *process, const char *device, uint64_t used);

/* Each adds what it finds in the text; a device that does not tell its memory is none. -ENOMEM only. */
typedef int (*gpu_parse_fn)(struct gpu_state *s, const char *text, size_t len);
/* --query-gpu=index,memory.used,memory.total,uuid and --query-compute-apps=pid,used_memory,process_name,gpu_uuid,
 * both with --format=csv,noheader,nounits */
must_check int gpu_parse_nvidia_devices(struct gpu_state *s, const char *text, size_t len);
must_check int gpu_parse_nvidia_holders(struct gpu_state *s, const char *text, size_t len);
/* amd-smi metric --mem-usage --json and amd-smi process --json */
must_check int gpu_parse_amd_devices(struct gpu_state *s, const char *text, size_t len);
must_check int gpu_parse_amd_holders(struct gpu_state *s, const char *text, size_t len);
/* rocm-smi --showmeminfo vram --json and rocm-smi --showpids --json */
must_check int gpu_parse_rocm_devices(struct gpu_state *s, const char *text, size_t len);
must_check int gpu_parse_rocm_holders(struct gpu_state *s, const char *text, size_t len);

/* All devices' used memory. */
uint64_t gpu_used(const struct gpu_state *s);
/* Whether no device has much more in use than it had in `before` (a device that was not there counts as free). */
bool gpu_freed(const struct gpu_state *before, const struct gpu_state *now);
/* What keeps it from being freed, for people: "GPU 0: 38.2 GiB in use, 0.5 GiB before, PID 4242 (python3) holds
 * 37.9 GiB"; "" where nothing does. Owned; NULL: memory. */
must_check char *gpu_describe_held(const struct gpu_state *before, const struct gpu_state *now);
/* `before` becomes the least that each device has been seen with. */
void gpu_lower(struct gpu_state *before, const struct gpu_state *now);
