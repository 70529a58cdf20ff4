/* SPDX-License-Identifier: MIT */
#include "port/journal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#include "base/str.h"

/* Where journald listens for records and for streams (systemd-journald.service(8), sd_journal_print(3)). */
#define RECORD_SOCKET "/run/systemd/journal/socket"
#define STREAM_SOCKET "/run/systemd/journal/stdout"

#define MARK_TEXT "coalmine: mark "
#define MARK_MAX 256

bool journal_available(void)
{
    return access(RECORD_SOCKET, W_OK) == 0 && access(STREAM_SOCKET, W_OK) == 0;
}

int journal_stream_open(const char *identifier, int *ret_fd)
{
    int fd = sd_journal_stream_fd(identifier, LOG_INFO, true);

    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

/* At level debug, so that people who look at the server's lines need not see it. The empty line that the leading
 * newline makes is not recorded by journald. It must not wait: a journald that does not read is stuck. */
int journal_stream_mark(int fd, const char *nonce)
{
    char text[MARK_MAX];
    int n = snprintf(text, sizeof text, "\n<%d>" MARK_TEXT "%s\n", LOG_DEBUG, nonce);

    if (n < 0 || (size_t) n >= sizeof text)
        return -EINVAL;
    if (send(fd, text, (size_t) n, MSG_DONTWAIT | MSG_NOSIGNAL) != n)
        return errno ? -errno : -EIO;
    return 0;
}

bool journal_is_mark(const struct log_line *line, const char *nonce)
{
    size_t n = strlen(MARK_TEXT);

    if (line->len < n || memcmp(line->text, MARK_TEXT, n) != 0)
        return false;
    return !nonce || (line->len == n + strlen(nonce) && memcmp(line->text + n, nonce, line->len - n) == 0);
}

int journal_send(const struct iovec *fields, size_t n)
{
    return n > INT_MAX ? -E2BIG : sd_journal_sendv(fields, (int) n);
}
