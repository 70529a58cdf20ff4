/* SPDX-License-Identifier: MIT */
#include "ctl/instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"
#include "port/conf_files.h"
#include "port/lock.h"
#include "port/paths.h"
#include "port/store.h"
#include "port/unit_name.h"

#define STATUS_MAX_BYTES ((size_t) 1024 * 1024)

typedef int (*paths_fn)(struct paths *ret);

/* Where instances may be, in the order in which they are looked for. */
static const paths_fn places[] = { paths_find, paths_system };

/* A directory that is only read: nothing is made. */
static int open_below(const char *base, const char *name)
{
    _cleanup_free_ char *path = str_format("%s/%s", base, name);
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (!path)
        return -ENOMEM;
    return fd < 0 ? -errno : fd;
}

static int locate(struct instance *i, const struct paths *paths)
{
    i->runtime_dir = str_format("%s/%s", paths->runtime, i->name);
    i->state_dir = str_format("%s/%s", paths->state, i->name);
    return i->runtime_dir && i->state_dir ? 0 : -ENOMEM;
}

/* Returns the open run-time directory, or -ENOENT where no place has one. A place that may not be looked at does
 * not keep us from the next. */
static int find(struct instance *i)
{
    int absent = -ENOENT;

    for (size_t n = 0; n < ARRAY_SIZE(places); n++) {
        _cleanup_(paths_release) struct paths paths = {};
        int r = places[n](&paths), fd;

        if (r < 0)
            return r;
        fd = open_below(paths.runtime, i->name);
        if (fd == -ENOENT || fd == -EACCES) {
            absent = fd;
            continue;
        }
        if (fd < 0)
            return fd;
        r = locate(i, &paths);
        if (r == 0)
            return fd;
        (void) close_fd(fd);
        return r;
    }
    return absent;
}

static json_t *read_status(int dir_fd)
{
    _cleanup_free_ char *text = NULL;
    size_t len;

    if (store_read(dir_fd, "status.json", STATUS_MAX_BYTES, &text, &len) < 0)
        return NULL;
    return json_loadb(text, len, 0, NULL);
}

int instance_name(const char *word, char **ret)
{
    _cleanup_free_ char *name = unit_name_unescape(word);

    if (!name)
        return -ENOMEM;
    if (!conf_instance_valid(name))
        return -EINVAL;
    *ret = steal_pointer(&name);
    return 0;
}

int instance_read(const char *word, struct instance *ret)
{
    _cleanup_(instance_release) struct instance i = {};
    _cleanup_close_ int fd = -1;
    int r = instance_name(word, &i.name);

    if (r < 0)
        return r;
    fd = find(&i);
    if (fd < 0 && fd != -ENOENT)
        return fd;
    if (fd >= 0) {
        i.running = lock_held(fd, "lock") > 0;
        i.status = read_status(fd);
    }
    *ret = i;
    i = (struct instance){};
    return 0;
}

void instance_release(struct instance *i)
{
    free(i->name);
    free(i->runtime_dir);
    free(i->state_dir);
    json_decref(i->status);
    *i = (struct instance){};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* systemd makes a directory of the name as it stands in the unit's (RuntimeDirectory=coalmine/%i); the
 * instance's own stands beside it. */
static bool is_escaped(const char *name)
{
    _cleanup_free_ char *plain = unit_name_unescape(name);

    return plain && !str_equal(plain, name);
}

static int add_names(const char *base, char ***names)
{
    DIR *dir = opendir(base);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return errno == ENOENT || errno == EACCES ? 0 : -errno;
    while (r == 0 && (entry = readdir(dir)))
        if (conf_instance_valid(entry->d_name) && !is_escaped(entry->d_name) &&
            !strv_contains(*names, entry->d_name))
            r = strv_push(names, entry->d_name);
    (void) closedir(dir);
    return r;
}

int instance_names(char ***ret)
{
    _cleanup_strv_ char **names = NULL;

    for (size_t n = 0; n < ARRAY_SIZE(places); n++) {
        _cleanup_(paths_release) struct paths paths = {};
        int r = places[n](&paths);

        if (r == 0)
            r = add_names(paths.runtime, &names);
        if (r < 0)
            return r;
    }
    if (names)
        qsort(names, strv_length(names), sizeof *names, by_name);
    *ret = steal_pointer(&names);
    return 0;
}

const char *instance_get(const struct instance *i, const char *key)
{
    return str_or_empty(json_string_value(json_object_get(i->status, key)));
}

const char *instance_get_in(const struct instance *i, const char *object, const char *key)
{
    return str_or_empty(json_string_value(json_object_get(json_object_get(i->status, object), key)));
}

static bool state_final(const char *state)
{
    return str_equal(state, "inactive") || str_equal(state, "failed");
}

const char *instance_state(const struct instance *i)
{
    const char *state = instance_get(i, "state");

    if (!i->status)
        return i->running ? "unreadable" : "unknown";
    return i->running || state_final(state) ? state : "dead";
}
