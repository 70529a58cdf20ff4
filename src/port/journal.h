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

/* A stream for the server's stdout and stderr under its own SYSLOG_IDENTIFIER, with level prefixes. Does
 * not wait for journald. `unit` (may be NULL) is the system unit that we run in: journald gives it, when
 * root says so, to lines whose writer has exited by the time they are read, which is how last words come.
 * Begins with a marker line, from which a tail of the same invocation learns that the stream is ours. */
must_check int journal_stream_open(const char *identifier, const char *unit, int *ret_fd);
/* Writes a marker line with the nonce into the stream; whatever the server wrote before is ordered
 * before it. Begins with a newline, since the server's last line may lack one. -EAGAIN: the stream is
 * full; nothing has been written then. */
must_check int journal_stream_mark(int fd, const char *nonce);
/* True if the line is the marker with that nonce, or with any for NULL: such lines are not the server's. */
bool journal_is_mark(const struct log_line *line, const char *nonce);

/* A structured record, FIELD=value each, of any length and with any byte in the value. Waits a tenth of
 * a second at most. Negative errno when journald did not take it. */
must_check int journal_send(const struct iovec *fields, size_t n);

struct journal_tail;
typedef void (*journal_line_fn)(const struct log_line *line, void *userdata);

struct journal_filter {
    const char *invocation; /* our INVOCATION_ID: lines of others under the identifier are left out; NULL: any */
    const char *identifier; /* SYSLOG_IDENTIFIER of the stream */
    usec_t since;           /* monotonic (the wall clock may jump); lines before are not delivered */
    bool kernel;            /* the kernel's lines too, where readable */
};

/* Delivers lines as they come, from the loop, and so many a turn that the loop goes on living. Lines are
 * as journald has them: it breaks long ones (LineMax=). Survives rotation, vacuuming and restarts of
 * journald. `fn` must not free the tail. -ENOENT: there is no journal; -EACCES: none that we may read. */
must_check int journal_tail_open(struct loop *l, const struct journal_filter *f, journal_line_fn fn,
                                 void *userdata, struct journal_tail **ret);
/* Looks for new lines at once and then every few milliseconds until that monotonic time (0: no more):
 * journald may wake its readers half a second late. */
void journal_tail_hurry(struct journal_tail *t, usec_t until);
void journal_tail_free(struct journal_tail *t);
DEFINE_CLEANUP(struct journal_tail *, journal_tail_free);
