/* SPDX-License-Identifier: MIT */
#include "port/conf_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/str.h"
#include "core/config/unitfile.h"
#include "port/store.h"

#define SUFFIX ".conf"

/* A link to /dev/null in place of a file says that there shall be none. */
static bool is_masked(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static int tell_unreadable(const char *path, int error, const char *expected, struct problems *p)
{
    struct stat st;

    if (error == -ENOMEM)
        return error;
    if (error == -ENOENT || error == -ENOTDIR)
        return problems_add(p, path, 0, "no such file; expected %s", expected);
    if (error == -EACCES)
        return problems_add(p, path, 0, "permission denied; expected a file that user %u may read",
                            (unsigned) geteuid());
    if (error == -EFBIG)
        return problems_add(p, path, 0, "larger than %zu MiB; expected %s", UNITFILE_MAX_BYTES >> 20,
                            expected);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return problems_add(p, path, 0, "%s; expected %s",
                            S_ISDIR(st.st_mode) ? "a directory" : "not a regular file", expected);
    return problems_add(p, path, 0, "%s; expected %s", strerrordesc_np(-error), expected);
}

static int append_text(struct conf_texts *t, const char *path, char *text, size_t len)
{
    struct conf_text *grown = reallocarray(t->items, t->n + 1, sizeof(*grown));
    char *copy;

    if (!grown)
        return -ENOMEM;
    t->items = grown;
    copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    t->items[t->n++] = (struct conf_text){.path = copy, .text = text, .len = len};
    return 0;
}

int conf_read_file(const char *path, const char *expected, struct conf_texts *t, struct problems *p)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r;

    r = store_read(AT_FDCWD, path, UNITFILE_MAX_BYTES, &text, &len);
    if (r < 0)
        return tell_unreadable(path, r, expected, p);
    r = append_text(t, path, text, len);
    if (r < 0)
        return r;
    text = NULL;
    return 1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The name without the suffix, if it is one of a file that counts: editors' and packages' leftovers do
 * not. */
static char *conf_name(const char *file, int *ret_error)
{
    char *name;

    *ret_error = 0;
    if (file[0] == '.' || !str_ends_with(file, SUFFIX))
        return NULL;
    name = strndup(file, strlen(file) - strlen(SUFFIX));
    if (!name)
        *ret_error = -ENOMEM;
    return name;
}

static int collect_names(DIR *d, char ***ret)
{
    _cleanup_strv_ char **names = NULL;
    const struct dirent *entry;

    while ((errno = 0, entry = readdir(d))) {
        int r;
        _cleanup_free_ char *name = conf_name(entry->d_name, &r);

        if (r < 0)
            return r;
        if (!name)
            continue;
        if (strv_length(names) == CONF_MAX_FILES)
            return -E2BIG;
        if (strv_push(&names, name) < 0)
            return -ENOMEM;
    }
    if (errno != 0)
        return -errno;
    if (names)
        qsort(names, strv_length(names), sizeof(char *), compare_names);
    *ret = steal_pointer(&names);
    return 0;
}

int conf_list_dir(const char *dir, char ***ret)
{
    DIR *d = opendir(dir);
    int r;

    if (!d)
        return -errno;
    r = collect_names(d, ret);
    (void) closedir(d);
    return r;
}

/* Like conf_list_dir(), with what went wrong told to people. */
static int list_dir(const char *dir, char ***ret, struct problems *p)
{
    int r = conf_list_dir(dir, ret);

    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (r == -E2BIG)
        return problems_add(p, dir, 0, "more than %d files; expected fewer", CONF_MAX_FILES);
    return r < 0 ? tell_unreadable(dir, r, "a directory of *" SUFFIX " files", p) : 0;
}

static int read_named(const char *dir, const char *name, struct conf_texts *t, struct problems *p)
{
    _cleanup_free_ char *path = str_format("%s/%s" SUFFIX, dir, name);
    int r;

    if (!path)
        return -ENOMEM;
    if (is_masked(path))
        return 0;
    r = conf_read_file(path, "a readable file", t, p);
    return r < 0 ? r : 0;
}

/* `names` has one vector for each directory. */
static int read_all(const char *const *dirs, size_t n_dirs, char **const *names, struct conf_texts *t,
                    struct problems *p)
{
    for (size_t i = 0; i < n_dirs; i++) {
        for (size_t j = 0; names[i] && names[i][j]; j++) {
            bool overridden = false;
            int r;

            for (size_t later = i + 1; later < n_dirs && !overridden; later++)
                overridden = strv_contains(names[later], names[i][j]);
            r = overridden ? 0 : read_named(dirs[i], names[i][j], t, p);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int conf_read_dirs(const char *const *dirs, size_t n_dirs, struct conf_texts *t, struct problems *p)
{
    char ***names = calloc(n_dirs, sizeof(*names));
    int r = names ? 0 : -ENOMEM;

    for (size_t i = 0; r >= 0 && i < n_dirs; i++)
        r = list_dir(dirs[i], &names[i], p);
    if (r >= 0)
        r = read_all(dirs, n_dirs, names, t, p);
    for (size_t i = 0; names && i < n_dirs; i++)
        strv_free(names[i]);
    free(names);
    return r;
}

void conf_texts_release(struct conf_texts *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->items[i].path);
        free(t->items[i].text);
    }
    free(t->items);
    *t = (struct conf_texts){};
}
