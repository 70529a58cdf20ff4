/* SPDX-License-Identifier: MIT */
#include "port/journal.h"

#include <errno.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

#include "base/parse.h"
#include "base/str.h"

/* Of longer messages the beginning is delivered. journald breaks lines at 48 KiB unless told otherwise. */
#define MESSAGE_MAX ((size_t) 64 * 1024)
/* A buffer that has grown beyond this is not kept. */
#define KEEP_MAX ((size_t) 4 * 1024)
/* Entries read in one turn of the loop; what is left over comes in the next. */
#define ENTRIES_PER_TURN 512
#define HURRY_USEC (5 * USEC_PER_MSEC)
/* Streams of our own that are remembered: those of the last epochs. */
#define STREAMS 4

#define ID_LENGTH SD_ID128_STRING_MAX

struct journal_tail {
    sd_journal *journal;
    struct loop_io *io;
    struct loop_timer *timer;
    journal_line_fn fn;
    void *userdata;
    sd_id128_t boot;
    usec_t since;
    usec_t hurry_until;
    bool kernel;
    bool at_end;  /* the last look left nothing over */
    bool resumes; /* the next look begins with resume() */
    char *cursor; /* of the last entry read; NULL before the first */
    char *invocation;
    char streams[STREAMS][ID_LENGTH];
    size_t next_stream;
    struct strbuf message;
};

/* What is wanted of an entry. */
struct entry {
    bool kernel;
    bool has_message;
    pid_t pid;
    char stream[ID_LENGTH];     /* empty: it came in another way */
    char invocation[ID_LENGTH]; /* empty: journald could not tell */
};

/* Copies a value that is short by nature; a longer one is as good as none. */
static void copy_short(char *to, size_t size, const char *value, size_t len)
{
    if (len >= size)
        len = 0;
    memcpy(to, value, len);
    to[len] = '\0';
}

static pid_t parse_pid(const char *value, size_t len)
{
    char text[24];
    uint64_t pid;

    copy_short(text, sizeof(text), value, len);
    return parse_u64(text, &pid) == 0 && pid <= INT32_MAX ? (pid_t) pid : 0;
}

/* The value if the field has that name (with its '='), else NULL. */
static const char *value_of(const char *data, size_t len, const char *name)
{
    size_t n = strlen(name);

    return len >= n && memcmp(data, name, n) == 0 ? data + n : NULL;
}

/* One pass over all fields: each sd_journal_get_data() would be a pass of its own. What it returns is
 * valid until the next field is asked for. */
static void read_entry(struct journal_tail *t, struct entry *e)
{
    const void *field;
    const char *value;
    size_t len;

    *e = (struct entry){};
    strbuf_clear(&t->message);
    SD_JOURNAL_FOREACH_DATA(t->journal, field, len) {
        const char *data = field, *end = data + len;

        if ((value = value_of(data, len, "MESSAGE="))) {
            strbuf_append_n(&t->message, value, MIN((size_t) (end - value), MESSAGE_MAX));
            e->has_message = !t->message.failed;
        } else if ((value = value_of(data, len, "_PID="))) {
            e->pid = parse_pid(value, (size_t) (end - value));
        } else if ((value = value_of(data, len, "_TRANSPORT="))) {
            e->kernel = end - value == 6 && memcmp(value, "kernel", 6) == 0;
        } else if ((value = value_of(data, len, "_STREAM_ID="))) {
            copy_short(e->stream, sizeof(e->stream), value, (size_t) (end - value));
        } else if ((value = value_of(data, len, "_SYSTEMD_INVOCATION_ID="))) {
            copy_short(e->invocation, sizeof(e->invocation), value, (size_t) (end - value));
        }
    }
}

static bool knows_stream(const struct journal_tail *t, const char *id)
{
    for (size_t i = 0; i < STREAMS; i++) {
        if (str_equal(t->streams[i], id))
            return !str_empty(id);
    }
    return false;
}

static void learn_stream(struct journal_tail *t, const char *id)
{
    if (str_empty(id) || knows_stream(t, id))
        return;
    memcpy(t->streams[t->next_stream], id, ID_LENGTH);
    t->next_stream = (t->next_stream + 1) % STREAMS;
}

/* journald finds the invocation in /proc: a line whose writer had exited by then has none, and these are
 * the last words of whatever died. They are told by the stream they came through, which is known from a
 * line that has an invocation: our own marker at its beginning, at the latest. */
static bool is_ours(struct journal_tail *t, const struct entry *e)
{
    if (e->kernel)
        return t->kernel;
    if (!t->invocation)
        return true;
    if (str_empty(e->invocation))
        return knows_stream(t, e->stream);
    if (!str_equal(e->invocation, t->invocation))
        return false;
    learn_stream(t, e->stream);
    return true;
}

/* Seeking is done file by file, and a file without an entry of this boot is read from its beginning. */
static bool is_recent(const struct journal_tail *t)
{
    sd_id128_t boot;
    usec_t monotonic;

    return sd_journal_get_monotonic_usec(t->journal, &monotonic, &boot) >= 0 &&
           sd_id128_equal(boot, t->boot) && monotonic >= t->since;
}

static void deliver(struct journal_tail *t)
{
    struct log_line line;
    struct entry e;

    if (!is_recent(t))
        return;
    read_entry(t, &e);
    if (!e.has_message || !is_ours(t, &e))
        return;
    line = (struct log_line){
        .source = e.kernel ? LOG_KERNEL : LOG_SERVER,
        .text = str_or_empty(t->message.data),
        .len = t->message.len,
        .pid = e.pid,
    };
    if (sd_journal_get_realtime_usec(t->journal, &line.realtime) < 0)
        line.realtime = 0;
    t->fn(&line, t->userdata);
}

/* Goes back to the last entry. An entry that journald was just linking in while the library found the
 * file's end is not looked for again by the library until one more comes (seen with systemd 252 once in a
 * hundred times; it would be the marker). After a seek it looks anew.
 * Not to the journal's tail: with a match that nothing meets yet it would never move on (systemd 262). */
static void resume(struct journal_tail *t)
{
    if (!t->cursor) {
        (void) sd_journal_seek_monotonic_usec(t->journal, t->boot, t->since);
        return;
    }
    if (sd_journal_seek_cursor(t->journal, t->cursor) < 0 || sd_journal_next(t->journal) <= 0)
        return;
    /* When it is gone with its file, this is the one after it. */
    if (sd_journal_test_cursor(t->journal, t->cursor) == 0)
        deliver(t);
}

/* False when there is no telling where we are: then only the library knows how to go on. */
static bool remember(struct journal_tail *t)
{
    char *cursor;
    int r = sd_journal_get_cursor(t->journal, &cursor);

    if (r == -EADDRNOTAVAIL) /* no entry since the last seek */
        return true;
    if (r < 0)
        return false;
    free(t->cursor);
    t->cursor = cursor;
    return true;
}

/* After an entry that cannot be read (a damaged file), the next look goes on behind it. */
static void read_entries(struct journal_tail *t)
{
    unsigned n = 0;

    if (t->resumes)
        resume(t);
    while (n < ENTRIES_PER_TURN && sd_journal_next(t->journal) > 0) {
        deliver(t);
        n++;
    }
    t->at_end = n < ENTRIES_PER_TURN;
    t->resumes = t->at_end && remember(t);
}

static usec_t next_look(const struct journal_tail *t)
{
    usec_t now = loop_now().monotonic;
    uint64_t next = USEC_INFINITY;

    /* Time-outs are for file systems on which nobody tells what happens to files. */
    if (sd_journal_get_timeout(t->journal, &next) < 0)
        next = USEC_INFINITY;
    return now < t->hurry_until ? MIN(next, now + HURRY_USEC) : next;
}

static void look(struct journal_tail *t)
{
    /* Whatever has happened to the files, new and removed ones included, the way to know is to read on. */
    (void) sd_journal_process(t->journal);
    read_entries(t);
    if (t->message.allocated > KEEP_MAX)
        strbuf_release(&t->message);
    loop_timer_set(t->timer, t->at_end ? next_look(t) : 0);
}

static void on_change(int fd unused, int events unused, void *userdata)
{
    look(userdata);
}

static void on_timer(void *userdata)
{
    look(userdata);
}

static int add_match(sd_journal *j, const char *field, const char *value)
{
    _cleanup_free_ char *match = str_format("%s=%s", field, value);

    return match ? sd_journal_add_match(j, match, 0) : -ENOMEM;
}

/* The identifier or the kernel (sd_journal_add_match(3)). */
static int add_matches(sd_journal *j, const struct journal_filter *f)
{
    int r = add_match(j, "SYSLOG_IDENTIFIER", f->identifier);

    if (r >= 0 && f->kernel)
        r = sd_journal_add_disjunction(j);
    if (r >= 0 && f->kernel)
        r = add_match(j, "_TRANSPORT", "kernel");
    return r;
}

static int why_no_files(void)
{
    return access("/run/log/journal", F_OK) < 0 && access("/var/log/journal", F_OK) < 0 ? -ENOENT : -EACCES;
}

static int open_journal(struct journal_tail *t, const struct journal_filter *f)
{
    /* The unit may have a namespace of its own (LogNamespace=). */
    int r = sd_journal_open(&t->journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_ALL_NAMESPACES);

    if (r < 0)
        return r;
    if (sd_journal_has_runtime_files(t->journal) <= 0 && sd_journal_has_persistent_files(t->journal) <= 0)
        return why_no_files();
    r = add_matches(t->journal, f);
    if (r >= 0)
        r = sd_id128_get_boot(&t->boot);
    return r < 0 ? r : 0;
}

static int watch_journal(struct journal_tail *t, struct loop *l)
{
    int fd = sd_journal_get_fd(t->journal), r;

    if (fd < 0)
        return fd;
    r = loop_io_new(l, fd, LOOP_READ, on_change, t, &t->io);
    if (r == 0)
        r = loop_timer_new(l, on_timer, t, &t->timer);
    return r;
}

int journal_tail_open(struct loop *l, const struct journal_filter *f, journal_line_fn fn, void *userdata,
                      struct journal_tail **ret)
{
    _cleanup_(journal_tail_freep) struct journal_tail *t = calloc(1, sizeof(*t));
    int r;

    if (!t)
        return -ENOMEM;
    t->fn = fn;
    t->userdata = userdata;
    t->since = f->since;
    t->kernel = f->kernel;
    t->resumes = true;
    r = str_replace(&t->invocation, f->invocation);
    if (r == 0)
        r = open_journal(t, f);
    if (r == 0)
        r = watch_journal(t, l);
    if (r < 0)
        return r;
    loop_timer_set(t->timer, 0);
    *ret = steal_pointer(&t);
    return 0;
}

void journal_tail_hurry(struct journal_tail *t, usec_t until)
{
    t->hurry_until = until;
    if (until > 0)
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
    strbuf_release(&t->message);
    free(t->cursor);
    free(t->invocation);
    free(t);
}
