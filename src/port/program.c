/* SPDX-License-Identifier: MIT */
#include "port/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/str.h"

/* What execvp(3) takes, too (confstr(3), _CS_PATH). */
#define DEFAULT_PATH "/bin:/usr/bin"

static const char *search_path(char *const *environment)
{
    const char *value;

    for (size_t i = 0; environment && environment[i]; i++) {
        value = str_after(environment[i], "PATH=");
        if (value)
            return value;
    }
    return DEFAULT_PATH;
}

/* 0, or the negative errno that says why this is no program. Directories pass access(2), too. */
static int check_program(int dir_fd, const char *path)
{
    struct stat st;

    if (fstatat(dir_fd, path, &st, 0) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EACCES;
    if (faccessat(dir_fd, path, X_OK, AT_EACCESS) < 0)
        return -errno;
    return 0;
}

/* An empty part of PATH is the current directory; one that is too long stays so. */
static char *join(const char *directory, size_t length, const char *name)
{
    if (length == 0)
        return str_format("./%s", name);
    return str_format("%.*s/%s", (int) MIN(length, (size_t) PATH_MAX), directory, name);
}

int program_find(const char *name, char *const *environment, int dir_fd, char **ret)
{
    const char *rest = search_path(environment);
    int result = -ENOENT;

    if (strchr(name, '/')) {
        *ret = strdup(name);
        return *ret ? 0 : -ENOMEM;
    }
    while (rest && *name != '\0') {
        size_t length = strcspn(rest, ":");
        _cleanup_free_ char *path = join(rest, length, name);
        int r;

        if (!path)
            return -ENOMEM;
        r = check_program(dir_fd, path);
        if (r == 0) {
            *ret = steal_pointer(&path);
            return 0;
        }
        if (r == -EACCES)
            result = -EACCES;
        rest = rest[length] == ':' ? rest + length + 1 : NULL;
    }
    return result;
}
