/* SPDX-License-Identifier: MIT */
#include "port/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#include "base/str.h"

/* Where journald listens for records and for streams (systemd-journald.service(8)). */
#define RECORD_SOCKET "/run/systemd/journal/socket"
#define STREAM_SOCKET "/run/systemd/journal/stdout"

/* As much as sd_journal_stream_fd(3) asks for: the server does not wait for a journald that syncs. */
#define STREAM_BUFFER (8 * 1024 * 1024)

#define MARK_TEXT "coalmine: mark "
#define MARK_OF_BEGINNING "begin"

bool journal_available(void)
{
    return access(RECORD_SOCKET, W_OK) == 0 && access(STREAM_SOCKET, W_OK) == 0;
}

/* A word of the stream's header: a newline in it would begin another line of it. */
static bool is_word(const char *s)
{
    for (; *s; s++) {
        if ((unsigned char) *s < 0x20 || *s == 0x7f)
            return false;
    }
    return true;
}

/* All or nothing, without waiting. */
static int send_now(int fd, const char *text, size_t len)
{
    ssize_t n;

    do
        n = send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return (size_t) n == len ? 0 : -EAGAIN;
}

/* The header by which sd_journal_stream_fd(3) opens a stream, which gives no unit: identifier, unit, level,
 * level prefixes, forwarding to syslog, kmsg and console. */
static int send_header(int fd, const char *identifier, const char *unit)
{
    _cleanup_free_ char *header = NULL;

    header = str_format("%s\n%s\n%d\n1\n0\n0\n0\n", identifier, str_or_empty(unit), LOG_INFO);
    return header ? send_now(fd, header, strlen(header)) : -ENOMEM;
}

/* Non-blocking while connecting only: the file is shared with the server, which may not expect EAGAIN. */
static int connect_stream(int fd)
{
    static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = STREAM_SOCKET};
    static const int size = STREAM_BUFFER;

    if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 ||
        fcntl(fd, F_SETFL, 0) < 0 || shutdown(fd, SHUT_RD) < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
        (void) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return 0;
}

int journal_stream_open(const char *identifier, const char *unit, int *ret_fd)
{
    _cleanup_close_ int fd = -1;
    int r;

    if (!is_word(identifier) || !is_word(str_or_empty(unit)))
        return -EINVAL;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    r = connect_stream(fd);
    if (r == 0)
        r = send_header(fd, identifier, unit);
    if (r == 0)
        r = journal_stream_mark(fd, MARK_OF_BEGINNING);
    if (r < 0)
        return r;
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* At level debug: journald limits the rate of each level by itself, so that the marker gets through when
 * the server's flood does not. The empty line that the leading newline may make is not recorded. */
int journal_stream_mark(int fd, const char *nonce)
{
    _cleanup_free_ char *text = str_format("\n<%d>" MARK_TEXT "%s\n", LOG_DEBUG, nonce);

    return text ? send_now(fd, text, strlen(text)) : -ENOMEM;
}

bool journal_is_mark(const struct log_line *line, const char *nonce)
{
    size_t n = strlen(MARK_TEXT);

    if (line->len < n || memcmp(line->text, MARK_TEXT, n) != 0)
        return false;
    return !nonce || (line->len == n + strlen(nonce) && memcmp(line->text + n, nonce, line->len - n) == 0);
}
