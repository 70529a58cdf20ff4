/* SPDX-License-Identifier: MIT */
#include "port/pipe_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/str.h"
#include "chaos.h"
#include "scratch.h"
#include "spin.h"
#include "unit.h"

#define PIECE (64 * 1024)

/* Lines come in here, each followed by '|'; stderr goes to a file meanwhile. */
struct bench {
    struct loop *loop;
    struct pipe_log *log;
    struct strbuf lines;
    size_t n_lines;
    size_t longest;
    int ends;
    bool free_at_end;
    bool feeds; /* each line makes another one come */
    int real_stderr;
    char *path;
    int dir;
};

static void on_line(const struct log_line *line, void *userdata)
{
    struct bench *b = userdata;

    assert_int_equal(line->source, LOG_SERVER);
    assert_int_equal(line->pid, 0);
    assert_true(line->realtime > 1000 * USEC_PER_DAY);
    b->n_lines++;
    if (b->feeds)
        assert_int_equal(write(pipe_log_write_fd(b->log), "more\n", 5), 5);
    b->longest = MAX(b->longest, line->len);
    if (line->len < 1000) {
        strbuf_append_n(&b->lines, line->text, line->len);
        strbuf_append_char(&b->lines, '|');
    }
}

static void on_end(void *userdata)
{
    struct bench *b = userdata;

    b->ends++;
    if (b->free_at_end) {
        pipe_log_free(b->log);
        b->log = NULL;
    }
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    int file;

    assert_non_null(b);
    b->path = scratch_new();
    b->dir = open(b->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    b->real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    file = openat(b->dir, "stderr", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
    close_fd(file);
    assert_int_equal(loop_new(&b->loop), 0);
    assert_int_equal(pipe_log_open(b->loop, on_line, on_end, b, &b->log), 0);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    pipe_log_free(b->log);
    loop_free(b->loop);
    assert_int_equal(dup2(b->real_stderr, STDERR_FILENO), STDERR_FILENO);
    close_fd(b->real_stderr);
    strbuf_release(&b->lines);
    close_fd(b->dir);
    scratch_remove(b->path);
    free(b);
    return 0;
}

static void say(struct bench *b, const char *text, size_t len)
{
    assert_int_equal(write(pipe_log_write_fd(b->log), text, len), len);
}

static void assert_passed_on(struct bench *b, const char *expected, size_t len)
{
    size_t passed_len = 0;
    _cleanup_free_ char *passed = scratch_read(b->dir, "stderr", &passed_len);

    assert_int_equal(passed_len, len);
    assert_memory_equal(passed, expected, len);
}

static bool ended(const void *data)
{
    const struct bench *b = data;

    return b->ends > 0;
}

static bool has_lines(const void *data)
{
    const struct bench *b = data;

    return b->n_lines > 0;
}

static void lines_come_whole(void **state)
{
    struct bench *b = *state;

    say(b, "one\ntw", 6);
    spin_for(b->loop, 20);
    assert_string_equal(b->lines.data, "one|");
    assert_passed_on(b, "one\n", 4);
    say(b, "o\n\nfo\0ur\r\n\xff", 11);
    spin_for(b->loop, 20);
    assert_int_equal(b->lines.len, 16);
    assert_memory_equal(b->lines.data, "one|two||fo\0ur\r|", 16);
    assert_passed_on(b, "one\ntwo\n\nfo\0ur\r\n", 16);
    assert_int_equal(b->ends, 0);

    pipe_log_close_write(b->log);
    assert_true(spin_until(b->loop, ended, b, 1000));
    assert_memory_equal(b->lines.data, "one|two||fo\0ur\r|\xff|", 18);
    assert_passed_on(b, "one\ntwo\n\nfo\0ur\r\n\xff\n", 18);
    spin_for(b->loop, 50);
    assert_int_equal(b->ends, 1);
}

static void the_end_waits_for_every_writer(void **state)
{
    struct bench *b = *state;
    int grandchild = fcntl(pipe_log_write_fd(b->log), F_DUPFD_CLOEXEC, 3);

    b->free_at_end = true;
    pipe_log_close_write(b->log);
    assert_int_equal(pipe_log_write_fd(b->log), -1);
    pipe_log_close_write(b->log);
    spin_for(b->loop, 20);
    assert_int_equal(b->ends, 0);
    assert_int_equal(write(grandchild, "last", 4), 4);
    close_fd(grandchild);
    assert_true(spin_until(b->loop, ended, b, 1000));
    assert_string_equal(b->lines.data, "last|");
    assert_null(b->log);
}

/* Something keeps the pipe open, and goes on writing into it. */
static void drain_takes_what_is_there(void **state)
{
    struct bench *b = *state;

    say(b, "one\nunfinished", 14);
    pipe_log_drain(b->log);
    assert_string_equal(b->lines.data, "one|unfinished|");
    assert_passed_on(b, "one\nunfinished\n", 15);
    pipe_log_drain(b->log);
    assert_int_equal(b->n_lines, 2);
    say(b, "more\n", 5);
    assert_true(spin_until(b->loop, has_lines, b, 1000));
    spin_for(b->loop, 20);
    assert_string_equal(b->lines.data, "one|unfinished|more|");
    assert_int_equal(b->ends, 0);
}

/* The unfinished line that has come before leaves too little room for it in one read. */
static void drain_takes_all_that_is_there(void **state)
{
    struct bench *b = *state;
    static char text[60000];

    memset(text, 'x', sizeof(text));
    say(b, text, sizeof(text));
    spin_for(b->loop, 20);
    say(b, text, sizeof(text));
    pipe_log_drain(b->log);
    assert_int_equal(b->n_lines, 2);
    assert_int_equal(b->longest, PIECE);
    spin_for(b->loop, 20);
    assert_int_equal(b->n_lines, 2);
}

static void drain_after_the_end(void **state)
{
    struct bench *b = *state;

    say(b, "last", 4);
    pipe_log_close_write(b->log);
    pipe_log_drain(b->log);
    assert_string_equal(b->lines.data, "last|");
    assert_true(spin_until(b->loop, ended, b, 1000));
    pipe_log_drain(b->log);
    assert_int_equal(b->n_lines, 1);
    assert_int_equal(b->ends, 1);
}

/* A process that writes `total` bytes, with a newline at every `line`th when that is not 0. */
static pid_t start_writer(struct bench *b, size_t total, size_t line)
{
    pid_t pid = fork();

    if (pid == 0) {
        static char buf[50000];

        (void) alarm(60);
        for (size_t done = 0; done < total;) {
            size_t n = MIN(sizeof(buf), total - done);
            ssize_t written;

            for (size_t i = 0; i < n; i++)
                buf[i] = line > 0 && (done + i + 1) % line == 0 ? '\n' : 'x';
            written = write(pipe_log_write_fd(b->log), buf, n);
            if (written < 0)
                _exit(1);
            done += (size_t) written;
        }
        _exit(0);
    }
    assert_true(pid > 0);
    pipe_log_close_write(b->log);
    return pid;
}

static void end_writer(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void an_endless_line_comes_in_pieces(void **state)
{
    struct bench *b = *state;
    size_t len = 0;
    pid_t pid = start_writer(b, 10 * PIECE + 5, 0);
    _cleanup_free_ char *passed = NULL;

    assert_true(spin_until(b->loop, ended, b, 10000));
    end_writer(pid);
    assert_int_equal(b->n_lines, 11);
    assert_int_equal(b->longest, PIECE);
    assert_string_equal(b->lines.data, "xxxxx|");
    passed = scratch_read(b->dir, "stderr", &len);
    assert_int_equal(len, 10 * PIECE + 6);
    assert_ptr_equal(memchr(passed, '\n', len), passed + len - 1);
}

static void a_flood_of_lines_comes_whole(void **state)
{
    struct bench *b = *state;
    pid_t pid = start_writer(b, 20000 * 777, 777);

    assert_true(spin_until(b->loop, ended, b, 20000));
    end_writer(pid);
    assert_int_equal(b->n_lines, 20000);
    assert_int_equal(b->longest, 776);
}

static void count_call(void *userdata)
{
    int *calls = userdata;

    ++*calls;
}

/* A timer that is due is served while the pipe is never empty. */
static void a_flood_leaves_the_loop_alive(void **state)
{
    struct bench *b = *state;
    struct loop_timer *timer;
    int calls = 0;

    (void) alarm(20);
    b->feeds = true;
    assert_int_equal(loop_timer_new(b->loop, count_call, &calls, &timer), 0);
    loop_timer_set(timer, usec_add(loop_now().monotonic, 20 * USEC_PER_MSEC));
    say(b, "more\n", 5);
    spin_for(b->loop, 100);
    assert_int_equal(calls, 1);
    assert_true(b->n_lines > 100);
    loop_timer_free(timer);
    (void) alarm(0);
}

/* Nobody reads our stderr, and every line is watched all the same. */
static void a_full_stderr_hides_nothing_from_the_watcher(void **state)
{
    struct bench *b = *state;
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    pipe_log_free(b->log);
    assert_int_equal(pipe_log_open(b->loop, on_line, on_end, b, &b->log), 0);
    pid = start_writer(b, 20000 * 100, 100);
    assert_true(spin_until(b->loop, ended, b, 10000));
    end_writer(pid);
    assert_int_equal(b->n_lines, 20000);
    close_fd(fds[0]);
    close_fd(fds[1]);
}

static void the_server_may_block(void **state)
{
    struct bench *b = *state;
    int fd = pipe_log_write_fd(b->log);

    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static int open_once(void *data)
{
    struct loop *l = data;
    _cleanup_(pipe_log_freep) struct pipe_log *p = NULL;

    return pipe_log_open(l, on_line, NULL, NULL, &p);
}

static void memory_may_run_out(void **state)
{
    struct bench *b = *state;

    assert_int_equal(chaos_each(open_once, b->loop), 4);
}

static void the_end_may_be_nobodys(void **state)
{
    struct bench *b = *state;

    pipe_log_free(b->log);
    assert_int_equal(pipe_log_open(b->loop, on_line, NULL, b, &b->log), 0);
    say(b, "one\n", 4);
    pipe_log_close_write(b->log);
    spin_for(b->loop, 50);
    assert_string_equal(b->lines.data, "one|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_come_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_waits_for_every_writer, setup, teardown),
        cmocka_unit_test_setup_teardown(drain_takes_what_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(drain_takes_all_that_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(drain_after_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(an_endless_line_comes_in_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(a_flood_of_lines_comes_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_flood_leaves_the_loop_alive, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_stderr_hides_nothing_from_the_watcher, setup, teardown),
        cmocka_unit_test_setup_teardown(the_server_may_block, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_may_be_nobodys, setup, teardown),
    };

    (void) signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
