/* SPDX-License-Identifier: MIT */
#pragma once

/* journald: the server's output stream into it, structured records to it, and the tail that reads the
 * server's (and the kernel's) lines back. */

#include <stdbool.h>
#include <sys/uio.h>

#include "core/diagnosis/logline.h"
#include "port/loop.h"

/* True when a journald listens. */
bool journal_available(void);

/* A stream for the server's stdout and stderr under its own SYSLOG_IDENTIFIER
 * (sd_journal_stream_fd(3), with level prefixes). */
must_check int journal_stream_open(const char *identifier, int *ret_fd);
/* Writes a marker line with the nonce into the stream; whatever the server wrote before is ordered
 * before it. Begins with a newline, since the server's last line may lack one. */
must_check int journal_stream_mark(int fd, const char *nonce);
/* True if the line is the marker with that nonce, or with any for NULL: such lines are not the server's. */
bool journal_is_mark(const struct log_line *line, const char *nonce);

/* A structured record, FIELD=value each; never blocks for long, never fails loudly: 0 or negative errno. */
int journal_send(const struct iovec *fields, size_t n);

struct journal_tail;
typedef void (*journal_line_fn)(const struct log_line *line, void *userdata);

struct journal_filter {
    const char *invocation; /* _SYSTEMD_INVOCATION_ID, NULL: any */
    const char *identifier; /* SYSLOG_IDENTIFIER of the stream */
    usec_t since;           /* monotonic (the wall clock may jump); lines before are not delivered */
    bool kernel;            /* the kernel's lines too, where readable */
};

/* Delivers lines as they come, at most `batch` a turn so that the loop goes on living. Survives
 * rotation, vacuuming and restarts of journald. -ENOENT, -EACCES: no readable journal. */
must_check int journal_tail_open(struct loop *l, const struct journal_filter *f, journal_line_fn fn,
                                 void *userdata, struct journal_tail **ret);
/* Looks for new lines at once and then every few milliseconds until that monotonic time (0: no more):
 * journald may wake its readers half a second late. `fn` is called from the loop only. */
void journal_tail_hurry(struct journal_tail *t, usec_t until);
void journal_tail_free(struct journal_tail *t);
DEFINE_CLEANUP(struct journal_tail *, journal_tail_free);
