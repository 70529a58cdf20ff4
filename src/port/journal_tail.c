/* SPDX-License-Identifier: MIT */
#include "port/journal.h"

#include <errno.h>
#include <systemd/sd-journal.h>

#include "base/parse.h"
#include "base/str.h"

/* journald breaks lines at 48 KiB (journald.conf(5), LineMax=); fields beyond this are cut. */
#define FIELD_MAX ((size_t) 64 * 1024)
/* Lines delivered in one turn of the loop; what is left over comes in the next. */
#define LINES_A_TURN 512
#define HURRY_USEC (10 * USEC_PER_MSEC)

struct journal_tail {
    sd_journal *journal;
    struct loop_io *io;
    struct loop_timer *timer; /* when to look without being woken */
    usec_t hurry_until;       /* monotonic */
    journal_line_fn fn;
    void *userdata;
};

static int add_match(sd_journal *j, const char *field, const char *value)
{
    _cleanup_free_ char *match = str_format("%s=%s", field, value);

    return match ? sd_journal_add_match(j, match, 0) : -ENOMEM;
}

/* (invocation and identifier) or kernel (sd_journal_add_match(3)). */
static int add_filter(sd_journal *j, const struct journal_filter *f)
{
    int r = f->invocation ? add_match(j, "_SYSTEMD_INVOCATION_ID", f->invocation) : 0;

    if (r >= 0)
        r = add_match(j, "SYSLOG_IDENTIFIER", f->identifier);
    if (r >= 0 && f->kernel)
        r = sd_journal_add_disjunction(j);
    if (r >= 0 && f->kernel)
        r = add_match(j, "_TRANSPORT", "kernel");
    return r < 0 ? r : 0;
}

/* The field's value without its name; borrowed until the next entry. False when the entry lacks it. */
static bool get(sd_journal *j, const char *field, const char **ret, size_t *ret_len)
{
    const void *data;
    size_t len, skip = strlen(field) + 1;

    if (sd_journal_get_data(j, field, &data, &len) < 0 || len < skip)
        return false;
    *ret = (const char *) data + skip;
    *ret_len = len - skip;
    return true;
}

static bool is_kernel(sd_journal *j)
{
    const char *transport;
    size_t len;

    return get(j, "_TRANSPORT", &transport, &len) && len == strlen("kernel") &&
           memcmp(transport, "kernel", len) == 0;
}

static pid_t writer(sd_journal *j)
{
    const char *data;
    char text[24];
    uint64_t pid;
    size_t len;

    if (!get(j, "_PID", &data, &len) || len >= sizeof text)
        return 0;
    memcpy(text, data, len);
    text[len] = '\0';
    return parse_u64(text, &pid) == 0 && pid <= INT32_MAX ? (pid_t) pid : 0;
}

/* The message comes last: data of an entry may be overwritten by the next call that gets some. */
static void deliver(struct journal_tail *t)
{
    struct log_line line = {
        .source = is_kernel(t->journal) ? LOG_KERNEL : LOG_SERVER,
        .pid = writer(t->journal),
    };

    if (sd_journal_get_realtime_usec(t->journal, &line.realtime) < 0)
        line.realtime = 0;
    if (get(t->journal, "MESSAGE", &line.text, &line.len))
        t->fn(&line, t->userdata);
}

/* When an entry cannot be read (a damaged file), the next wake-up goes on behind it. */
static void read_lines(struct journal_tail *t)
{
    for (unsigned n = 0; n < LINES_A_TURN; n++) {
        if (sd_journal_next(t->journal) <= 0)
            return;
        deliver(t);
    }
    loop_timer_set(t->timer, 0);
}

/* The library's own time-out is for journals on network file systems (sd_journal_get_timeout(3)). */
static void await(struct journal_tail *t)
{
    usec_t now = loop_now().monotonic;
    uint64_t timeout;

    if (sd_journal_get_timeout(t->journal, &timeout) < 0)
        timeout = USEC_INFINITY;
    if (now < t->hurry_until)
        timeout = MIN(timeout, usec_add(now, HURRY_USEC));
    loop_timer_set(t->timer, timeout);
}

static void process(struct journal_tail *t)
{
    /* Whatever has happened to the files, new ones included, the way to know is to read on. */
    (void) sd_journal_process(t->journal);
    await(t);
    read_lines(t);
}

static void on_io(int fd unused, int events unused, void *userdata)
{
    process(userdata);
}

static void on_timer(void *userdata)
{
    process(userdata);
}

static int seek(sd_journal *j, usec_t since)
{
    sd_id128_t boot;
    int r = sd_id128_get_boot(&boot);

    return r < 0 ? r : sd_journal_seek_monotonic_usec(j, boot, since);
}

static int open_journal(struct journal_tail *t, const struct journal_filter *f)
{
    int r = sd_journal_open(&t->journal, SD_JOURNAL_LOCAL_ONLY);

    if (r >= 0)
        r = sd_journal_set_data_threshold(t->journal, FIELD_MAX);
    if (r >= 0)
        r = add_filter(t->journal, f);
    if (r >= 0 && sd_journal_has_runtime_files(t->journal) <= 0 &&
        sd_journal_has_persistent_files(t->journal) <= 0)
        return -EACCES;
    /* Not to the tail: with a match that nothing meets yet it would never move on (systemd 262). */
    if (r >= 0)
        r = seek(t->journal, f->since);
    return r < 0 ? r : 0;
}

int journal_tail_open(struct loop *l, const struct journal_filter *f, journal_line_fn fn, void *userdata,
                      struct journal_tail **ret)
{
    _cleanup_(journal_tail_freep) struct journal_tail *t = calloc(1, sizeof *t);
    int fd, r;

    if (!t)
        return -ENOMEM;
    t->fn = fn;
    t->userdata = userdata;
    r = open_journal(t, f);
    if (r < 0)
        return r;
    fd = sd_journal_get_fd(t->journal);
    if (fd < 0)
        return fd;
    r = loop_io_new(l, fd, LOOP_READ, on_io, t, &t->io);
    if (r == 0)
        r = loop_timer_new(l, on_timer, t, &t->timer);
    if (r < 0)
        return r;
    loop_timer_set(t->timer, 0);
    *ret = steal_pointer(&t);
    return 0;
}

void journal_tail_hurry(struct journal_tail *t, usec_t until)
{
    t->hurry_until = until;
    loop_timer_set(t->timer, 0);
}

void journal_tail_free(struct journal_tail *t)
{
    if (!t)
        return;
    loop_io_free(t->io);
    loop_timer_free(t->timer);
    if (t->journal)
        sd_journal_close(t->journal);
    free(t);
}
