/* SPDX-License-Identifier: MIT */
#include "port/procinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Reads /proc/PID/NAME, cut to size - 1 bytes, NUL-terminated. */
static int read_entry(pid_t pid, const char *name, char *buf, size_t size)
{
    char path[64];
    _cleanup_close_ int fd = -1;
    ssize_t n;

    (void) snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        return errno == ESRCH ? -ENOENT : -errno;
    buf[n] = '\0';
    return 0;
}

static uint64_t field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

int procinfo_io(pid_t pid, uint64_t *ret_bytes)
{
    char text[512];
    int r = read_entry(pid, "io", text, sizeof text);

    if (r < 0)
        return r;
    /* rchar and wchar leave out what is mapped; read_bytes has that too once it comes from storage. */
    *ret_bytes = field(text, "rchar: ") + field(text, "wchar: ") + field(text, "\nread_bytes: ");
    return 0;
}

int procinfo_comm(pid_t pid, char ret[PROCINFO_COMM_MAX])
{
    char text[PROCINFO_COMM_MAX + 1]; /* and the newline */
    int r = read_entry(pid, "comm", text, sizeof text);

    if (r < 0)
        return r;
    text[strcspn(text, "\n")] = '\0';
    memcpy(ret, text, strnlen(text, PROCINFO_COMM_MAX - 1) + 1);
    return 0;
}
