/* SPDX-License-Identifier: MIT */
#include "core/config/directories.h"

#include <errno.h>

#include "base/str.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Whether `..` is a component of the path. */
static bool climbs(const char *path)
{
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, "..")) {
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}

/* Whether anything but slashes is in it. */
static bool names_something(const char *path)
{
    return path[strspn(path, "/")] != '\0';
}

bool directories_is_one(const char *word)
{
    size_t name;

    if (climbs(word))
        return false;
    if (word[0] == '/')
        return names_something(word);
    if (word[0] == '~')
        return word[1] == '/' && names_something(word + 1);
    name = word[0] == '$' ? strspn(word + 1, NAME_LETTERS) : 0;
    return name > 0 && (word[1 + name] == '\0' || word[1 + name] == '/');
}

static const char *path_or_null(const char *value)
{
    return value[0] == '/' && names_something(value) ? value : NULL;
}

/* The path that the variable names whose name is the first n bytes at `name`; NULL: none. */
static const char *lookup(char *const *environment, const char *name, size_t n)
{
    for (size_t i = 0; environment && environment[i]; i++) {
        if (strncmp(environment[i], name, n) == 0 && environment[i][n] == '=')
            return path_or_null(environment[i] + n + 1);
    }
    return NULL;
}

/* *ret is NULL where the word names nothing here. */
static int expand(const char *word, char *const *environment, const char *home, char **ret)
{
    size_t name = word[0] == '$' ? strspn(word + 1, NAME_LETTERS) : 0;
    const char *base = word[0] == '~'   ? home
                       : word[0] == '$' ? lookup(environment, word + 1, name)
                                        : "";
    const char *rest = word[0] == '/' ? word : word + 1 + name;
    char *path;

    *ret = NULL;
    if (!base)
        return 0;
    path = str_format("%s%s", base, rest);
    if (!path)
        return -ENOMEM;
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    *ret = path;
    return 0;
}

static bool usable(const char *path, const char *home)
{
    return path && path[0] == '/' && names_something(path) && !climbs(path) && !str_equal(path, home);
}

int directories_expand(char *const *list, char *const *environment, const char *home, char ***ret)
{
    _cleanup_strv_ char **paths = NULL;

    for (size_t i = 0; list && list[i]; i++) {
        _cleanup_free_ char *path = NULL;
        int r = expand(list[i], environment, home, &path);

        if (r == 0 && usable(path, home) && !strv_contains(paths, path))
            r = strv_push(&paths, path);
        if (r < 0)
            return r;
    }
    *ret = steal_pointer(&paths);
    return 0;
}
