/* SPDX-License-Identifier: MIT */
#include "port/journal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/str.h"
#include "port/io.h"

/* The journal's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL), spoken here and not by
 * sd_journal_sendv(3) because that waits for as long as a stuck journald likes. */

#define RECORD_SOCKET "/run/systemd/journal/socket"
#define PATIENCE_MSEC 100

/* "FIELD=value\n"; or, since the value may have newlines, "FIELD\n", its length, the value, "\n". */
static int add_field(struct strbuf *b, const struct iovec *field)
{
    const char *text = field->iov_base, *equals = memchr(text, '=', field->iov_len);
    size_t name, value;
    uint64_t length;

    if (!equals || equals == text)
        return -EINVAL;
    name = (size_t) (equals - text);
    value = field->iov_len - name - 1;
    if (memchr(equals, '\n', value + 1)) {
        length = htole64(value);
        strbuf_append_n(b, text, name);
        strbuf_append_char(b, '\n');
        strbuf_append_n(b, (const char *) &length, sizeof(length));
        strbuf_append_n(b, equals + 1, value);
    } else {
        strbuf_append_n(b, text, field->iov_len);
    }
    strbuf_append_char(b, '\n');
    return 0;
}

/* A journald that does not read yet is given a moment. */
static int send_message(int fd, const struct msghdr *message)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};

    for (bool waited = false;; waited = true) {
        if (sendmsg(fd, message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno != EAGAIN || waited)
            return -errno;
        (void) poll(&writable, 1, PATIENCE_MSEC);
    }
}

/* What is too large for a datagram goes as a sealed memory file. */
static int send_file(int fd, const char *data, size_t len)
{
    _cleanup_close_ int file = memfd_create("coalmine-record", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {};
    struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};
    int r;

    if (file < 0)
        return -errno;
    r = io_write_all(file, data, len);
    if (r < 0)
        return r;
    if (fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
    return send_message(fd, &message);
}

int journal_send(const struct iovec *fields, size_t n)
{
    static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = RECORD_SOCKET};
    _cleanup_strbuf_ struct strbuf record = {};
    _cleanup_close_ int fd = -1;
    struct iovec content;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_field(&record, &fields[i]);
    if (r < 0)
        return r;
    if (record.failed)
        return -ENOMEM;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
        return -errno;
    content = (struct iovec){.iov_base = record.data, .iov_len = record.len};
    r = send_message(fd, &(struct msghdr){.msg_iov = &content, .msg_iovlen = 1});
    return r == -EMSGSIZE || r == -ENOBUFS ? send_file(fd, record.data, record.len) : r;
}
