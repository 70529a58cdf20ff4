/* SPDX-License-Identifier: MIT */
#include "port/procinfo.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

static void close_dirp(DIR **d)
{
    if (*d)
        (void) closedir(*d);
}

int procinfo_numbers(const char *directory, size_t max, int **ret, size_t *ret_n)
{
    _cleanup_(close_dirp) DIR *dir = opendir(directory);
    _cleanup_free_ int *numbers = NULL;
    const struct dirent *entry;
    size_t n = 0, room = 0;

    if (!dir)
        return -errno;
    while (n < max && (entry = readdir(dir))) {
        if (!isdigit((unsigned char) entry->d_name[0]))
            continue;
        if (n == room) {
            int *more = reallocarray(numbers, room = room ? 2 * room : 64, sizeof *numbers);

            if (!more)
                return -ENOMEM;
            numbers = more;
        }
        numbers[n++] = (int) strtol(entry->d_name, NULL, 10);
    }
    *ret = steal_pointer(&numbers);
    *ret_n = n;
    return 0;
}

int procinfo_read(pid_t pid, const char *entry, char *buf, size_t size)
{
    char path[128];
    _cleanup_close_ int fd = -1;
    ssize_t n;

    (void) snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, entry);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        return errno == ESRCH ? -ENOENT : -errno;
    buf[n] = '\0';
    return 0;
}

static usec_t ticks_to_usec(uint64_t ticks)
{
    long hz = sysconf(_SC_CLK_TCK);

    return usec_mul(ticks, USEC_PER_SEC / (uint64_t) (hz > 0 ? hz : 100));
}

/* The command name stands in parentheses and may itself hold any byte: the last ')' ends it. */
static int parse_stat(const char *text, struct procinfo_stat *ret)
{
    const char *after = strrchr(text, ')'); /* ") S PPID ..." */
    unsigned long user, system;
    char state;
    int parent;

    if (!after || sscanf(after, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &parent, &user,
                         &system) != 4)
        return -EBADMSG;
    *ret = (struct procinfo_stat){
        .state = state, .parent = parent, .cpu_usec = ticks_to_usec((uint64_t) user + system)
    };
    return 0;
}

static int read_stat(pid_t pid, const char *entry, struct procinfo_stat *ret)
{
    char text[512];
    int r = procinfo_read(pid, entry, text, sizeof text);

    return r < 0 ? r : parse_stat(text, ret);
}

int procinfo_stat(pid_t pid, struct procinfo_stat *ret)
{
    return read_stat(pid, "stat", ret);
}

int procinfo_stat_of_thread(pid_t pid, pid_t tid, struct procinfo_stat *ret)
{
    char entry[64];

    (void) snprintf(entry, sizeof entry, "task/%d/stat", (int) tid);
    return read_stat(pid, entry, ret);
}

static uint64_t field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

int procinfo_io(pid_t pid, uint64_t *ret_bytes)
{
    char text[512];
    int r = procinfo_read(pid, "io", text, sizeof text);

    if (r < 0)
        return r;
    /* rchar and wchar leave out what is mapped; read_bytes has that too once it comes from storage. */
    *ret_bytes = field(text, "rchar: ") + field(text, "wchar: ") + field(text, "\nread_bytes: ");
    return 0;
}

int procinfo_comm(pid_t pid, char ret[PROCINFO_COMM_MAX])
{
    char text[PROCINFO_COMM_MAX + 1]; /* and the newline */
    int r = procinfo_read(pid, "comm", text, sizeof text);

    if (r < 0)
        return r;
    text[strcspn(text, "\n")] = '\0';
    memcpy(ret, text, strnlen(text, PROCINFO_COMM_MAX - 1) + 1);
    return 0;
}
