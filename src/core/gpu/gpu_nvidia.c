/* SPDX-License-Identifier: MIT */
#include "core/gpu/gpu.h"

#include <errno.h>

#include "base/parse.h"
#include "base/str.h"

/* nvidia-smi's CSV: a blank behind each comma, no quoting, "[N/A]" and the like for what it does not know. */

#define MIB_SHIFT 20
#define FIELDS_MAX 8

static int mebibytes(const char *text, uint64_t *ret)
{
    uint64_t n;
    int r = parse_u64(text, &n);

    if (r < 0)
        return r;
    *ret = MIN(n, UINT64_MAX >> MIB_SHIFT) << MIB_SHIFT;
    return 0;
}

/* Cuts the line into `n` fields; a field in the middle, number `greedy`, takes all commas that are too many. Returns
 * false when there are too few. */
static bool cut(char *line, size_t n, size_t greedy, char *fields[])
{
    size_t commas = 0, spare;

    for (const char *s = line; *s; s++)
        commas += *s == ',';
    if (commas + 1 < n)
        return false;
    spare = commas + 1 - n;
    for (size_t i = 0; i < n; i++) {
        char *end = strchr(line, ',');

        for (size_t k = 0; i == greedy && k < spare; k++)
            end = strchr(end + 1, ',');
        if (end)
            *end = '\0';
        fields[i] = str_strip(line);
        line = end ? end + 1 : line + strlen(line);
    }
    return true;
}

typedef int (*line_fn)(struct gpu_state *s, char *line);

static int each_line(struct gpu_state *s, const char *text, size_t len, line_fn fn)
{
    _cleanup_free_ char *copy = strndup(text, len);
    char *rest = NULL;
    int r = copy ? 0 : -ENOMEM;

    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && r == 0; line = strtok_r(NULL, "\n", &rest))
        r = fn(s, line);
    return r;
}

static int add_device(struct gpu_state *s, char *line)
{
    char *fields[FIELDS_MAX];
    uint64_t index, used, total;

    if (!cut(line, 4, 3, fields) || parse_u64(fields[0], &index) < 0 || mebibytes(fields[1], &used) < 0 ||
        mebibytes(fields[2], &total) < 0)
        return 0;
    return gpu_add_device(s, fields[0], fields[3], used, total);
}

static int add_holder(struct gpu_state *s, char *line)
{
    char *fields[FIELDS_MAX];
    uint64_t pid, used = 0;

    if (!cut(line, 4, 2, fields) || parse_u64(fields[0], &pid) < 0 || pid == 0 || pid > INT32_MAX)
        return 0;
    (void) mebibytes(fields[1], &used);
    return gpu_add_holder(s, (pid_t) pid, fields[2][0] == '[' ? "" : fields[2], fields[3], used);
}

int gpu_parse_nvidia_devices(struct gpu_state *s, const char *text, size_t len)
{
    return each_line(s, text, len, add_device);
}

int gpu_parse_nvidia_holders(struct gpu_state *s, const char *text, size_t len)
{
    return each_line(s, text, len, add_holder);
}
