/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/str.h"
#include "port/child.h"

/* Variables by which systemd speaks to the supervisor alone. */
static const char *const supervisors_own[] = {
    "NOTIFY_SOCKET=",
    "WATCHDOG_USEC=",
    "WATCHDOG_PID=",
    "LISTEN_FDS=",
    "LISTEN_PID=",
    "LISTEN_PIDFDID=",
    "LISTEN_FDNAMES=",
    NULL,
};

/* Any of these in `extra` chooses the language of messages (locale(7)). */
static const char *const locale_choices[] = {"LC_ALL=", "LC_MESSAGES=", "LANG=", NULL};

/* Otherwise these make room for PLAIN_MESSAGES: the variable itself, and the one that is stronger
 * than it (gettext(3)). */
static const char *const locale_overridden[] = {"LC_MESSAGES=", "LANGUAGE=", NULL};
#define PLAIN_MESSAGES "LC_MESSAGES=C.UTF-8"

static bool is_assignment(const char *s)
{
    return *s != '=' && strchr(s, '=');
}

static bool same_variable(const char *a, const char *b)
{
    return strncmp(a, b, strcspn(b, "=") + 1) == 0;
}

static bool is_one_of(const char *const names[], const char *assignment)
{
    for (size_t i = 0; names[i]; i++) {
        if (same_variable(names[i], assignment))
            return true;
    }
    return false;
}

static bool sets(char *const *assignments, const char *variable)
{
    for (size_t i = 0; assignments && assignments[i]; i++) {
        if (same_variable(assignments[i], variable))
            return true;
    }
    return false;
}

static int push_inherited(char ***v, char *const *environment, char *const *extra, bool plain)
{
    for (size_t i = 0; environment && environment[i]; i++) {
        const char *e = environment[i];
        int r;

        if (!is_assignment(e) || is_one_of(supervisors_own, e) || sets(extra, e))
            continue;
        if (plain && is_one_of(locale_overridden, e))
            continue;
        r = strv_push(v, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int push_extra(char ***v, char *const *extra)
{
    for (size_t i = 0; extra && extra[i]; i++) {
        int r;

        if (!is_assignment(extra[i]))
            return -EINVAL;
        if (sets(extra + i + 1, extra[i]))
            continue;
        r = strv_push(v, extra[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int child_environment(char *const *environment, char *const *extra, char ***ret)
{
    _cleanup_strv_ char **v = NULL;
    bool plain = true;
    int r;

    for (size_t i = 0; locale_choices[i]; i++)
        plain = plain && !sets(extra, locale_choices[i]);
    r = push_inherited(&v, environment, extra, plain);
    if (r >= 0)
        r = push_extra(&v, extra);
    if (r >= 0 && plain)
        r = strv_push(&v, PLAIN_MESSAGES);
    if (r < 0)
        return r;
    *ret = steal_pointer(&v);
    return 0;
}
