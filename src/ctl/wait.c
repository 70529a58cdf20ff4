/* SPDX-License-Identifier: MIT */
#include "ctl/wait.h"

/* coalminectl wait: 0 it is there, 1 it will not be (and at once), 2 time-out or wrong usage. */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "base/parse.h"
#include "base/str.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "ctl/unit.h"
#include "ctl/verb.h"
#include "port/loop.h"

/* The file system tells of changes; this is only for what it cannot tell of, such as a unit that fails
 * before coalmined has said a word. */
#define LOOK_MSEC 500
/* Without systemd nobody can tell whether a start is under way: so long it may take to be seen. */
#define APPEAR_USEC (3 * USEC_PER_SEC)

enum outcome { WAIT_ON, WAIT_THERE, WAIT_NEVER };

static enum outcome look_ready(const struct instance *i)
{
    if (i->running)
        return str_equal(instance_state(i), "active") ? WAIT_THERE : WAIT_ON;
    return WAIT_NEVER;
}

static enum outcome look_stopped(const struct instance *i)
{
    return i->running ? WAIT_ON : WAIT_THERE;
}

/* A coalmined that is not there may be on its way. */
static enum outcome look_again(const struct instance *i, enum outcome outcome, usec_t elapsed)
{
    if (outcome != WAIT_NEVER)
        return outcome;
    switch (unit_of_instance(i)) {
    case VIEW_GOING:
        return WAIT_ON;
    case VIEW_OVER:
        return WAIT_NEVER;
    case VIEW_UNKNOWN:
        break;
    }
    return elapsed < APPEAR_USEC ? WAIT_ON : WAIT_NEVER;
}

/* A change between the look and this is seen LOOK_MSEC later. The lock's file is closed as coalmined ends,
 * the status file is renamed into place. */
static int watch(const struct instance *i)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd >= 0 && i->runtime_dir)
        (void) inotify_add_watch(fd, i->runtime_dir, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF);
    return fd;
}

static void pause_until_change(const struct instance *i, usec_t left)
{
    _cleanup_close_ int fd = watch(i);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    usec_t pause = MIN(left, LOOK_MSEC * USEC_PER_MSEC);

    (void) poll(&p, fd < 0 ? 0 : 1, (int) (pause / USEC_PER_MSEC) + 1);
}

static int say_never(const struct instance *i)
{
    const char *why = instance_get_in(i, "last_failure", "summary");

    return ctl_fail(CTL_FAILED, "%s is %s%s%s", i->name,
                    i->status ? instance_state(i) : "not running", str_empty(why) ? "" : ": ", why);
}

static int wait_for(const char *name, enum outcome (*look)(const struct instance *), usec_t timeout)
{
    usec_t start = loop_now().monotonic;

    for (;;) {
        _cleanup_(instance_release) struct instance i = {};
        usec_t elapsed = usec_sub(loop_now().monotonic, start);
        int r = instance_read(name, &i);

        if (r < 0)
            return ctl_fail(CTL_USAGE, "%s: %s", name, r == -EINVAL ? "not a name of an instance" : strerror(-r));
        switch (look_again(&i, look(&i), elapsed)) {
        case WAIT_THERE:
            return CTL_OK;
        case WAIT_NEVER:
            return say_never(&i);
        case WAIT_ON:
            break;
        }
        if (elapsed >= timeout)
            return ctl_fail(CTL_USAGE, "%s is still %s", name, instance_state(&i));
        pause_until_change(&i, usec_sub(timeout, elapsed));
    }
}

int ctl_wait_ready(const char *name, usec_t timeout)
{
    return wait_for(name, look_ready, timeout);
}

int ctl_wait(int argc, char **argv)
{
    const char *goal = "ready", *timeout_text = "infinity";
    const struct ctl_option options[] = {
        { .name = "for", .value = &goal },
        { .name = "timeout", .value = &timeout_text },
    };
    usec_t timeout;

    if (ctl_parse(argc, argv, options, ARRAY_SIZE(options), 1, 1) < 0)
        return CTL_USAGE;
    if (parse_timespan(timeout_text, &timeout) < 0)
        return ctl_fail(CTL_USAGE, "--timeout: '%s' is no time span such as 90s or 15min", timeout_text);
    if (str_equal(goal, "ready"))
        return ctl_wait_ready(argv[optind], timeout);
    if (str_equal(goal, "stopped"))
        return wait_for(argv[optind], look_stopped, timeout);
    return ctl_fail(CTL_USAGE, "--for: 'ready' or 'stopped', not '%s'", goal);
}
