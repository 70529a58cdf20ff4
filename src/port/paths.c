/* SPDX-License-Identifier: MIT */
#include "port/paths.h"

#include <errno.h>
#include <unistd.h>

#include "base/str.h"

#define RUNTIME_VARIABLE "COALMINE_RUNTIME_DIR"
#define STATE_VARIABLE "COALMINE_STATE_DIR"
#define SYSTEM_RUNTIME COALMINE_RUNSTATEDIR "/coalmine"
#define SYSTEM_STATE COALMINE_LOCALSTATEDIR "/coalmine"

/* Owned. */
static char *system_directory(const char *variable, const char *usual)
{
    const char *given = getenv(variable);

    return strdup(str_empty(given) ? usual : given);
}

/* $variable, else $user_variable/coalmine, else below the home directory (NULL: not there). Owned. */
static char *user_directory(const char *variable, const char *user_variable, const char *home_below)
{
    const char *given = getenv(variable);
    const char *user = getenv(user_variable);
    const char *home = getenv("HOME");

    if (!str_empty(given))
        return strdup(given);
    if (!str_empty(user))
        return str_format("%s/coalmine", user);
    if (!str_empty(home) && home_below)
        return str_format("%s/%s/coalmine", home, home_below);
    return str_format("/run/user/%u/coalmine", (unsigned) geteuid());
}

static int take(struct paths p, struct paths *ret)
{
    if (!p.runtime || !p.state) {
        paths_release(&p);
        return -ENOMEM;
    }
    *ret = p;
    return 0;
}

int paths_find(struct paths *ret)
{
    if (geteuid() == 0)
        return paths_system(ret);
    return take((struct paths){ .runtime = user_directory(RUNTIME_VARIABLE, "XDG_RUNTIME_DIR", NULL),
                                .state = user_directory(STATE_VARIABLE, "XDG_STATE_HOME", ".local/state") },
                ret);
}

int paths_system(struct paths *ret)
{
    return take((struct paths){ .runtime = system_directory(RUNTIME_VARIABLE, SYSTEM_RUNTIME),
                                .state = system_directory(STATE_VARIABLE, SYSTEM_STATE) },
                ret);
}

void paths_release(struct paths *p)
{
    free(p->runtime);
    free(p->state);
    *p = (struct paths){};
}
