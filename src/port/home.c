/* SPDX-License-Identifier: MIT */
#include "port/home.h"

#include <pwd.h>
#include <unistd.h>

#include "base/str.h"

char *home_directory(char *const *environment)
{
    struct passwd entry, *found = NULL;
    char buf[4096];

    for (size_t i = 0; environment && environment[i]; i++) {
        const char *home = str_after(environment[i], "HOME=");

        if (home && home[0] == '/')
            return strdup(home);
    }
    if (getpwuid_r(geteuid(), &entry, buf, sizeof buf, &found) != 0 || !found || str_empty(found->pw_dir))
        return NULL;
    return strdup(found->pw_dir);
}
