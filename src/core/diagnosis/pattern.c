/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/diagnosis/pattern.h"

#include <errno.h>
#include <pcre2.h>
#include <stdint.h>

/* The library's code for "failed to allocate heap memory" has no name in its header. */
#define COMPILE_OUT_OF_MEMORY 121

#define OPTIONS (PCRE2_UTF | PCRE2_DUPNAMES | PCRE2_NEVER_BACKSLASH_C)

#define DEPTH_LIMIT 2000
#define HEAP_LIMIT_KIB 512

/* Pairs of offsets: the whole match and the groups, unnamed ones included. */
#define OFFSET_PAIRS (1 + 2 * PATTERN_MAX_GROUPS)

/* What a match can begin with. */
enum beginning { BEGINS_ANYHOW, BEGINS_TEXT, BEGINS_WITH_BYTE, BEGINS_WITH_ONE_OF };

struct pattern {
    const char *text;
    pcre2_code *code; /* NULL until it is first needed, and what follows not known */
    enum beginning beginning;
    char byte;             /* in either case of a letter */
    const uint8_t *bitmap; /* of 256 bits; the code's */
};

struct pattern_scratch {
    pcre2_match_context *context;
    pcre2_match_data *data;
};

/* The table of group names: rows of `size` bytes, each a big-endian group number and a name. */
struct name_table {
    PCRE2_SPTR rows;
    uint32_t count;
    uint32_t size;
};

static struct name_table names_of(const pcre2_code *code)
{
    struct name_table t = {};

    (void) pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &t.count);
    (void) pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &t.size);
    (void) pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &t.rows);
    return t;
}

static const char *name_at(const struct name_table *t, uint32_t i)
{
    return (const char *) t->rows + (size_t) i * t->size + 2;
}

static size_t number_at(const struct name_table *t, uint32_t i)
{
    PCRE2_SPTR row = t->rows + (size_t) i * t->size;

    return (size_t) row[0] << 8 | row[1];
}

/* -EINVAL with `why`, where it is given. */
static int compile(const char *text, pcre2_code **ret, struct strbuf *why)
{
    PCRE2_UCHAR message[160] = "";
    PCRE2_SIZE offset = 0;
    int error = 0;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR) text, PCRE2_ZERO_TERMINATED, OPTIONS, &error, &offset,
                                     NULL);

    if (code) {
        *ret = code;
        return 0;
    }
    if (error == COMPILE_OUT_OF_MEMORY)
        return -ENOMEM;
    if (why) {
        (void) pcre2_get_error_message(error, message, sizeof(message));
        strbuf_appendf(why, "%s at position %zu", (const char *) message, offset);
    }
    return -EINVAL;
}

static int list_groups(const pcre2_code *code, char ***ret)
{
    _cleanup_strv_ char **groups = NULL;
    struct name_table t = names_of(code);

    for (uint32_t i = 0; i < t.count; i++) {
        if (!strv_contains(groups, name_at(&t, i)) && strv_push(&groups, name_at(&t, i)) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&groups);
    return 0;
}

static int refuse_empty_match(const pcre2_code *code, struct pattern_scratch *s, struct strbuf *why)
{
    int n = pcre2_match(code, (PCRE2_SPTR) "", 0, 0, 0, s->data, s->context);

    if (n == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    if (n == PCRE2_ERROR_NOMATCH)
        return 0;
    strbuf_append(why, "it matches an empty line");
    return -EINVAL;
}

int pattern_check(const char *text, char ***ret_groups, struct strbuf *why)
{
    _cleanup_(pattern_scratch_freep) struct pattern_scratch *scratch = NULL;
    pcre2_code *code;
    int r;

    r = pattern_scratch_new(&scratch);
    if (r < 0)
        return r;
    r = compile(text, &code, why);
    if (r < 0)
        return r;
    r = refuse_empty_match(code, scratch, why);
    if (r == 0)
        r = list_groups(code, ret_groups);
    pcre2_code_free(code);
    return r;
}

int pattern_scratch_new(struct pattern_scratch **ret)
{
    _cleanup_(pattern_scratch_freep) struct pattern_scratch *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->context = pcre2_match_context_create(NULL);
    s->data = pcre2_match_data_create(OFFSET_PAIRS, NULL);
    if (!s->context || !s->data)
        return -ENOMEM;
    (void) pcre2_set_depth_limit(s->context, DEPTH_LIMIT);
    (void) pcre2_set_heap_limit(s->context, HEAP_LIMIT_KIB);
    *ret = steal_pointer(&s);
    return 0;
}

void pattern_scratch_free(struct pattern_scratch *s)
{
    if (!s)
        return;
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    free(s);
}

int pattern_new(const char *text, struct pattern **ret)
{
    struct pattern *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->text = text;
    *ret = p;
    return 0;
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    free(p);
}

/* `pairs` is how many pairs of offsets the match has set. */
static void report_groups(const pcre2_code *code, const PCRE2_SIZE *offsets, size_t pairs,
                          struct pattern_hit *hit)
{
    struct name_table t = names_of(code);

    for (uint32_t i = 0; i < t.count && hit->n < PATTERN_MAX_GROUPS; i++) {
        size_t number = number_at(&t, i);

        if (number >= pairs || offsets[2 * number] == PCRE2_UNSET)
            continue;
        if (offsets[2 * number] < offsets[2 * number + 1])
            hit->groups[hit->n++] = (struct pattern_group){
                .name = name_at(&t, i),
                .start = offsets[2 * number],
                .end = offsets[2 * number + 1],
            };
    }
}

static void learn_beginning(struct pattern *p)
{
    uint32_t options = 0, type = 0, unit = 0;

    (void) pcre2_pattern_info(p->code, PCRE2_INFO_ALLOPTIONS, &options);
    (void) pcre2_pattern_info(p->code, PCRE2_INFO_FIRSTCODETYPE, &type);
    (void) pcre2_pattern_info(p->code, PCRE2_INFO_FIRSTCODEUNIT, &unit);
    (void) pcre2_pattern_info(p->code, PCRE2_INFO_FIRSTBITMAP, &p->bitmap);
    if ((options & PCRE2_ANCHORED) || type == 2) {
        p->beginning = BEGINS_TEXT;
    } else if (type == 1 && unit < 0x80) {
        p->beginning = BEGINS_WITH_BYTE;
        p->byte = (char) unit;
    } else if (p->bitmap) {
        p->beginning = BEGINS_WITH_ONE_OF;
    }
}

static int compile_once(struct pattern *p)
{
    int r;

    if (p->code)
        return 0;
    r = compile(p->text, &p->code, NULL);
    if (r == 0)
        learn_beginning(p);
    return r;
}

int pattern_may_begin(struct pattern *p, size_t at, char c)
{
    unsigned char byte = (unsigned char) c;
    int r = compile_once(p);

    if (r < 0)
        return r;
    switch (p->beginning) {
    case BEGINS_ANYHOW:
        return 1;
    case BEGINS_TEXT:
        return at == 0;
    case BEGINS_WITH_BYTE:
        return ascii_lower(c) == ascii_lower(p->byte);
    case BEGINS_WITH_ONE_OF:
        return p->bitmap[byte / 8] >> byte % 8 & 1;
    }
    return 1;
}

int pattern_match_at(struct pattern *p, struct pattern_scratch *s, const char *text, size_t len, size_t at,
                     unsigned steps, struct pattern_hit *ret)
{
    const PCRE2_SIZE *offsets;
    int n = compile_once(p);

    if (n < 0)
        return n;
    (void) pcre2_set_match_limit(s->context, steps);
    n = pcre2_match(p->code, (PCRE2_SPTR) text, len, at, PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, s->data,
                    s->context);
    if (n == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    if (n == PCRE2_ERROR_MATCHLIMIT || n == PCRE2_ERROR_DEPTHLIMIT || n == PCRE2_ERROR_HEAPLIMIT)
        return -E2BIG;
    if (n < 0)
        return 0;
    offsets = pcre2_get_ovector_pointer(s->data);
    *ret = (struct pattern_hit){.start = offsets[0], .end = offsets[1]};
    report_groups(p->code, offsets, n > 0 ? (size_t) n : OFFSET_PAIRS, ret);
    return 1;
}
