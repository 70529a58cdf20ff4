/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "chaos.h"
#include "core/canary/stream.h"

#define MAX_EVENT 32

/* Events joined with '|'; the feeding ends at one that is "stop". */
static int gather(const char *data, size_t n, void *userdata)
{
    struct strbuf *b = userdata;

    assert_true(n > 0);
    strbuf_append_n(b, data, n);
    strbuf_append_char(b, '|');
    return n == 4 && memcmp(data, "stop", 4) == 0 ? 7 : 0;
}

/* Fed in pieces of `step` bytes. */
static int read_events(enum stream_format format, const char *bytes, size_t n, size_t step,
                       struct strbuf *events)
{
    _cleanup_(stream_freep) struct stream *s = NULL;
    int r = stream_new(format, MAX_EVENT, gather, events, &s);

    for (size_t i = 0; r == 0 && i < n; i += step)
        r = stream_feed(s, bytes + i, MIN(step, n - i));
    return r == 0 ? stream_end(s) : r;
}

#define BYTES(text) text, sizeof(text) - 1

static const struct row {
    enum stream_format format;
    const char *bytes;
    size_t n;
    const char *events;
    int result;
} rows[] = {
    {STREAM_SSE, BYTES("data: a\n\ndata: b\n\n"), "a|b|", 0},
    {STREAM_SSE, BYTES("data:a\r\n\r\ndata:  b\r\rdata: c\n\n"), "a| b|c|", 0},
    {STREAM_SSE, BYTES("\xef\xbb\xbf" "data: a\n\n"), "a|", 0},
    {STREAM_SSE, BYTES("data: a\ndata: b\ndata\ndata:\n\n"), "a\nb\n\n|", 0},
    {STREAM_SSE, BYTES(": ping\n\nevent: x\nid: 7\nretry: 3\ndata: a\ndatax: b\n\n"), "a|", 0},
    {STREAM_SSE, BYTES("\n\n\nevent: x\n\ndata: \n\n"), "", 0},
    {STREAM_SSE, BYTES("data: a\n\ndata: cut"), "a|cut|", 0},
    {STREAM_SSE, BYTES("data: a\n\ndata: stop\n\ndata: b\n\n"), "a|stop|", 7},
    {STREAM_SSE, BYTES("<html>\nno events\n"), "", 0},
    {STREAM_SSE, BYTES("data: \xff\xfe\n\n"), "\xff\xfe|", 0},
    {STREAM_SSE, BYTES("data: 0123456789012345678901234\n\n"), "0123456789012345678901234|", 0},
    {STREAM_SSE, BYTES("data: 0123456789012345678901234567\n\n"), "", -EMSGSIZE},
    {STREAM_SSE, BYTES("data: 01234567890123456789\ndata: 01234567890123456789\n\n"), "", -EMSGSIZE},
    {STREAM_SSE, BYTES(": 0123456789012345678901234567890123456789"), "", -EMSGSIZE},
    {STREAM_NDJSON, BYTES("{}\n{\"a\":1}\n"), "{}|{\"a\":1}|", 0},
    {STREAM_NDJSON, BYTES("{}\r\n\r\n\n[1]"), "{}|[1]|", 0},
    {STREAM_NDJSON, BYTES("data: a\n\n"), "data: a|", 0},
    {STREAM_NDJSON, BYTES("a\nstop\nb"), "a|stop|", 7},
    {STREAM_NDJSON, BYTES("012345678901234567890123456789012\n"), "", -EMSGSIZE},
    {STREAM_NDJSON, BYTES(""), "", 0},
};

/* However the bytes are cut, the events are the same. */
static void events_do_not_depend_on_the_cuts(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        for (size_t step = 1; step <= rows[i].n + 1; step++) {
            _cleanup_strbuf_ struct strbuf events = {};
            int r = read_events(rows[i].format, rows[i].bytes, rows[i].n, step, &events);

            assert_row(rows[i].bytes, r == rows[i].result);
            assert_row(rows[i].bytes, str_equal(str_or_empty(events.data), rows[i].events));
        }
    }
}

static int count_bytes(const char *data, size_t n, void *userdata)
{
    size_t *zeros = userdata;

    for (size_t i = 0; i < n; i++)
        *zeros += data[i] == '\0';
    return 0;
}

static void zero_bytes_are_kept(void unused **state)
{
    static const char bytes[] = "data: a\0b\0\n\n\0\0\n\n";
    _cleanup_(stream_freep) struct stream *s = NULL;
    size_t zeros = 0;

    assert_int_equal(stream_new(STREAM_SSE, MAX_EVENT, count_bytes, &zeros, &s), 0);
    assert_int_equal(stream_feed(s, bytes, sizeof(bytes) - 1), 0);
    assert_int_equal(stream_end(s), 0);
    assert_int_equal(zeros, 2);
}

static int drop(const char *data unused, size_t n unused, void *userdata unused)
{
    return 0;
}

static int feed_once(void *data)
{
    const struct row *row = data;
    _cleanup_(stream_freep) struct stream *s = NULL;
    int r = stream_new(row->format, MAX_EVENT, drop, NULL, &s);

    if (r == 0)
        r = stream_feed(s, row->bytes, row->n);
    return r == 0 ? stream_end(s) : r;
}

static void survives_lack_of_memory(void unused **state)
{
    chaos_each(feed_once, (void *) (uintptr_t) &rows[3]);
    chaos_each(feed_once, (void *) (uintptr_t) &rows[14]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_do_not_depend_on_the_cuts),
        cmocka_unit_test(zero_bytes_are_kept),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("canary stream", tests, NULL, NULL);
}
