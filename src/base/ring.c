/* SPDX-License-Identifier: MIT */
#include "base/ring.h"

#include <errno.h>
#include <string.h>

struct ring_line {
    char *text;
    size_t length;
};

/* The line with number i stands in slot i % max_lines; kept are the last `count` before `next`. */
struct ring {
    struct ring_line *slots;
    size_t max_lines;
    size_t max_bytes;
    size_t count;
    size_t bytes;
    uint64_t next;
};

int ring_new(size_t max_lines, size_t max_bytes, struct ring **ret)
{
    struct ring *r;

    if (max_lines == 0 || max_bytes == 0)
        return -EINVAL;
    r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    *r = (struct ring){.max_lines = max_lines, .max_bytes = max_bytes, .next = 1};
    r->slots = calloc(max_lines, sizeof(*r->slots));
    if (!r->slots) {
        free(r);
        return -ENOMEM;
    }
    *ret = r;
    return 0;
}

void ring_free(struct ring *r)
{
    if (!r)
        return;
    ring_clear(r);
    free(r->slots);
    free(r);
}

static struct ring_line *slot_of(const struct ring *r, uint64_t number)
{
    return &r->slots[number % r->max_lines];
}

static void drop_oldest(struct ring *r)
{
    struct ring_line *oldest = slot_of(r, ring_first(r));

    r->bytes -= oldest->length;
    r->count--;
    free(oldest->text);
    *oldest = (struct ring_line){};
}

int ring_push(struct ring *r, const char *line, size_t n, uint64_t *ret_number)
{
    size_t length = MIN(n, r->max_bytes);
    char *text = malloc(length + 1);

    if (!text)
        return -ENOMEM;
    if (length > 0)
        memcpy(text, line, length);
    text[length] = '\0';

    while (r->count > 0 && (r->count == r->max_lines || r->bytes > r->max_bytes - length))
        drop_oldest(r);
    *slot_of(r, r->next) = (struct ring_line){.text = text, .length = length};
    r->bytes += length;
    r->count++;
    if (ret_number)
        *ret_number = r->next;
    r->next++;
    return 0;
}

const char *ring_get(const struct ring *r, uint64_t number)
{
    if (r->count == 0 || number < ring_first(r) || number >= r->next)
        return NULL;
    return slot_of(r, number)->text;
}

uint64_t ring_first(const struct ring *r)
{
    return r->count > 0 ? r->next - r->count : 0;
}

uint64_t ring_last(const struct ring *r)
{
    return r->count > 0 ? r->next - 1 : 0;
}

void ring_clear(struct ring *r)
{
    while (r->count > 0)
        drop_oldest(r);
    r->next = 1;
}
