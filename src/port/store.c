/* SPDX-License-Identifier: MIT */
#include "port/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/str.h"
#include "port/io.h"
#include "port/random.h"

#define TEMPORARY_SUFFIX ".tmp"

/* What is read of a file whose size says nothing (such as those of /proc) before more is asked for. */
#define READ_AT_FIRST ((size_t) 4096)

static int check_name(const char *name)
{
    return str_empty(name) || strchr(name, '/') || str_equal(name, ".") || str_equal(name, "..") ? -EINVAL : 0;
}

/* Makes the directory and those above it, each unless it is there. */
static int make_dirs(const char *path)
{
    _cleanup_free_ char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    for (char *end = copy; end; ) {
        end = strchr(end + 1, '/');
        if (end)
            *end = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            return -errno;
        if (end)
            *end = '/';
    }
    return 0;
}

int store_open_dir(const char *path)
{
    int fd, r;

    if (str_empty(path))
        return -EINVAL;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        r = make_dirs(path);
        if (r < 0)
            return r;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    return fd < 0 ? -errno : fd;
}

/* Hidden, so that nobody takes it for a report, and recognised by is_temporary(). */
static char *temporary_name(const char *name)
{
    return str_format(".%s.%016" PRIx64 TEMPORARY_SUFFIX, name, random_u64());
}

static bool is_temporary(const char *name)
{
    return name[0] == '.' && str_ends_with(name, TEMPORARY_SUFFIX);
}

/* Some file systems report a write that failed only when the file is closed. */
static int write_new_file(int dir_fd, const char *name, const char *data, size_t len, unsigned flags)
{
    mode_t mode = flags & STORE_PRIVATE ? 0640 : 0644;
    _cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int r;

    if (fd < 0)
        return -errno;
    r = io_write_all(fd, data, len);
    if (r == 0 && flags & STORE_DURABLE && fsync(fd) < 0)
        r = -errno;
    if (close(steal_fd(&fd)) < 0 && r == 0)
        r = -errno;
    if (r < 0)
        (void) unlinkat(dir_fd, name, 0);
    return r;
}

static int rename_over(int dir_fd, const char *temporary, const char *name)
{
    int r;

    if (renameat(dir_fd, temporary, dir_fd, name) == 0)
        return 0;
    r = -errno;
    (void) unlinkat(dir_fd, temporary, 0);
    return r;
}

int store_write(int dir_fd, const char *name, const char *data, size_t len, unsigned flags)
{
    _cleanup_free_ char *temporary = NULL;
    int r = check_name(name);

    if (r < 0)
        return r;
    temporary = temporary_name(name);
    if (!temporary)
        return -ENOMEM;
    r = write_new_file(dir_fd, temporary, data, len, flags);
    if (r == 0)
        r = rename_over(dir_fd, temporary, name);
    if (r == 0 && flags & STORE_DURABLE && fsync(dir_fd) < 0)
        r = -errno;
    return r;
}

int store_overwrite(const char *path, const char *data, size_t len)
{
    /* Not to wait for the reader of a pipe. */
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);

    return fd < 0 ? -errno : io_write_all(fd, data, len);
}

int store_link(int dir_fd, const char *name, const char *target)
{
    _cleanup_free_ char *temporary = NULL;
    int r = check_name(name);

    if (r < 0)
        return r;
    temporary = temporary_name(name);
    if (!temporary)
        return -ENOMEM;
    if (symlinkat(target, dir_fd, temporary) < 0)
        return -errno;
    return rename_over(dir_fd, temporary, name);
}

/* Opens a regular file; `flags` without O_CLOEXEC. O_NONBLOCK: nobody may be at a FIFO's other end. */
static int open_regular(int dir_fd, const char *name, int flags, uint64_t *ret_size)
{
    _cleanup_close_ int fd = openat(dir_fd, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    *ret_size = (uint64_t) st.st_size;
    return steal_fd(&fd);
}

/* Up to `len` bytes from the offset. */
static ssize_t read_at(int fd, char *buf, size_t len, uint64_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, buf + done, len - done, (off_t) (offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t) n;
    }
    return (ssize_t) done;
}

/* The file's last lines and the new one, together at most half of max_bytes (plus the newline that the
 * last of them may lack). */
static int replace_by_tail(int dir_fd, const char *name, int fd, uint64_t size, const char *line,
                           uint64_t max_bytes)
{
    _cleanup_strbuf_ struct strbuf content = {};
    _cleanup_free_ char *tail = NULL;
    const char *kept;
    size_t room = (size_t) (max_bytes / 2) - strlen(line); /* less than the file's size */
    ssize_t n;

    tail = malloc(room + 1);
    if (!tail)
        return -ENOMEM;
    n = read_at(fd, tail, room, size - room);
    if (n < 0)
        return (int) n;
    kept = memchr(tail, '\n', (size_t) n);
    if (kept)
        strbuf_append_n(&content, kept + 1, (size_t) (tail + n - kept) - 1);
    if (content.len > 0 && content.data[content.len - 1] != '\n')
        strbuf_append_char(&content, '\n');
    strbuf_append(&content, line);
    strbuf_append_char(&content, '\n');
    if (content.failed)
        return -ENOMEM;
    return store_write(dir_fd, name, content.data, content.len, STORE_DURABLE | STORE_PRIVATE);
}

/* Takes back what a failed write has left. */
static int append(int fd, uint64_t size, const char *line)
{
    _cleanup_strbuf_ struct strbuf content = {};
    char last = '\n';
    int r = size > 0 ? (int) read_at(fd, &last, 1, size - 1) : 0;

    if (r < 0)
        return r;
    if (last != '\n')
        strbuf_append_char(&content, '\n');
    strbuf_append(&content, line);
    strbuf_append_char(&content, '\n');
    if (content.failed)
        return -ENOMEM;
    r = io_write_all(fd, content.data, content.len);
    if (r == 0 && fdatasync(fd) < 0)
        r = -errno;
    if (r < 0)
        (void) !ftruncate(fd, (off_t) size);
    return r;
}

int store_append_line(int dir_fd, const char *name, const char *line, uint64_t max_bytes)
{
    _cleanup_close_ int fd = -1;
    uint64_t size = 0;
    size_t len = strlen(line);
    int r = check_name(name);

    if (r < 0)
        return r;
    if (strchr(line, '\n'))
        return -EINVAL;
    if (len >= max_bytes / 2)
        return -EMSGSIZE;
    fd = open_regular(dir_fd, name, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, &size);
    if (fd < 0)
        return fd;
    /* A newline before the line and one after it. */
    if (size > max_bytes || len + 2 > max_bytes - size)
        return replace_by_tail(dir_fd, name, fd, size, line, max_bytes);
    return append(fd, size, line);
}

/* Everything up to the end, or one byte more than `max`. */
static int read_to_end(int fd, size_t at_first, size_t max, char **ret, size_t *ret_len)
{
    _cleanup_free_ char *content = NULL;
    size_t len = 0, space = MIN(at_first, max) + 1;

    for (;;) {
        char *grown = realloc(content, space + 1);
        ssize_t n;

        if (!grown)
            return -ENOMEM;
        content = grown;
        n = read_at(fd, content + len, space - len, len);
        if (n < 0)
            return (int) n;
        len += (size_t) n;
        if (len > max)
            return -EFBIG;
        if (len < space)
            break;
        space = MIN(2 * space, max + 1);
    }
    content[len] = '\0';
    *ret = steal_pointer(&content);
    *ret_len = len;
    return 0;
}

int store_read(int dir_fd, const char *name, size_t max_bytes, char **ret, size_t *ret_len)
{
    _cleanup_close_ int fd = -1;
    uint64_t size = 0;
    size_t len = 0;
    int r;

    fd = open_regular(dir_fd, name, O_RDONLY, &size);
    if (fd < 0)
        return fd;
    if (size > max_bytes)
        return -EFBIG;
    r = read_to_end(fd, MAX((size_t) size, READ_AT_FIRST), MIN(max_bytes, (size_t) SSIZE_MAX - 1), ret, &len);
    if (r == 0 && ret_len)
        *ret_len = len;
    return r;
}

struct entry {
    char *name;
    uint64_t size;
};

struct listing {
    struct entry *entries;
    size_t n;
    size_t allocated;
};

static void listing_release(struct listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->entries[i].name);
    free(l->entries);
}

static int listing_add(struct listing *l, const char *name, uint64_t size)
{
    char *copy;

    if (l->n == l->allocated) {
        size_t allocated = l->allocated > 0 ? 2 * l->allocated : 64;
        struct entry *grown = reallocarray(l->entries, allocated, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        l->entries = grown;
        l->allocated = allocated;
    }
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    l->entries[l->n++] = (struct entry){.name = copy, .size = size};
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int remove_file(int dir_fd, const char *name)
{
    return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* Lists the regular files with the suffix, and deletes temporary ones on the way. *ret_error is that of
 * the first deletion that failed. */
static int collect(int dir_fd, DIR *dir, const char *suffix, struct listing *l, int *ret_error)
{
    const struct dirent *d;
    struct stat st;
    int r = 0;

    while (r == 0 && (errno = 0, d = readdir(dir))) {
        if (is_temporary(d->d_name)) {
            int error = remove_file(dir_fd, d->d_name);

            if (*ret_error == 0)
                *ret_error = error;
        } else if (d->d_name[0] != '.' && str_ends_with(d->d_name, suffix) &&
                   fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
            r = listing_add(l, d->d_name, (uint64_t) st.st_size);
        }
    }
    return r < 0 ? r : -errno;
}

/* A DIR of its own, so that the position of dir_fd does not matter. */
static DIR *open_listing(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        close_fd(fd);
    return dir;
}

/* How many of the newest may stay, of one at least. */
static size_t count_kept(const struct listing *l, uint64_t keep, uint64_t max_bytes)
{
    uint64_t bytes = 0;
    size_t n = 0;

    while (n < l->n && n < keep) {
        uint64_t size = l->entries[l->n - 1 - n].size;

        if (n > 0 && size > max_bytes - MIN(bytes, max_bytes))
            break;
        bytes += size;
        n++;
    }
    return MAX(n, (size_t) 1);
}

/* Moves the entry of that name behind all others. */
static void make_newest(struct listing *l, const char *name)
{
    struct entry last;
    size_t i = 0;

    while (i < l->n && !str_equal(l->entries[i].name, name))
        i++;
    if (i == l->n)
        return;
    last = l->entries[i];
    memmove(&l->entries[i], &l->entries[i + 1], (l->n - i - 1) * sizeof(*l->entries));
    l->entries[l->n - 1] = last;
}

int store_prune(int dir_fd, const char *suffix, const char *newest, uint64_t keep, uint64_t max_bytes)
{
    _cleanup_(listing_release) struct listing l = {};
    DIR *dir = open_listing(dir_fd);
    size_t doomed;
    int r, error = 0;

    if (!dir)
        return -errno;
    r = collect(dir_fd, dir, suffix, &l, &error);
    (void) closedir(dir);
    if (r < 0)
        return r;
    if (l.n == 0)
        return error;
    qsort(l.entries, l.n, sizeof(*l.entries), by_name);
    make_newest(&l, newest);
    doomed = l.n - count_kept(&l, keep, max_bytes);
    for (size_t i = 0; i < doomed; i++) {
        r = remove_file(dir_fd, l.entries[i].name);
        if (error == 0)
            error = r;
    }
    return error;
}
