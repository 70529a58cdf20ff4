# SPDX-License-Identifier: MIT
"""A wall clock that can be set for some processes alone: the machine's is everybody's."""

import struct

# Adds the number of seconds that a file holds to CLOCK_REALTIME; preloaded.
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t *offset;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path = getenv("WALL_CLOCK_OFFSET");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);

    offset = p == MAP_FAILED ? NULL : p;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int r = (int) syscall(SYS_clock_gettime, clock, ts);

    if (r == 0 && clock == CLOCK_REALTIME && offset)
        ts->tv_sec += *offset;
    return r;
}

int gettimeofday(struct timeval *tv, void *zone)
{
    struct timespec ts;

    (void) zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    *tv = (struct timeval){ .tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000 };
    return 0;
}

time_t time(time_t *t)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (t)
        *t = ts.tv_sec;
    return ts.tv_sec;
}
"""


class WallClock:
    """Built in DIRECTORY of MACHINE; processes with `environment` go by it."""

    def __init__(self, machine, directory):
        self.machine = machine
        self._offset = f"{directory}/offset"
        shim = f"{directory}/wall_clock"
        machine.write(f"{shim}.c", SHIM)
        machine.run(["cc", "-O1", "-shared", "-fPIC", "-o", f"{shim}.so", f"{shim}.c"])
        self.set(0)
        self.environment = {"LD_PRELOAD": f"{shim}.so", "WALL_CLOCK_OFFSET": self._offset}

    def set(self, seconds):
        """SECONDS before or after the machine's own clock, at once and in one piece."""
        data = struct.pack("=q", seconds).hex()
        script = "import os, sys; os.pwrite(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), bytes.fromhex(sys.argv[2]), 0)"
        self.machine.run(["python3", "-c", script, self._offset, data])
