/* SPDX-License-Identifier: MIT */
#include "daemon/chronicle.h"

#include <errno.h>

#include "base/str.h"
#include "daemon/supervisor.h"
#include "port/store.h"

#define FILE_NAME "history.jsonl"
#define FILE_MAX_BYTES ((size_t) 256 * 1024)

void chronicle_begin(struct supervisor *s)
{
    const struct server_config *server = supervisor_server(s);
    _cleanup_free_ char *text = NULL;
    char key[HISTORY_KEY_MAX];
    size_t len;

    history_release(&s->history);
    /* A file that is larger than we let it grow is not ours. */
    if (s->state_fd < 0 || store_read(s->state_fd, FILE_NAME, FILE_MAX_BYTES, &text, &len) < 0)
        return;
    if (history_read(text, len, history_key(key, server->command, server->model), &s->history) < 0)
        log_say(s->log, LOG_WARNING, "Out of memory: it is not known how long a start takes");
}

json_t *chronicle_epoch(const struct supervisor *s)
{
    const struct server_config *server = supervisor_server(s);
    struct timeline timeline = s->epoch.timeline;
    char key[HISTORY_KEY_MAX];
    struct history_epoch epoch = {
        .key = history_key(key, server->command, server->model),
        .epoch = s->epoch.number,
        .attempt = s->epoch.attempt,
        .started = s->epoch.started.realtime,
        .served = s->epoch.served,
        .phases = timeline.rows,
        .n_phases = timeline.n,
    };

    timeline_close(&timeline, loop_now().monotonic);
    return history_json(&epoch);
}

static void append(struct supervisor *s, const json_t *known, enum epoch_outcome outcome, usec_t ended,
                   const char *class_name)
{
    _cleanup_free_ char *line = known ? history_line(known, outcome, ended, class_name) : NULL;
    int r = line ? store_append_line(s->state_fd, FILE_NAME, line, FILE_MAX_BYTES) : -ENOMEM;

    if (r < 0)
        log_say(s->log, LOG_WARNING, "The history cannot be written: %s", strerror(-r));
}

void chronicle_end(struct supervisor *s, enum epoch_outcome outcome)
{
    bool failed = s->last_failure.class_name && s->last_failure.epoch == s->epoch.number;
    json_t *known;

    if (s->epoch.number == 0 || s->epoch.recorded || s->state_fd < 0)
        return;
    s->epoch.recorded = true;
    known = chronicle_epoch(s);
    append(s, known, failed ? EPOCH_FAILED : outcome, loop_now().realtime,
           failed ? s->last_failure.class_name : NULL);
    json_decref(known);
}

void chronicle_torn(struct supervisor *s, const json_t *known, usec_t ended)
{
    if (known && s->state_fd >= 0)
        append(s, known, EPOCH_SUPERVISOR_DIED, ended, "supervisor_died");
}

struct eta chronicle_eta(const struct supervisor *s)
{
    const struct timeline *t = &s->epoch.timeline;
    const struct report_phase *row = t->n > 0 ? &t->rows[t->n - 1] : NULL;

    if (!row)
        return (struct eta){};
    return eta_estimate(&s->history, row->phase, row->name, usec_sub(t->since, s->epoch.started.monotonic));
}
