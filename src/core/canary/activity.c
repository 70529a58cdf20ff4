/* SPDX-License-Identifier: MIT */
#include "core/canary/activity.h"

#include <errno.h>
#include <math.h>

#include "base/hash.h"
#include "base/str.h"
#include "core/canary/json_text.h"

/* A page of metrics is read through and forgotten, slots are kept until their end. */
#define PAGE_MAX ((size_t) 8 * 1024 * 1024)
#define SLOTS_MAX ((size_t) 256 * 1024)
#define LINE_MAX_BYTES ((size_t) 4096)
#define NUMBER_MAX_BYTES ((size_t) 64)

struct activity_reader {
    char **progress_metrics;
    char **running_metrics;
    size_t fed;
    bool is_json;
    bool skips;          /* the rest of a line that is too long */
    struct strbuf held;  /* a line that is not over, or the slots */
    double *progress;    /* one sum for each metric */
    bool known;
    double running;
};

#define X(constant, name, text) [constant] = text,
static const char *const texts[] = {MOTIONS(X)};
#undef X

const char *motion_text(enum motion m)
{
    return texts[m];
}

enum motion activity_compare(const struct activity *before, const struct activity *now)
{
    if (!before->known || !now->known)
        return MOTION_UNKNOWN;
    if (before->mark != now->mark)
        return MOTION_WORKING;
    return now->running > 0 ? MOTION_STUCK : MOTION_IDLE;
}

int activity_reader_new(const struct live_config *live, struct activity_reader **ret)
{
    _cleanup_(activity_reader_freep) struct activity_reader *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    if (strv_copy(live->progress_metrics, &r->progress_metrics) < 0 ||
        strv_copy(live->running_metrics, &r->running_metrics) < 0)
        return -ENOMEM;
    r->progress = calloc(strv_length(live->progress_metrics) + 1, sizeof(*r->progress));
    if (!r->progress)
        return -ENOMEM;
    *ret = steal_pointer(&r);
    return 0;
}

void activity_reader_free(struct activity_reader *r)
{
    if (!r)
        return;
    strbuf_release(&r->held);
    strv_free(r->progress_metrics);
    strv_free(r->running_metrics);
    free(r->progress);
    free(r);
}

/* Metrics: `name{label="value",...} number`, perhaps with a time behind it */

/* Behind the labels that begin at s; NULL when they do not end. A value may hold any character. */
static const char *skip_labels(const char *s)
{
    bool quoted = false;

    for (s++; *s != '\0'; s++) {
        if (quoted && *s == '\\' && s[1] != '\0')
            s++;
        else if (*s == '"')
            quoted = !quoted;
        else if (*s == '}' && !quoted)
            return s + 1;
    }
    return NULL;
}

static bool parse_number(const char *s, double *ret)
{
    char text[NUMBER_MAX_BYTES], *end;
    size_t n;

    s += strspn(s, " \t");
    n = strcspn(s, " \t");
    if (n == 0 || n >= sizeof(text))
        return false;
    memcpy(text, s, n);
    text[n] = '\0';
    *ret = strtod(text, &end);
    return *end == '\0' && isfinite(*ret);
}

static bool is_called(const char *line, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(line, name, n) == 0;
}

static void take_metric(struct activity_reader *r, const char *name, size_t n, double value)
{
    for (size_t i = 0; r->progress_metrics && r->progress_metrics[i]; i++) {
        if (is_called(name, n, r->progress_metrics[i])) {
            r->progress[i] += value;
            r->known = true;
        }
    }
    for (size_t i = 0; r->running_metrics && r->running_metrics[i]; i++) {
        if (is_called(name, n, r->running_metrics[i]))
            r->running += value;
    }
}

static void take_line(struct activity_reader *r, const char *line)
{
    size_t n = strcspn(line, "{ \t");
    const char *rest = line + n;
    double value;

    if (n == 0 || line[0] == '#')
        return;
    if (*rest == '{')
        rest = skip_labels(rest);
    if (rest && parse_number(rest, &value))
        take_metric(r, line, n, value);
}

static void end_line(struct activity_reader *r)
{
    if (!r->skips && r->held.data)
        take_line(r, r->held.data);
    r->skips = false;
    strbuf_clear(&r->held);
}

static void feed_lines(struct activity_reader *r, const char *data, size_t n)
{
    while (n > 0) {
        const char *newline = memchr(data, '\n', n);
        size_t length = newline ? (size_t) (newline - data) : n;

        r->skips = r->skips || r->held.len + length > LINE_MAX_BYTES;
        if (!r->skips)
            strbuf_append_n(&r->held, data, length);
        if (newline)
            end_line(r);
        length += newline != NULL;
        data += length;
        n -= length;
    }
}

/* Slots: [{"id": 0, "is_processing": true, "id_task": 7, "next_token": {"n_decoded": 3}}, ...] */

static uint64_t mix_integer(uint64_t hash, const json_t *value)
{
    json_int_t n = json_integer_value(value);

    return hash_bytes(hash, &n, sizeof(n));
}

static uint64_t mix_slot(uint64_t hash, const json_t *slot)
{
    const json_t *next = json_object_get(slot, "next_token");

    if (json_is_array(next))
        next = json_array_get(next, 0);
    hash = mix_integer(hash, json_object_get(slot, "id_task"));
    hash = mix_integer(hash, json_object_get(slot, "n_prompt_tokens_processed"));
    hash = mix_integer(hash, json_object_get(slot, "n_decoded"));
    return mix_integer(hash, json_object_get(next, "n_decoded"));
}

static struct activity read_slots(const json_t *slots)
{
    struct activity a = {.mark = HASH_START, .known = json_array_size(slots) > 0};

    for (size_t i = 0; i < json_array_size(slots); i++) {
        const json_t *slot = json_array_get(slots, i), *state = json_object_get(slot, "state");

        a.mark = mix_slot(a.mark, slot);
        a.running += json_is_true(json_object_get(slot, "is_processing")) || json_integer_value(state) > 0;
    }
    return a;
}

static int end_slots(struct activity_reader *r, struct activity *ret)
{
    struct json_text json = {};
    int error = json_text_load(r->held.data, r->held.len, &json);

    if (error < 0)
        return error;
    *ret = read_slots(json.value);
    json_text_release(&json);
    return 0;
}

/* Both */

int activity_reader_feed(struct activity_reader *r, const char *data, size_t n)
{
    if (r->fed == 0 && n > 0)
        r->is_json = data[0] == '[';
    r->fed += n;
    if (r->fed > (r->is_json ? SLOTS_MAX : PAGE_MAX))
        return -EMSGSIZE;
    if (r->is_json)
        strbuf_append_n(&r->held, data, n);
    else
        feed_lines(r, data, n);
    return r->held.failed ? -ENOMEM : 0;
}

int activity_reader_end(struct activity_reader *r, struct activity *ret)
{
    if (r->is_json)
        return end_slots(r, ret);
    end_line(r);
    *ret = (struct activity){
        .known = r->known,
        .mark = hash_bytes(HASH_START, r->progress, strv_length(r->progress_metrics) * sizeof(*r->progress)),
        .running = r->running,
    };
    return 0;
}
