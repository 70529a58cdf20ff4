/* SPDX-License-Identifier: MIT */
#include "core/canary/stream.h"

#include <errno.h>

#include "base/str.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct stream {
    enum stream_format format;
    size_t max_event;
    stream_fn fn;
    void *userdata;
    struct strbuf line;
    struct strbuf data;  /* of the event at hand, each line with a newline */
    bool after_return;   /* the last byte was a carriage return: a newline behind it belongs to it */
    bool begun;          /* the first line is over */
};

int stream_new(enum stream_format format, size_t max_event, stream_fn fn, void *userdata,
               struct stream **ret)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    *s = (struct stream){.format = format, .max_event = max_event, .fn = fn, .userdata = userdata};
    *ret = s;
    return 0;
}

void stream_free(struct stream *s)
{
    if (!s)
        return;
    strbuf_release(&s->line);
    strbuf_release(&s->data);
    free(s);
}

static int dispatch(struct stream *s, struct strbuf *event, size_t n)
{
    int r = n > 0 ? s->fn(event->data, n, s->userdata) : 0;

    strbuf_clear(event);
    return r;
}

/* "data: x": one blank behind the colon does not count, fields other than the data do not matter here. */
static int add_field(struct stream *s, const char *line, size_t n)
{
    const char *value = line;

    if (n < strlen("data") || memcmp(line, "data", strlen("data")) != 0)
        return 0;
    value += strlen("data");
    n -= strlen("data");
    if (n > 0 && *value != ':')
        return 0;
    if (n > 0) {
        value++;
        n--;
    }
    if (n > 0 && *value == ' ') {
        value++;
        n--;
    }
    if (s->data.len + n + 1 > s->max_event)
        return -EMSGSIZE;
    strbuf_append_n(&s->data, value, n);
    strbuf_append_char(&s->data, '\n');
    return s->data.failed ? -ENOMEM : 0;
}

static int end_event(struct stream *s)
{
    return dispatch(s, &s->data, s->data.len > 0 ? s->data.len - 1 : 0);
}

static int end_line(struct stream *s)
{
    const char *line = str_or_empty(s->line.data);
    size_t n = s->line.len;
    int r;

    if (!s->begun && n >= strlen(BYTE_ORDER_MARK) && str_after(line, BYTE_ORDER_MARK)) {
        line += strlen(BYTE_ORDER_MARK);
        n -= strlen(BYTE_ORDER_MARK);
    }
    s->begun = true;
    switch (s->format) {
    case STREAM_NDJSON:
        return dispatch(s, &s->line, n);
    case STREAM_SSE:
        break;
    }
    r = n > 0 ? add_field(s, line, n) : end_event(s);
    strbuf_clear(&s->line);
    return r;
}

static int add_to_line(struct stream *s, const char *bytes, size_t n)
{
    if (n > s->max_event - MIN(s->line.len, s->max_event))
        return -EMSGSIZE;
    strbuf_append_n(&s->line, bytes, n);
    return s->line.failed ? -ENOMEM : 0;
}

/* Lines end with a newline, a carriage return, or both. */
static size_t find_line_end(const char *bytes, size_t n)
{
    const char *newline = memchr(bytes, '\n', n);
    size_t end = newline ? (size_t) (newline - bytes) : n;
    const char *cr = memchr(bytes, '\r', end);

    return cr ? (size_t) (cr - bytes) : end;
}

int stream_feed(struct stream *s, const char *bytes, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t length;
        int r;

        if (s->after_return && bytes[i] == '\n')
            i++;
        s->after_return = false;
        length = find_line_end(bytes + i, n - i);
        r = length > 0 ? add_to_line(s, bytes + i, length) : 0;
        i += length;
        if (r == 0 && i < n) {
            s->after_return = bytes[i++] == '\r';
            r = end_line(s);
        }
        if (r != 0)
            return r;
    }
    return 0;
}

int stream_end(struct stream *s)
{
    int r = s->line.len > 0 ? end_line(s) : 0;

    return r == 0 ? end_event(s) : r;
}
