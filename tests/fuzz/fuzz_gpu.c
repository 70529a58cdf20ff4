/* SPDX-License-Identifier: MIT */
/* The first byte chooses the tool, the rest is what it prints: before a server's life up to a NUL, after it behind. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu/gpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const gpu_parse_fn parsers[] = {
    gpu_parse_nvidia_devices, gpu_parse_amd_devices, gpu_parse_rocm_devices,
    gpu_parse_nvidia_holders, gpu_parse_amd_holders, gpu_parse_rocm_holders,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct gpu_state before = {}, now = {};
    const char *text = (const char *) bytes + 1;
    size_t first;
    char *held;

    if (n == 0)
        return 0;
    n--;
    first = strnlen(text, n);
    if (parsers[bytes[0] % 3](&before, text, first) < 0 || parsers[bytes[0] % 3](&now, text, first) < 0)
        abort();
    for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
        if (parsers[i](&now, text + first, n - first) < 0)
            abort();
    }
    held = gpu_describe_held(&before, &now);
    if (!held || gpu_freed(&before, &now) != (held[0] == '\0'))
        abort();
    gpu_lower(&before, &now);
    if (!gpu_freed(&now, &before))
        abort();
    free(held);
    gpu_state_release(&before);
    gpu_state_release(&now);
    return 0;
}
