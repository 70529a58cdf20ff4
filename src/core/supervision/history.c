/* SPDX-License-Identifier: MIT */
#include "core/supervision/history.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"

#define X(constant, name) [constant] = name,
static const char *const outcome_names[] = {EPOCH_OUTCOMES(X)};
#undef X

const char *epoch_outcome_name(enum epoch_outcome o)
{
    return outcome_names[o];
}

/* FNV-1a, with the NUL that ends each text. */
static uint64_t hash_text(uint64_t hash, const char *s)
{
    size_t n = strlen(s) + 1;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char) s[i]) * UINT64_C(0x100000001b3);
    return hash;
}

char *history_key(char buf[HISTORY_KEY_MAX], char *const *command, const char *model)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; command && command[i]; i++)
        hash = hash_text(hash, command[i]);
    hash = hash_text(hash_text(hash, ""), str_or_empty(model));
    (void) snprintf(buf, HISTORY_KEY_MAX, "%016" PRIx64, hash);
    return buf;
}

/* Writing */

static int add_phases(json_t *root, const struct history_epoch *e)
{
    json_t *array = json_array();

    if (json_object_set_new(root, "phases", array) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < e->n_phases; i++) {
        const struct report_phase *p = &e->phases[i];
        json_t *phase = json_pack("{s:s, s:I}", "phase", phase_name(p->phase), "duration_usec",
                                  (json_int_t) MIN(p->duration_usec, (usec_t) INT64_MAX));

        if (p->name && (!phase || json_object_set_new(phase, "step", json_string(p->name)) < 0)) {
            json_decref(phase);
            return -ENOMEM;
        }
        if (json_array_append_new(array, phase) < 0)
            return -ENOMEM;
    }
    return 0;
}

json_t *history_json(const struct history_epoch *e)
{
    char started[FORMAT_TIMESTAMP_MAX];
    json_t *root = json_pack("{s:s, s:I, s:I, s:s, s:b}",
                             "key", e->key,
                             "epoch", (json_int_t) e->epoch,
                             "attempt", (json_int_t) e->attempt,
                             "started", format_timestamp(started, e->started),
                             "served", (int) e->served);

    if (root && add_phases(root, e) < 0) {
        json_decref(root);
        return NULL;
    }
    return root;
}

char *history_line(const json_t *known, enum epoch_outcome outcome, usec_t ended, const char *class_name)
{
    json_auto_t *line = json_copy((json_t *) (uintptr_t) known);
    char moment[FORMAT_TIMESTAMP_MAX];

    if (!line || json_object_set_new(line, "ended", json_string(format_timestamp(moment, ended))) < 0 ||
        json_object_set_new(line, "outcome", json_string(outcome_names[outcome])) < 0)
        return NULL;
    if (class_name && json_object_set_new(line, "class", json_string(class_name)) < 0)
        return NULL;
    return json_dumps(line, JSON_COMPACT);
}

/* Reading */

static void start_release(struct history_start *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->steps[i].name);
    free(s->steps);
    *s = (struct history_start){};
}

void history_release(struct history *h)
{
    for (size_t i = 0; i < h->n; i++)
        start_release(&h->starts[i]);
    *h = (struct history){};
}

static bool read_phase(const json_t *row, enum phase *ret)
{
    const char *name = json_string_value(json_object_get(row, "phase"));

    for (enum phase p = 0; p < N_PHASES; p++) {
        if (str_equal(phase_name(p), name)) {
            *ret = p;
            return true;
        }
    }
    return false;
}

static bool is_start(enum phase p)
{
    return p == PHASE_LOADING || p == PHASE_LISTENING || p == PHASE_PROVING;
}

static int add_step(struct history_start *s, enum phase phase, const json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "step"));
    json_int_t duration = json_integer_value(json_object_get(row, "duration_usec"));
    struct history_step *step = &s->steps[s->n];

    *step = (struct history_step){
        .phase = phase,
        .name = name ? strdup(name) : NULL,
        .duration_usec = duration > 0 ? (usec_t) duration : 0,
    };
    if (name && !step->name)
        return -ENOMEM;
    s->n++;
    return 0;
}

/* *ret has no steps where the line tells of no way to READY. */
static int read_start(const json_t *line, struct history_start *ret)
{
    const json_t *row, *rows = json_object_get(line, "phases");
    struct history_start s = {.steps = calloc(HISTORY_STEPS, sizeof(*s.steps))};
    bool ready = false;
    size_t i;
    int r = s.steps ? 0 : -ENOMEM;

    json_array_foreach(rows, i, row) {
        enum phase phase;

        if (r < 0 || ready || s.n == HISTORY_STEPS || !read_phase(row, &phase))
            break;
        ready = phase == PHASE_READY;
        if (is_start(phase))
            r = add_step(&s, phase, row);
    }
    if (r == 0 && ready && s.n > 0)
        *ret = s;
    else
        start_release(&s);
    return r;
}

static void add_start(struct history *h, struct history_start *s)
{
    if (h->n == HISTORY_STARTS) {
        start_release(&h->starts[0]);
        memmove(h->starts, h->starts + 1, (HISTORY_STARTS - 1) * sizeof(*h->starts));
        h->n--;
    }
    h->starts[h->n++] = *s;
}

static int read_line(struct history *h, const char *line, size_t len, const char *key)
{
    json_auto_t *json = json_loadb(line, len, 0, NULL);
    struct history_start s = {};
    int r;

    if (!str_equal(json_string_value(json_object_get(json, "key")), key))
        return 0;
    r = read_start(json, &s);
    if (s.n > 0)
        add_start(h, &s);
    return r;
}

int history_read(const char *text, size_t len, const char *key, struct history *ret)
{
    const char *end = text + len;
    struct history h = {};
    int r = 0;

    while (r == 0 && text < end) {
        const char *newline = memchr(text, '\n', (size_t) (end - text));
        const char *stop = newline ? newline : end;

        r = read_line(&h, text, (size_t) (stop - text), key);
        text = newline ? newline + 1 : end;
    }
    if (r < 0)
        history_release(&h);
    else
        *ret = h;
    return r;
}
