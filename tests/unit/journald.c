/* SPDX-License-Identifier: MIT */
#include "journald.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "scratch.h"
#include "unit.h"

#define PROGRAM "/lib/systemd/systemd-journald"
#define INVOCATION "0123456789abcdef0123456789abcdef"

/* Nothing on disk, every line kept, and kernel lines. */
#define CONFIGURATION "[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\nReadKMsg=yes\nAudit=no\n"

static const char *const directories[] = {
    "/run/systemd", "/run/systemd/journal", "/run/systemd/journald.conf.d", "/run/systemd/units",
    "/run/log", "/run/log/journal",
};

static const char *make_room(void)
{
    if (geteuid() != 0)
        return "starting a journald takes root";
    if (access(PROGRAM, X_OK) < 0 || access("/etc/machine-id", R_OK) < 0)
        return "there is no journald, or no machine ID";
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/run", "tmpfs", 0, "mode=755") < 0)
        return "starting a journald takes the right to mount";
    if (access("/var/log/journal", F_OK) == 0 && mount("tmpfs", "/var/log/journal", "tmpfs", 0, NULL) < 0)
        return "/var/log/journal cannot be hidden";
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        assert_int_equal(mkdir(directories[i], 0755), 0);
    scratch_write(AT_FDCWD, "/run/systemd/journald.conf.d/test.conf", CONFIGURATION,
                  strlen(CONFIGURATION));
    return NULL;
}

/* journald asks /proc for a writer's unit and takes the stream's word in the root cgroup; the unit's
 * invocation is where PID 1 would have put it. */
static const char *make_unit(void)
{
    static char path[256];
    char *unit = NULL;
    const char *name = sd_pid_get_unit(0, &unit) >= 0 ? unit : JOURNALD_UNIT;
    int n = snprintf(path, sizeof(path), "/run/systemd/units/invocation:%s", name);

    free(unit);
    assert_true(n > 0 && (size_t) n < sizeof(path));
    assert_int_equal(symlink(INVOCATION, path), 0);
    return strchr(path, ':') + 1;
}

void journald_start(struct journald *j)
{
    pid_t parent = getpid();

    j->pid = fork();
    if (j->pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
            _exit(1);
        (void) execl(PROGRAM, PROGRAM, (char *) NULL);
        _exit(1);
    }
    assert_true(j->pid > 0);
    for (int i = 0; i < 500 && access("/run/systemd/journal/stdout", F_OK) < 0; i++)
        assert_int_equal(usleep(10000), 0);
    /* It opens its sockets before its files. */
    assert_int_equal(usleep(200000), 0);
}

void journald_stop(struct journald *j)
{
    assert_int_equal(kill(j->pid, SIGTERM), 0);
    assert_int_equal(waitpid(j->pid, NULL, 0), j->pid);
    j->pid = 0;
    assert_int_equal(unlink("/run/systemd/journal/stdout"), 0);
}

struct journald journald_enter(void)
{
    struct journald j = {};

    if (getenv("COALMINE_TEST_JOURNAL")) {
        j.invocation = getenv("INVOCATION_ID");
        j.unit = getenv("COALMINE_TEST_UNIT");
        return j;
    }
    j.missing = make_room();
    if (j.missing)
        return j;
    j.is_private = true;
    j.unit = make_unit();
    j.invocation = INVOCATION;
    journald_start(&j);
    return j;
}
