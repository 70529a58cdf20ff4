/* SPDX-License-Identifier: MIT */
#include "port/cgroup_find.h"

#include <errno.h>

#include "base/str.h"

int cgroup_find_path(const char *proc_cgroup, char **ret)
{
    _cleanup_free_ char *content = strdup(proc_cgroup);
    char *rest = content, *line;

    if (!content)
        return -ENOMEM;
    while ((line = strsep(&rest, "\n"))) {
        const char *path = str_after(line, "0::");

        if (!path)
            continue;
        if (*path != '/' || str_after(path, "/.."))
            return -ENOENT;
        *ret = strdup(path);
        return *ret ? 0 : -ENOMEM;
    }
    return -ENOENT;
}

static bool is_octal(const char *s)
{
    return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7';
}

/* Blank, tab, newline and backslash stand as three octal digits in mountinfo. */
static void unescape(char *s)
{
    char *to = s;

    while (*s) {
        if (s[0] == '\\' && is_octal(s + 1)) {
            *to++ = (char) ((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
}

/* What of `path` lies below the mounted part of the hierarchy; NULL if it is not in that part. */
static const char *below_root(const char *path, const char *root)
{
    const char *below = str_after(path, strcmp(root, "/") == 0 ? "" : root);

    return below && (*below == '/' || *below == '\0') ? below : NULL;
}

/* "36 35 98:0 ROOT MOUNT_POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS" */
static int find_in_mount(char *line, const char *path, char ***directories)
{
    _cleanup_free_ char *directory = NULL;
    char *type = strstr(line, " - "), *root, *point;
    const char *below;

    if (!type || !str_after(type, " - cgroup2 "))
        return 0;
    *type = '\0';
    for (int skipped = 0; skipped < 3; skipped++)
        (void) strsep(&line, " ");
    root = strsep(&line, " ");
    point = strsep(&line, " ");
    if (!root || !point)
        return 0;
    unescape(root);
    unescape(point);
    below = below_root(path, root);
    if (!below)
        return 0;
    directory = str_format("%s%s", point, below);
    return directory ? strv_push(directories, directory) : -ENOMEM;
}

int cgroup_find_directories(const char *mountinfo, const char *path, char ***ret)
{
    _cleanup_strv_ char **directories = NULL;
    _cleanup_free_ char *content = strdup(mountinfo);
    char *rest = content, *line;

    if (!content)
        return -ENOMEM;
    while ((line = strsep(&rest, "\n"))) {
        int r = find_in_mount(line, path, &directories);

        if (r < 0)
            return r;
    }
    *ret = steal_pointer(&directories);
    return 0;
}
