/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/normalise.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/diagnosis/escape.h"
#include "core/diagnosis/prefix.h"

#define REPLACEMENT_CHARACTER "\xef\xbf\xbd"
#define UTF8_MAX 4
#define RANK_MAX ((size_t) 15)
/* "[00:08<01:20,  3.82s/it]" and the like. */
#define PROGRESS_TAIL_MAX ((size_t) 64)

struct normaliser {
    struct strbuf clean; /* the piece at hand */
    uint64_t line;
    char rank[RANK_MAX + 1]; /* of the last record with a prefix of its own */
    int64_t pid;
};

/* Where one piece of a line goes. */
struct piece {
    struct normaliser *normaliser;
    normalise_fn fn;
    void *userdata;
};

int normaliser_new(struct normaliser **ret)
{
    struct normaliser *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    normaliser_reset(n);
    *ret = n;
    return 0;
}

void normaliser_free(struct normaliser *n)
{
    if (!n)
        return;
    strbuf_release(&n->clean);
    free(n);
}

void normaliser_reset(struct normaliser *n)
{
    n->line = 0;
    n->rank[0] = '\0';
    n->pid = -1;
}

static void remember_prefix(struct normaliser *n, const struct prefix *p)
{
    size_t length = MIN(p->rank_length, RANK_MAX);

    memcpy(n->rank, str_or_empty(p->rank), p->rank ? length : 0);
    n->rank[p->rank ? length : 0] = '\0';
    n->pid = p->pid;
}

/* text is NUL-terminated at its end. A prefix alone is no record. */
static void emit(const struct piece *piece, const char *text, size_t len)
{
    struct normaliser *n = piece->normaliser;
    struct prefix p = prefix_parse(text);

    if (p.own || p.rank)
        remember_prefix(n, &p);
    if (p.length == len)
        return;
    piece->fn(&(struct record){.text = text + p.length, .len = len - p.length, .raw = text, .raw_len = len,
                               .line = n->line, .rank = n->rank[0] != '\0' ? n->rank : NULL, .pid = n->pid,
                               .prefixed = p.own}, piece->userdata);
}

static size_t without_trailing_blanks(const char *text, size_t len)
{
    while (len > 0 && strchr(" \t", text[len - 1]))
        len--;
    return len;
}

/* Whether the ] at s + i closes the tail of a progress bar: "[00:08<01:20,  3.82s/it]". */
static bool ends_progress_bar(const char *s, size_t i)
{
    const char *open, *rate = s + i;

    if (i < 8 || (strncmp(rate - 2, "/s", 2) != 0 && strncmp(rate - 3, "/it", 3) != 0))
        return false;
    open = memrchr(s + i - MIN(i, PROGRESS_TAIL_MAX), '[', MIN(i, PROGRESS_TAIL_MAX));
    return open && memchr(open, '<', (size_t) (rate - open)) && memchr(open, ',', (size_t) (rate - open));
}

/* Where a record begins that is glued behind a progress bar, 0 when there is none. */
static size_t glued_at(const char *s, size_t len)
{
    const char *close = memchr(s, ']', len);

    while (close && close + 1 < s + len) {
        size_t i = (size_t) (close - s);

        if (close[1] != ' ' && ends_progress_bar(s, i))
            return i + 1;
        close = memchr(close + 1, ']', len - i - 1);
    }
    return 0;
}

/* The cleaned piece, record by record. */
static void emit_records(const struct piece *piece, char *text, size_t len)
{
    size_t glued = glued_at(text, len);

    while (glued > 0) {
        char first = text[glued];

        text[glued] = '\0';
        emit(piece, text, glued);
        text[glued] = first;
        text += glued;
        len -= glued;
        glued = glued_at(text, len);
    }
    emit(piece, text, len);
}

/* Copies one character or run from s, dropping escape sequences and controls and replacing what is no
 * UTF-8; returns how much of s is dealt with. */
static size_t clean_one(struct strbuf *b, const char *s, size_t n)
{
    size_t length = escape_plain_length(s, n);

    if (length > 0) {
        strbuf_append_n(b, s, length);
        return length;
    }
    length = escape_length(s, n);
    if (length > 0)
        return length;
    length = utf8_sequence_length(s, n);
    if (length == 0 || *s == '\0') {
        strbuf_append(b, REPLACEMENT_CHARACTER);
        return 1;
    }
    if (length > 1 || (unsigned char) *s >= ' ' || *s == '\t')
        strbuf_append_n(b, s, length);
    return length;
}

static int clean_piece(const struct piece *piece, const char *s, size_t n)
{
    struct strbuf *b = &piece->normaliser->clean;
    size_t len, i = 0;

    strbuf_clear(b);
    while (i < n && b->len + UTF8_MAX <= NORMALISE_MAX_LINE && !b->failed)
        i += clean_one(b, s + i, MIN(n - i, NORMALISE_MAX_LINE - b->len));
    if (b->failed)
        return -ENOMEM;
    len = b->data ? without_trailing_blanks(b->data, b->len) : 0;
    if (len == 0)
        return 0;
    b->data[len] = '\0';
    emit_records(piece, b->data, len);
    return 0;
}

/* Where the next c stands, `end` if nowhere. */
static const char *find(const char *s, const char *end, char c)
{
    const char *at = s < end ? memchr(s, c, (size_t) (end - s)) : NULL;

    return at ? at : end;
}

int normalise_line(struct normaliser *n, const char *line, size_t len, normalise_fn fn, void *userdata)
{
    struct piece piece = {.normaliser = n, .fn = fn, .userdata = userdata};
    const char *end = line + len, *newline = find(line, end, '\n'), *carriage = find(line, end, '\r');

    n->line++;
    while (line < end) {
        const char *stop = MIN(newline, carriage);
        int r = clean_piece(&piece, line, (size_t) (stop - line));

        if (r < 0)
            return r;
        line = stop + 1;
        if (newline < line)
            newline = find(line, end, '\n');
        if (carriage < line)
            carriage = find(line, end, '\r');
    }
    return 0;
}
