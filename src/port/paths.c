/* SPDX-License-Identifier: MIT */
#include "port/paths.h"

#include <errno.h>
#include <unistd.h>

#include "base/str.h"

#define SYSTEM_RUNTIME COALMINE_RUNSTATEDIR "/coalmine"
#define SYSTEM_STATE COALMINE_LOCALSTATEDIR "/coalmine"

/* $variable, else $fallback_variable/below, else fallback (NULL: under the home directory is not to be
 * had either). Owned. */
static char *base_directory(const char *variable, const char *user_variable, const char *home_below,
                            const char *system)
{
    const char *given = getenv(variable);
    const char *user = getenv(user_variable);
    const char *home = getenv("HOME");

    if (!str_empty(given))
        return strdup(given);
    if (geteuid() == 0)
        return strdup(system);
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
    struct paths p = {
        .runtime = base_directory("COALMINE_RUNTIME_DIR", "XDG_RUNTIME_DIR", NULL, SYSTEM_RUNTIME),
        .state = base_directory("COALMINE_STATE_DIR", "XDG_STATE_HOME", ".local/state", SYSTEM_STATE),
    };

    return take(p, ret);
}

int paths_system(struct paths *ret)
{
    return take((struct paths){ .runtime = strdup(SYSTEM_RUNTIME), .state = strdup(SYSTEM_STATE) }, ret);
}

void paths_release(struct paths *p)
{
    free(p->runtime);
    free(p->state);
    *p = (struct paths){};
}
