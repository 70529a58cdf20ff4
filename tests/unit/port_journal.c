/* SPDX-License-Identifier: MIT */
#include "port/journal.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

#include "base/str.h"
#include "chaos.h"
#include "journald.h"
#include "spin.h"
#include "unit.h"

#define IDENTIFIER "coalmine-test"
/* With a sanitizer or valgrind on a busy machine. */
#define PATIENCE_MSEC 60000
#define STRANGER "coalmine-stranger.service"

static struct journald world;

/* What a tail has delivered: lines, each followed by '|', and the last marker. */
struct bench {
    struct loop *loop;
    struct journal_tail *tail;
    int stream;
    struct strbuf lines;
    size_t n_lines;
    size_t longest;
    struct log_line last; /* without its text */
    bool marked;
    char nonce[32];
};

static void on_line(const struct log_line *line, void *userdata)
{
    struct bench *b = userdata;

    if (journal_is_mark(line, NULL)) {
        b->marked |= journal_is_mark(line, b->nonce);
        return;
    }
    b->n_lines++;
    b->longest = MAX(b->longest, line->len);
    strbuf_append_n(&b->lines, line->text, line->len);
    strbuf_append_char(&b->lines, '|');
    b->last = *line;
    b->last.text = NULL;
}

static void forget(struct bench *b)
{
    strbuf_clear(&b->lines);
    b->n_lines = b->longest = 0;
}

static struct journal_filter filter_of_ours(void)
{
    return (struct journal_filter){
        .invocation = world.invocation,
        .identifier = IDENTIFIER,
        .since = loop_now().monotonic,
    };
}

static void open_tail(struct bench *b, const struct journal_filter *f)
{
    journal_tail_free(b->tail);
    b->tail = NULL;
    assert_int_equal(journal_tail_open(b->loop, f, on_line, b, &b->tail), 0);
}

static void open_stream(struct bench *b)
{
    close_fd(b->stream);
    assert_int_equal(journal_stream_open(IDENTIFIER, world.unit, &b->stream), 0);
}

static int setup(void **state)
{
    struct bench *b;
    struct journal_filter f;

    if (world.missing) {
        print_message("%s\n", world.missing);
        skip();
    }
    b = calloc(1, sizeof(*b));
    assert_non_null(b);
    b->stream = -1;
    assert_int_equal(loop_new(&b->loop), 0);
    f = filter_of_ours();
    open_tail(b, &f);
    open_stream(b);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    if (!b)
        return 0;
    journal_tail_free(b->tail);
    loop_free(b->loop);
    close_fd(b->stream);
    strbuf_release(&b->lines);
    free(b);
    return 0;
}

static void needs_private(void)
{
    if (!world.is_private) {
        print_message("not with the machine's own journald\n");
        skip();
    }
}

static void say(int stream, const char *text, size_t len)
{
    assert_int_equal(write(stream, text, len), len);
}

#define SAY(stream, text) say(stream, text, sizeof(text) - 1)

static bool is_marked(const void *data)
{
    return ((const struct bench *) data)->marked;
}

static bool has_line(const void *data)
{
    return ((const struct bench *) data)->n_lines > 0;
}

/* Everything that was written to the stream until now has come; returns how long that took. */
static usec_t catch_up(struct bench *b)
{
    usec_t begin = loop_now().monotonic;

    b->marked = false;
    (void) snprintf(b->nonce, sizeof(b->nonce), "%llu", (unsigned long long) begin);
    assert_int_equal(journal_stream_mark(b->stream, b->nonce), 0);
    journal_tail_hurry(b->tail, usec_add(begin, PATIENCE_MSEC * USEC_PER_MSEC));
    assert_true(spin_until(b->loop, is_marked, b, PATIENCE_MSEC));
    journal_tail_hurry(b->tail, 0);
    return loop_now().monotonic - begin;
}

/* A process that writes the text and is gone by the time that journald looks for it. */
static pid_t write_and_exit(int stream, const char *text)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void) !write(stream, text, strlen(text));
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void lines_come_back(void **state)
{
    struct bench *b = *state;
    usec_t before = loop_now().realtime;

    SAY(b->stream, "one\n<3>an error\n\n  blanks \t\nhal");
    SAY(b->stream, "f\n<9>no level\nlast, unfinished");
    (void) catch_up(b);
    assert_string_equal(b->lines.data, "one|an error|  blanks|half|<9>no level|last, unfinished|");
    assert_int_equal(b->last.source, LOG_SERVER);
    assert_true(b->last.pid == getpid() || b->last.pid == 0); /* journald forgets it now and then */
    assert_true(b->last.realtime >= before && b->last.realtime <= loop_now().realtime);
}

/* journald wakes its readers when it likes to; without hurry that is what is waited for. */
static void lines_come_back_without_hurry(void **state)
{
    struct bench *b = *state;

    SAY(b->stream, "one\n");
    assert_true(spin_until(b->loop, has_line, b, PATIENCE_MSEC));
    assert_string_equal(b->lines.data, "one|");
}

static void last_words_of_the_dead_come_too(void **state)
{
    struct bench *b = *state;
    char text[32];
    int known = 0;

    for (int i = 0; i < 50; i++) {
        pid_t pid;

        (void) snprintf(text, sizeof(text), "dead %d\n", i);
        pid = write_and_exit(b->stream, text);
        (void) catch_up(b);
        assert_int_equal(b->n_lines, i + 1);
        known += b->last.pid == pid;
    }
    assert_true(known > 40);
    forget(b);
    for (int i = 0; i < 10; i++)
        (void) write_and_exit(b->stream, "unfinished");
    (void) catch_up(b);
    assert_int_equal(b->n_lines, 10);
}

/* Where journald does not believe us about the unit (it believes root), they are told by their stream. */
static void last_words_without_an_invocation_come_too(void **state)
{
    struct bench *b = *state;
    char link[256];

    needs_private();
    (void) snprintf(link, sizeof(link), "/run/systemd/units/invocation:%s", world.unit);
    (void) catch_up(b);
    assert_int_equal(unlink(link), 0);
    for (int i = 0; i < 50; i++)
        (void) write_and_exit(b->stream, "dead\n");
    assert_int_equal(symlink(world.invocation, link), 0);
    (void) catch_up(b);
    assert_int_equal(b->n_lines, 50);
}

/* What a process of another unit would do that wants its lines to be taken for ours. Returns a failed step. */
static int forge(void)
{
    static const char *const texts[] = {
        "MESSAGE=forged",
        ("SYSLOG_IDENTIFIER=" IDENTIFIER),
        "_SYSTEMD_INVOCATION_ID=0123456789abcdef0123456789abcdef",
        "_TRANSPORT=kernel",
    };
    struct iovec fields[ARRAY_SIZE(texts)];
    int fd;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        fields[i] = (struct iovec){.iov_base = strdup(texts[i]), .iov_len = strlen(texts[i])};
    if (journal_send(fields, ARRAY_SIZE(fields)) < 0)
        return 1;
    if (journal_stream_open(IDENTIFIER, STRANGER, &fd) < 0)
        return 2;
    return write(fd, "of another unit\n", 16) == 16 ? 0 : 3;
}

static void lines_of_others_do_not(void **state)
{
    struct bench *b = *state;
    struct journal_filter any = filter_of_ours();
    _cleanup_close_ int other = -1;
    int status;
    pid_t pid;

    needs_private();
    any.invocation = NULL;
    assert_int_equal(journal_stream_open("another", world.unit, &other), 0);
    SAY(other, "under another name\n");
    (void) catch_up(b);
    assert_int_equal(b->n_lines, 0);
    if (!str_equal(world.unit, JOURNALD_UNIT)) {
        print_message("journald knows our unit whatever a stream says\n");
        skip();
    }
    pid = fork();
    if (pid == 0)
        _exit(forge());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void) catch_up(b);
    assert_int_equal(b->n_lines, 0);
    open_tail(b, &any);
    (void) catch_up(b);
    assert_string_equal(b->lines.data, "forged|of another unit|");
}

static void lines_of_another_invocation_do_not(void **state)
{
    struct bench *b = *state;
    struct journal_filter f = filter_of_ours();

    f.invocation = "ffffffffffffffffffffffffffffffff";
    open_tail(b, &f);
    SAY(b->stream, "one\n");
    spin_for(b->loop, 1000);
    assert_int_equal(b->n_lines, 0);
    f.invocation = NULL;
    open_tail(b, &f);
    (void) catch_up(b);
    assert_string_equal(b->lines.data, "one|");
}

static void lines_of_the_past_do_not(void **state)
{
    struct bench *b = *state;
    struct journal_filter f;

    SAY(b->stream, "old\n");
    (void) catch_up(b);
    f = filter_of_ours();
    forget(b);
    SAY(b->stream, "new\n");
    open_tail(b, &f);
    (void) catch_up(b);
    assert_string_equal(b->lines.data, "new|");

    /* An earlier moment brings them back: nothing depends on what was read before. */
    f.since = 0;
    forget(b);
    open_tail(b, &f);
    (void) catch_up(b);
    assert_true(str_ends_with(b->lines.data, "old|new|"));
}

static void a_long_line_comes_in_pieces(void **state)
{
    struct bench *b = *state;
    static char text[200000];
    size_t pieces;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char) ('a' + i % 26);
    for (size_t done = 0; done < sizeof(text);) {
        ssize_t n = write(b->stream, text + done, sizeof(text) - done);

        assert_true(n > 0);
        done += (size_t) n;
    }
    (void) catch_up(b);
    pieces = b->n_lines;
    assert_true(pieces > 1);
    assert_true(b->longest <= 64 * 1024);
    assert_int_equal(b->lines.len, sizeof(text) + pieces);
    for (size_t i = 0, j = 0; i < b->lines.len; i++) {
        if (b->lines.data[i] != '|')
            assert_int_equal(b->lines.data[i], text[j++]);
    }
}

/* A process of the server may write records of its own, of any length. */
static void a_huge_message_is_cut(void **state)
{
    struct bench *b = *state;
    static char text[8 + 200000] = "MESSAGE=";
    struct iovec fields[] = {
        {.iov_base = text, .iov_len = sizeof(text)},
        {.iov_base = (char[]){"SYSLOG_IDENTIFIER=" IDENTIFIER}, .iov_len = 18 + strlen(IDENTIFIER)},
    };

    memset(text + 8, 'x', sizeof(text) - 8);
    (void) catch_up(b);
    assert_int_equal(journal_send(fields, ARRAY_SIZE(fields)), 0);
    journal_tail_hurry(b->tail, USEC_INFINITY);
    assert_true(spin_until(b->loop, has_line, b, PATIENCE_MSEC));
    assert_int_equal(b->n_lines, 1);
    assert_int_equal(b->longest, 64 * 1024);
}

static void any_byte_comes_back(void **state)
{
    struct bench *b = *state;
    char text[256];

    for (int i = 0; i < 255; i++)
        text[i] = (char) (i == '\n' - 1 ? 'x' : i + 1);
    text[255] = '\n';
    say(b->stream, text, sizeof(text));
    (void) catch_up(b);
    assert_int_equal(b->lines.len, 256);
    assert_memory_equal(b->lines.data, text, 255);
    forget(b);
    SAY(b->stream, "before\0after\n");
    (void) catch_up(b);
    assert_string_equal(b->lines.data, "before|after|");
}

/* How far it is when a timer fires. */
struct progress {
    const struct bench *bench;
    size_t n_lines;
    int calls;
};

static void note_progress(void *userdata)
{
    struct progress *p = userdata;

    p->calls++;
    p->n_lines = p->bench->n_lines;
}

static pid_t start_flood(int stream, int n)
{
    pid_t pid = fork();

    if (pid == 0) {
        char text[200];

        for (int i = 0; i < n; i++) {
            int len = snprintf(text, sizeof(text), "%07d of a flood of lines as long as lines are\n", i);

            if (write(stream, text, (size_t) len) != len)
                _exit(1);
        }
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* The lines are those of start_flood(), from 0 and without a gap. */
static void assert_flood(const struct bench *b, size_t n)
{
    const char *at = b->lines.data;

    assert_int_equal(b->n_lines, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(strtoul(at, NULL, 10), i);
        at = strchr(at, '|') + 1;
    }
}

static void a_flood_comes_whole_and_in_order(void **state)
{
    struct bench *b = *state;
    struct progress progress = {.bench = b};
    struct loop_timer *timer;
    usec_t begin = loop_now().monotonic;
    int status;
    pid_t pid = start_flood(b->stream, 20000);
    struct journal_filter f = filter_of_ours();
    usec_t took;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void) catch_up(b);
    assert_flood(b, 20000);

    /* All of it is there now: other events are served all the same. */
    forget(b);
    f.since = begin;
    open_tail(b, &f);
    assert_int_equal(loop_timer_new(b->loop, note_progress, &progress, &timer), 0);
    loop_timer_set(timer, usec_add(loop_now().monotonic, 5 * USEC_PER_MSEC));
    took = catch_up(b);
    loop_timer_free(timer);
    assert_flood(b, 20000);
    assert_int_equal(progress.calls, 1);
    assert_true(progress.n_lines < 20000);
    print_message("20000 lines in %llu us\n", (unsigned long long) took);
}

static size_t count_files(bool remove_archived)
{
    DIR *top = opendir("/run/log/journal");
    struct dirent *machine, *file;
    size_t n = 0;

    assert_non_null(top);
    while ((machine = readdir(top))) {
        int fd = openat(dirfd(top), machine->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = machine->d_name[0] == '.' ? NULL : fdopendir(fd);

        while (dir && (file = readdir(dir))) {
            n += str_ends_with(file->d_name, ".journal");
            if (remove_archived && strchr(file->d_name, '@'))
                assert_int_equal(unlinkat(dirfd(dir), file->d_name, 0), 0);
        }
        if (dir)
            (void) closedir(dir);
        else
            close_fd(fd);
    }
    (void) closedir(top);
    return n;
}

/* SIGUSR2: journald begins a new file. */
static void files_may_come_and_go(void **state)
{
    struct bench *b = *state;
    pid_t pid;
    int status;

    needs_private();
    pid = start_flood(b->stream, 20000);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kill(world.pid, SIGUSR2), 0);
        spin_for(b->loop, 200);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void) catch_up(b);
    assert_flood(b, 20000);

    /* The file of the last line that was read goes too. */
    assert_int_equal(kill(world.pid, SIGUSR2), 0);
    spin_for(b->loop, 300);
    assert_true(count_files(true) > 1);
    spin_for(b->loop, 300);
    forget(b);
    pid = start_flood(b->stream, 1000);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void) catch_up(b);
    assert_flood(b, 1000);
}

static void a_new_journald_is_noticed(void **state)
{
    struct bench *b = *state;

    needs_private();
    SAY(b->stream, "to the old one\n");
    (void) catch_up(b);
    journald_stop(&world);
    assert_int_equal(journal_stream_mark(b->stream, "x"), -EPIPE);
    assert_false(journal_available());
    spin_for(b->loop, 50);
    journald_start(&world);
    assert_true(journal_available());
    open_stream(b);
    SAY(b->stream, "to the new one\n");
    (void) catch_up(b);
    assert_string_equal(b->lines.data, "to the old one|to the new one|");
}

static void fill(int stream)
{
    static char text[65536];

    memset(text, '\n', sizeof(text));
    while (send(stream, text, sizeof(text), MSG_DONTWAIT) > 0)
        ;
    assert_int_equal(errno, EAGAIN);
}

/* Neither a stream nor a record waits for it for long; would hang for ever if they did. */
static void a_stuck_journald_holds_up_nothing(void **state)
{
    struct bench *b = *state;
    struct iovec field = {.iov_base = (char[]){"MESSAGE=x"}, .iov_len = 9};
    int fds[20000], n = 0, r = 0;
    usec_t begin;

    needs_private();
    (void) alarm(100);
    assert_int_equal(kill(world.pid, SIGSTOP), 0);
    fill(b->stream);
    assert_int_equal(journal_stream_mark(b->stream, "x"), -EAGAIN);
    while (r == 0 && n < 5000)
        r = journal_send(&field, 1), n++;
    assert_int_equal(r, -EAGAIN);
    begin = loop_now().monotonic;
    assert_int_equal(journal_send(&field, 1), -EAGAIN);
    assert_true(loop_now().monotonic - begin < 200 * USEC_PER_MSEC);
    for (n = 0, r = 0; r == 0 && n < 20000; n++)
        r = journal_stream_open(IDENTIFIER, world.unit, &fds[n]);
    assert_true(r == -EAGAIN || r == -EMFILE);
    for (int i = 0; i < n - 1; i++)
        close_fd(fds[i]);
    assert_int_equal(kill(world.pid, SIGCONT), 0);

    b->stream = close_fd(b->stream);
    do
        r = journal_stream_open(IDENTIFIER, world.unit, &b->stream);
    while (r == -EAGAIN);
    assert_int_equal(r, 0);
    forget(b);
    SAY(b->stream, "alive\n");
    (void) catch_up(b);
    assert_string_equal(b->lines.data, "alive|");
    (void) alarm(0);
}

static void streams_are_fit_for_a_child(void **state)
{
    struct bench *b = *state;
    int fd = -1;

    assert_int_equal(fcntl(b->stream, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(b->stream, F_GETFD), FD_CLOEXEC);
    assert_int_equal(journal_stream_open("a\nb", world.unit, &fd), -EINVAL);
    assert_int_equal(journal_stream_open("a", "b\n", &fd), -EINVAL);
    assert_int_equal(fd, -1);
}

/* The newest record with that MESSAGE_ID. */
static sd_journal *find_record(const char *id)
{
    _cleanup_free_ char *match = str_format("MESSAGE_ID=%s", id);
    sd_journal *j;

    assert_int_equal(sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY), 0);
    assert_int_equal(sd_journal_set_data_threshold(j, 0), 0);
    assert_int_equal(sd_journal_add_match(j, match, 0), 0);
    for (int i = 0; i < 2000; i++) {
        assert_true(sd_journal_seek_tail(j) >= 0);
        if (sd_journal_previous(j) > 0)
            return j;
        assert_int_equal(usleep(10000), 0);
        (void) sd_journal_process(j);
    }
    fail_msg("no record %s", id);
    return NULL;
}

static void assert_field(sd_journal *j, const char *name, const char *value, size_t len)
{
    const void *data;
    size_t n;

    assert_int_equal(sd_journal_get_data(j, name, &data, &n), 0);
    assert_int_equal(n, strlen(name) + 1 + len);
    assert_memory_equal((const char *) data + strlen(name) + 1, value, len);
}

static int send_record(const char *id, const char *value, size_t len)
{
    char id_field[64];
    char *value_field = malloc(len + 10);
    struct iovec fields[3];
    int r;

    assert_non_null(value_field);
    memcpy(value_field, "COALMINE=", 9);
    memcpy(value_field + 9, value, len);
    fields[0] = (struct iovec){.iov_base = (char[]){"MESSAGE="}, .iov_len = 8};
    fields[1] = (struct iovec){.iov_base = id_field,
                               .iov_len = (size_t) snprintf(id_field, sizeof(id_field), "MESSAGE_ID=%s", id)};
    fields[2] = (struct iovec){.iov_base = value_field, .iov_len = len + 9};
    r = journal_send(fields, 3);
    free(value_field);
    return r;
}

static void records_are_kept_whole(void **state)
{
    static const size_t sizes[] = {0, 1, 10, 1000, 100000, 3000000};
    static char value[3000000];

    (void) state;
    for (size_t i = 0; i < sizeof(value); i++)
        value[i] = (char) (i * 7 + i / 256);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        char id[33];
        sd_journal *j;

        (void) snprintf(id, sizeof(id), "%016llx%016zx", (unsigned long long) loop_now().realtime, i);
        assert_int_equal(send_record(id, value, sizes[i]), 0);
        j = find_record(id);
        assert_field(j, "COALMINE", value, sizes[i]);
        assert_field(j, "MESSAGE", "", 0);
        sd_journal_close(j);
    }
}

static void records_need_names(void **state unused)
{
    static const char *const wrong[] = {"", "=value", "NAME", "\n"};

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct iovec field = {.iov_base = strdup(wrong[i]), .iov_len = strlen(wrong[i])};

        assert_row(wrong[i], journal_send(&field, 1) == -EINVAL);
        free(field.iov_base);
    }
}

static void kernel_lines_come_where_wanted(void **state)
{
    struct bench *b = *state;
    struct journal_filter f = filter_of_ours();
    static const char text[] = "<6>coalmine-test: a line for the kernel's log\n";
    _cleanup_close_ int kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

    needs_private();
    f.kernel = true;
    open_tail(b, &f);
    if (kmsg < 0 || write(kmsg, text, strlen(text)) < 0) {
        print_message("/dev/kmsg cannot be written to\n");
        skip();
    }
    assert_true(spin_until(b->loop, has_line, b, PATIENCE_MSEC));
    assert_int_equal(b->last.source, LOG_KERNEL);
    assert_non_null(strstr(b->lines.data, "a line for the kernel's log"));
    forget(b);
    f.kernel = false;
    open_tail(b, &f);
    (void) catch_up(b);
    assert_int_equal(b->n_lines, 0);
}

static void count_turn(void *userdata)
{
    int *turns = userdata;

    ++*turns;
}

static void stop_loop(void *userdata)
{
    loop_stop(userdata);
}

static void rest_is_rest(void **state)
{
    struct bench *b = *state;
    struct loop_timer *timer;
    int turns = 0;

    (void) catch_up(b);
    spin_for(b->loop, 700); /* journald's own late wake-up */
    loop_set_turn(b->loop, count_turn, &turns);
    assert_int_equal(loop_timer_new(b->loop, stop_loop, b->loop, &timer), 0);
    loop_timer_set(timer, usec_add(loop_now().monotonic, USEC_PER_SEC));
    loop_run(b->loop);
    loop_timer_free(timer);
    loop_set_turn(b->loop, NULL, NULL);
    assert_true(turns <= (world.is_private ? 3 : 20));
}

static void hurry_is_quick(void **state)
{
    struct bench *b = *state;
    usec_t worst = 0, sum = 0;

    for (int i = 0; i < 500; i++) {
        usec_t took = catch_up(b);

        worst = MAX(worst, took);
        sum += took;
    }
    print_message("marker after %llu us on average, %llu us at worst\n", (unsigned long long) sum / 500,
                  (unsigned long long) worst);
    assert_true(sum / 500 < 100 * USEC_PER_MSEC);
}

static int open_journal_file(void)
{
    char machine[SD_ID128_STRING_MAX], path[128];
    sd_id128_t id;
    int fd;

    assert_int_equal(sd_id128_get_machine(&id), 0);
    (void) snprintf(path, sizeof(path), "/run/log/journal/%s/system.journal", sd_id128_to_string(id, machine));
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void read_journal(int fd, char *buf, size_t size)
{
    ssize_t n = pread(fd, buf, size, 0);

    assert_true(n > 4096 && (size_t) n < size);
}

static uint64_t number_at(const char *file, uint64_t offset)
{
    uint64_t n;

    memcpy(&n, file + offset, sizeof(n));
    return le64toh(n);
}

/* Where the last object ends (systemd's Journal File Format: header_size, tail_object_offset, and each
 * object's size). */
static uint64_t end_of_objects(const char *file)
{
    uint64_t tail = number_at(file, 136);

    return tail + number_at(file, tail + 8);
}

static void wait_for_message(const char *message)
{
    _cleanup_free_ char *match = str_format("MESSAGE=%s", message);
    sd_journal *j;
    int r;

    assert_int_equal(sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY), 0);
    assert_int_equal(sd_journal_add_match(j, match, 0), 0);
    do
        r = sd_journal_seek_head(j);
    while (r >= 0 && (r = sd_journal_next(j)) == 0);
    assert_int_equal(r, 1);
    sd_journal_close(j);
}

/* journald counts a new entry before it links it to its fields. A look in just that moment, which is made
 * here out of the file as it was before and as it is after, must not keep later looks from finding it. */
static void the_newest_line_is_never_missed(void **state)
{
    static char before[16 * 1024 * 1024], after[16 * 1024 * 1024];
    struct bench *b = *state;
    uint64_t begin, end;
    int fd;

    needs_private();
    assert_int_equal(kill(world.pid, SIGUSR2), 0); /* a new and small file */
    spin_for(b->loop, 300);
    (void) catch_up(b);
    fd = open_journal_file();
    read_journal(fd, before, sizeof(before));
    (void) snprintf(b->nonce, sizeof(b->nonce), "missed");
    b->marked = false;
    assert_int_equal(journal_stream_mark(b->stream, b->nonce), 0);
    wait_for_message("coalmine: mark missed");
    assert_int_equal(kill(world.pid, SIGSTOP), 0);
    read_journal(fd, after, sizeof(after));

    begin = number_at(before, 88);
    end = end_of_objects(before);
    assert_true(end_of_objects(after) > end);
    assert_int_equal(pwrite(fd, before + begin, end - begin, (off_t) begin), end - begin);
    journal_tail_hurry(b->tail, loop_now().monotonic);
    spin_for(b->loop, 20);
    assert_false(b->marked);
    assert_int_equal(pwrite(fd, after + begin, end - begin, (off_t) begin), end - begin);
    assert_int_equal(kill(world.pid, SIGCONT), 0);
    close_fd(fd);

    journal_tail_hurry(b->tail, USEC_INFINITY);
    assert_true(spin_until(b->loop, is_marked, b, 5000));
}

/* In a process of its own: rights once given up do not come back. */
static int open_as_nobody(struct bench *b)
{
    struct journal_filter f = filter_of_ours();
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(0);
        _exit(-journal_tail_open(b->loop, &f, on_line, b, &b->tail));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static void a_journal_that_may_not_be_read(void **state)
{
    struct bench *b = *state;

    needs_private();
    (void) catch_up(b);
    assert_int_equal(open_as_nobody(b), -EACCES);
}

static void marks_are_recognised(void **state unused)
{
    static const struct row {
        const char *text;
        const char *nonce;
        bool is;
    } rows[] = {
        {"coalmine: mark abc", "abc", true},   {"coalmine: mark abc", NULL, true},
        {"coalmine: mark abc", "ab", false},   {"coalmine: mark abc", "abcd", false},
        {"coalmine: mark ", NULL, true},       {"coalmine: mark", NULL, false},
        {"", NULL, false},                     {" coalmine: mark abc", NULL, false},
        {"coalmine: mark abc\n", "abc", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct log_line line = {.text = rows[i].text, .len = strlen(rows[i].text)};

        assert_row(rows[i].text, journal_is_mark(&line, rows[i].nonce) == rows[i].is);
    }
}

static int everything_once(void *data)
{
    struct loop *l = data;
    struct journal_filter f = filter_of_ours();
    _cleanup_(journal_tail_freep) struct journal_tail *t = NULL;
    _cleanup_close_ int fd = -1;
    struct iovec field = {.iov_base = (char[]){"MESSAGE=x"}, .iov_len = 9};
    int r = journal_tail_open(l, &f, on_line, NULL, &t);

    if (r == 0)
        r = journal_stream_open(IDENTIFIER, world.unit, &fd);
    if (r == 0)
        r = journal_stream_mark(fd, "x");
    if (r == 0)
        r = journal_send(&field, 1);
    return r;
}

static void memory_may_run_out(void **state)
{
    struct bench *b = *state;

    assert_true(chaos_each(everything_once, b->loop) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_come_back_without_hurry, setup, teardown),
        cmocka_unit_test_setup_teardown(last_words_of_the_dead_come_too, setup, teardown),
        cmocka_unit_test_setup_teardown(last_words_without_an_invocation_come_too, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_others_do_not, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_another_invocation_do_not, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_the_past_do_not, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_line_comes_in_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(a_huge_message_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(any_byte_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_flood_comes_whole_and_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(files_may_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_journald_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stuck_journald_holds_up_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(streams_are_fit_for_a_child, setup, teardown),
        cmocka_unit_test_setup_teardown(records_are_kept_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(kernel_lines_come_where_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(rest_is_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(hurry_is_quick, setup, teardown),
        cmocka_unit_test_setup_teardown(the_newest_line_is_never_missed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_journal_that_may_not_be_read, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
        cmocka_unit_test(records_need_names),
        cmocka_unit_test(marks_are_recognised),
    };
    int r;

    (void) signal(SIGPIPE, SIG_IGN);
    world = journald_enter();
    r = cmocka_run_group_tests(tests, NULL, NULL);
    if (world.pid > 0)
        journald_stop(&world);
    return r;
}
