/* SPDX-License-Identifier: MIT */
#include "port/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/str.h"
#include "chaos.h"
#include "scratch.h"
#include "spin.h"
#include "unit.h"

/* Beyond what the outlet's queue and any pipe or socket here can hold. */
#define MUCH (4 * 1024 * 1024)
#define LINE 1000

struct bench {
    struct loop *loop;
    struct outlet *outlet;
    int fds[2]; /* what is written to, and where it is read */
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->fds[0] = b->fds[1] = -1;
    assert_int_equal(loop_new(&b->loop), 0);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    outlet_free(b->outlet);
    loop_free(b->loop);
    close_fd(b->fds[0]);
    close_fd(b->fds[1]);
    free(b);
    return 0;
}

static void make_pipe(int *fds)
{
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
}

static void make_socket(int *fds)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static void make_terminal(int *fds)
{
    char name[64];

    fds[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(fds[0] >= 0);
    assert_int_equal(unlockpt(fds[0]), 0);
    assert_int_equal(ptsname_r(fds[0], name, sizeof(name)), 0);
    fds[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(fds[1] >= 0);
}

static const struct kind {
    const char *name;
    void (*make)(int *fds);
    const char *newline; /* as it arrives */
} kinds[] = {
    {"pipe", make_pipe, "\n"},
    {"socket", make_socket, "\n"},
    {"terminal", make_terminal, "\r\n"},
};

/* Adds what can be read within half a second. */
static void read_on(struct bench *b, struct strbuf *seen)
{
    char buf[65536];
    int idle = 0;

    assert_int_equal(fcntl(b->fds[0], F_SETFL, O_NONBLOCK), 0);
    while (idle < 5) {
        ssize_t n = read(b->fds[0], buf, sizeof(buf));

        if (n > 0)
            strbuf_append_n(seen, buf, (size_t) n);
        else
            idle++;
        spin_for(b->loop, n > 0 ? 1 : 10);
    }
}

static void write_line(struct outlet *o, int number)
{
    char line[LINE];

    memset(line, '.', sizeof(line));
    line[snprintf(line, sizeof(line), "%d", number)] = ' ';
    line[LINE - 1] = '\n';
    outlet_write(o, line, sizeof(line));
}

/* Checks that the text is whole lines, numbered without a gap but where it says how many are missing;
 * returns the number of the line that would come next. */
static int check_lines(const char *text, const char *newline, int *ret_gaps)
{
    int next = 0, missing;

    *ret_gaps = 0;
    while (*text) {
        const char *end = strstr(text, newline);

        assert_non_null(end);
        if (sscanf(text, "coalmine: %d lines are missing here", &missing) == 1) {
            assert_true(missing > 0);
            next += missing;
            ++*ret_gaps;
        } else {
            assert_int_equal(atoi(text), next);
            assert_int_equal(end - text, LINE - 1);
            next++;
        }
        text = end + strlen(newline);
    }
    return next;
}

static void start(struct bench *b, const struct kind *k)
{
    k->make(b->fds);
    assert_int_equal(outlet_new(b->loop, b->fds[1], &b->outlet), 0);
}

static void finish(struct bench *b)
{
    outlet_free(b->outlet);
    b->outlet = NULL;
    b->fds[0] = close_fd(b->fds[0]);
    b->fds[1] = close_fd(b->fds[1]);
}

static void a_reader_gets_everything(void **state)
{
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        _cleanup_strbuf_ struct strbuf seen = {};
        int gaps;

        start(b, &kinds[i]);
        for (int n = 0; n < 200; n++)
            write_line(b->outlet, n);
        read_on(b, &seen);
        assert_int_equal(check_lines(seen.data, kinds[i].newline, &gaps), 200);
        assert_int_equal(gaps, 0);
        finish(b);
    }
}

/* Would hang for ever if anything blocked. */
static void without_a_reader_lines_are_counted(void **state)
{
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        _cleanup_strbuf_ struct strbuf seen = {};
        int gaps, n = 0;

        start(b, &kinds[i]);
        while (n < MUCH / LINE)
            write_line(b->outlet, n++);
        read_on(b, &seen);
        assert_true(seen.len < MUCH / 4);
        assert_int_equal(check_lines(seen.data, kinds[i].newline, &gaps), n);
        for (int more = 0; more < 10; more++)
            write_line(b->outlet, n++);
        read_on(b, &seen);
        assert_int_equal(check_lines(seen.data, kinds[i].newline, &gaps), n);
        assert_int_equal(gaps, 1);
        assert_int_equal(fcntl(b->fds[1], F_GETFL) & O_NONBLOCK, 0);
        finish(b);
    }
}

/* The lines that a full pipe does not take are not overtaken when it has room again. */
static void lines_keep_their_order(void **state)
{
    struct bench *b = *state;
    _cleanup_strbuf_ struct strbuf seen = {};
    char buf[20 * LINE];
    int gaps, n = 0;

    start(b, &kinds[0]);
    while (n < 100)
        write_line(b->outlet, n++);
    assert_int_equal(read(b->fds[0], buf, sizeof(buf)), sizeof(buf));
    strbuf_append_n(&seen, buf, sizeof(buf));
    while (n < 110)
        write_line(b->outlet, n++);
    read_on(b, &seen);
    assert_int_equal(check_lines(seen.data, "\n", &gaps), n);
    assert_int_equal(gaps, 0);
}

/* A reader that is too slow gets a run of lines after each gap, not single ones. */
static void a_gap_lasts_until_the_queue_is_empty(void **state)
{
    struct bench *b = *state;
    _cleanup_strbuf_ struct strbuf seen = {};
    char buf[LINE];
    int gaps, n = 0;

    start(b, &kinds[0]);
    while (n < 400)
        write_line(b->outlet, n++);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(read(b->fds[0], buf, sizeof(buf)), sizeof(buf));
        strbuf_append_n(&seen, buf, sizeof(buf));
        spin_for(b->loop, 0);
        write_line(b->outlet, n++);
        write_line(b->outlet, n++);
    }
    read_on(b, &seen);
    assert_int_equal(check_lines(seen.data, "\n", &gaps), n);
    assert_int_equal(gaps, 1);
}

/* Megabytes pass through a queue that always has something in it. */
static void a_queue_that_never_empties_stays_small(void **state)
{
    struct bench *b = *state;
    static char chunk[16000];
    struct rusage before, after;

    start(b, &kinds[0]);
    for (int n = 0; n < 15; n++)
        outlet_write(b->outlet, chunk, sizeof(chunk));
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    for (int n = 0; n < 2000; n++) {
        chunk[0] = (char) (1 + n % 100);
        outlet_write(b->outlet, chunk, sizeof(chunk));
        for (size_t done = 0; done < sizeof(chunk);) {
            ssize_t taken = read(b->fds[0], chunk + done, sizeof(chunk) - done);

            assert_true(taken > 0);
            done += (size_t) taken;
            spin_for(b->loop, 0);
        }
        assert_int_equal(chunk[0], n < 15 ? 0 : 1 + (n - 15) % 100);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 8 * 1024);
}

static void a_reader_that_goes_is_no_matter(void **state)
{
    struct bench *b = *state;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        start(b, &kinds[i]);
        for (int n = 0; n < MUCH / LINE; n++)
            write_line(b->outlet, n);
        b->fds[0] = close_fd(b->fds[0]);
        spin_for(b->loop, 20);
        write_line(b->outlet, 0);
        spin_for(b->loop, 20);
        finish(b);
    }
}

static void a_closed_descriptor_is_no_matter(void **state)
{
    struct bench *b = *state;

    assert_int_equal(outlet_new(b->loop, 1000, &b->outlet), 0);
    write_line(b->outlet, 0);
    spin_for(b->loop, 0);
}

/* Others write to the same file: what they write between our lines must not be overwritten. */
static void a_file_is_shared(void **state)
{
    struct bench *b = *state;
    char *path = scratch_new();
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *content = NULL;

    b->fds[1] = openat(dir, "log", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(outlet_new(b->loop, b->fds[1], &b->outlet), 0);
    outlet_write(b->outlet, "one\n", 4);
    assert_int_equal(write(b->fds[1], "two\n", 4), 4);
    outlet_write(b->outlet, "three\n", 6);
    content = scratch_read(dir, "log", NULL);
    assert_string_equal(content, "one\ntwo\nthree\n");
    close_fd(dir);
    scratch_remove(path);
}

/* Another user's pipe cannot be opened anew. */
static void a_pipe_of_another_user(void **state)
{
    struct bench *b = *state;
    int status;
    pid_t pid;

    if (getuid() != 0) {
        print_message("no rights to become another user\n");
        skip();
    }
    make_pipe(b->fds);
    pid = fork();
    if (pid == 0) {
        struct bench child = {.fds = {b->fds[0], b->fds[1]}};
        _cleanup_strbuf_ struct strbuf seen = {};
        int gaps = 0, n = 0;

        if (setgid(65534) < 0 || setuid(65534) < 0 || loop_new(&child.loop) < 0 ||
            outlet_new(child.loop, child.fds[1], &child.outlet) < 0)
            _exit(1);
        (void) alarm(60);
        while (n < MUCH / LINE)
            write_line(child.outlet, n++);
        read_on(&child, &seen);
        write_line(child.outlet, n++);
        read_on(&child, &seen);
        _exit(check_lines(seen.data, "\n", &gaps) == n && gaps == 1 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_rest_is_written_at_the_end(void **state)
{
    struct bench *b = *state;
    _cleanup_strbuf_ struct strbuf seen = {};
    static char buf[65536];
    int gaps, n = 0;
    ssize_t taken;

    start(b, &kinds[0]);
    while (n < 70)
        write_line(b->outlet, n++);
    taken = read(b->fds[0], buf, sizeof(buf));
    assert_true(taken > 0 && taken < 70 * LINE);
    strbuf_append_n(&seen, buf, (size_t) taken);
    outlet_free(b->outlet);
    b->outlet = NULL;
    read_on(b, &seen);
    assert_int_equal(check_lines(seen.data, "\n", &gaps), n);
}

static void lost_memory_is_lost_lines(void **state)
{
    struct bench *b = *state;
    _cleanup_strbuf_ struct strbuf seen = {};
    int gaps, n = 0;

    start(b, &kinds[0]);
    assert_int_equal(fcntl(b->fds[1], F_SETPIPE_SZ, 4096), 4096);
    while (n < 4)
        write_line(b->outlet, n++);
    chaos_arm(1);
    write_line(b->outlet, n++);
    assert_true(chaos_disarm());
    while (n < 10)
        write_line(b->outlet, n++);
    read_on(b, &seen);
    assert_int_equal(check_lines(seen.data, "\n", &gaps), n);
    assert_int_equal(gaps, 1);
    assert_non_null(strstr(seen.data, "coalmine: 1 lines"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reader_gets_everything, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_reader_lines_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_keep_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gap_lasts_until_the_queue_is_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(a_queue_that_never_empties_stays_small, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_goes_is_no_matter, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_descriptor_is_no_matter, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_is_shared, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipe_of_another_user, setup, teardown),
        cmocka_unit_test_setup_teardown(the_rest_is_written_at_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_memory_is_lost_lines, setup, teardown),
    };

    (void) signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
