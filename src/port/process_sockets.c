/* SPDX-License-Identifier: MIT */
#include "port/process_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/str.h"
#include "port/procinfo.h"
#include "port/store.h"

#define FDS_MAX 4096
#define SOCKETS_MAX 8192
#define LINES_MAX 200
#define TABLE_MAX_BYTES ((size_t) 8 * 1024 * 1024)

struct sockets {
    struct process_socket *rows;
    size_t n;
};

static int add(struct sockets *s, uint64_t inode, pid_t pid)
{
    struct process_socket *more = reallocarray(s->rows, s->n + 1, sizeof *more);

    if (!more)
        return -ENOMEM;
    s->rows = more;
    s->rows[s->n++] = (struct process_socket){ .inode = inode, .pid = pid };
    return 0;
}

static int gather(struct sockets *s, pid_t pid)
{
    _cleanup_free_ int *fds = NULL;
    char path[64], target[64];
    size_t n = 0;
    int r = 0;

    (void) snprintf(path, sizeof path, "/proc/%d/fd", (int) pid);
    if (procinfo_numbers(path, FDS_MAX, &fds, &n) == -ENOMEM)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < n && s->n < SOCKETS_MAX; i++) {
        uint64_t inode;
        ssize_t len;

        (void) snprintf(path, sizeof path, "/proc/%d/fd/%d", (int) pid, fds[i]);
        len = readlink(path, target, sizeof target - 1);
        if (len < 0)
            continue;
        target[len] = '\0';
        if (sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1)
            r = add(s, inode, pid);
    }
    return r;
}

/* As include/net/tcp_states.h numbers them. */
static const char *state_text(unsigned state)
{
    static const char *const texts[] = { "", "established", "syn sent", "syn received", "fin wait 1",
                                         "fin wait 2", "time wait", "close", "close wait", "last ack",
                                         "listen", "closing", "new" };

    return state < ARRAY_SIZE(texts) ? texts[state] : "";
}

/* "0100007F:1F90": words of the address in the machine's order, and the port. */
static void append_address(struct strbuf *b, const char *text, bool v6)
{
    uint32_t words[4] = {};
    char shown[INET6_ADDRSTRLEN];
    size_t n = v6 ? 4 : 1;
    unsigned port = 0;

    for (size_t i = 0; i < n && strlen(text) >= 8; i++, text += 8)
        (void) sscanf(text, "%8" SCNx32, &words[i]);
    (void) sscanf(text, ":%x", &port);
    if (!inet_ntop(v6 ? AF_INET6 : AF_INET, words, shown, sizeof shown))
        return;
    strbuf_appendf(b, v6 ? "[%s]:%u" : "%s:%u", shown, port);
}

static int by_inode(const void *a, const void *b)
{
    uint64_t x = ((const struct process_socket *) a)->inode, y = ((const struct process_socket *) b)->inode;

    return x < y ? -1 : x > y;
}

static int parse_line(const char *line, bool v6, struct process_socket *owned, size_t n, char ***lines)
{
    _cleanup_strbuf_ struct strbuf b = {};
    struct process_socket *socket;
    char local[64], remote[64];
    unsigned state;
    uint64_t inode;

    if (sscanf(line, " %*[0-9]: %63s %63s %x %*s %*s %*s %*u %*u %" SCNu64, local, remote, &state, &inode) != 4)
        return 0;
    socket = bsearch(&(struct process_socket){ .inode = inode }, owned, n, sizeof *owned, by_inode);
    if (!socket)
        return 0;
    socket->told = true;
    strbuf_append(&b, "tcp ");
    append_address(&b, local, v6);
    if (!str_equal(state_text(state), "listen")) {
        strbuf_append(&b, " -> ");
        append_address(&b, remote, v6);
    }
    strbuf_appendf(&b, " %s, PID %d", state_text(state), (int) socket->pid);
    return b.failed ? -ENOMEM : strv_length(*lines) < LINES_MAX ? strv_push(lines, b.data) : 0;
}

int process_sockets_parse(char *text, bool v6, struct process_socket *owned, size_t n, char ***lines)
{
    char *rest = NULL;
    int r = 0;

    for (char *line = strtok_r(text, "\n", &rest); line && r == 0; line = strtok_r(NULL, "\n", &rest))
        r = parse_line(line, v6, owned, n, lines);
    return r;
}

static int parse_table(pid_t pid, const char *name, struct sockets *s, char ***lines)
{
    _cleanup_free_ char *text = NULL;
    char path[64];
    int r;

    (void) snprintf(path, sizeof path, "/proc/%d/net/%s", (int) pid, name);
    r = store_read(AT_FDCWD, path, TABLE_MAX_BYTES, &text, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    return process_sockets_parse(text, str_equal(name, "tcp6"), s->rows, s->n, lines);
}

static int tell_others(const struct sockets *s, char ***lines)
{
    _cleanup_free_ char *text = NULL;
    size_t others = 0;

    for (size_t i = 0; i < s->n; i++)
        others += s->rows[i].told ? 0 : 1;
    if (others == 0)
        return 0;
    text = str_format("%zu other%s (unix, netlink and the like)", others, others == 1 ? "" : "s");
    return text ? strv_push(lines, text) : -ENOMEM;
}

int process_sockets(const pid_t *pids, size_t n, char ***ret)
{
    _cleanup_strv_ char **lines = NULL;
    struct sockets s = {};
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = gather(&s, pids[i]);
    if (s.n > 0)
        qsort(s.rows, s.n, sizeof *s.rows, by_inode);
    if (r == 0 && s.n > 0)
        r = parse_table(s.rows[0].pid, "tcp", &s, &lines);
    if (r == 0 && s.n > 0)
        r = parse_table(s.rows[0].pid, "tcp6", &s, &lines);
    if (r == 0)
        r = tell_others(&s, &lines);
    free(s.rows);
    if (r == 0)
        *ret = steal_pointer(&lines);
    return r;
}
