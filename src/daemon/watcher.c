/* SPDX-License-Identifier: MIT */
#include "daemon/watcher.h"

#include <errno.h>
#include <string.h>

struct watcher {
    struct normaliser *normaliser;
    struct matcher *matcher;
    struct evidence *evidence;
    const struct watcher_events *events;
    void *userdata;
    const struct phase_config *step; /* the last one begun */
    enum log_source source;          /* of the line at hand */
    uint64_t lost;
};

int watcher_new(const struct catalog *catalog, const struct config *config,
                const struct watcher_events *events, void *userdata, struct watcher **ret,
                char ***ret_errors)
{
    _cleanup_(watcher_freep) struct watcher *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return -ENOMEM;
    w->events = events;
    w->userdata = userdata;
    r = normaliser_new(&w->normaliser);
    if (r == 0)
        r = evidence_new(catalog, &w->evidence);
    if (r == 0)
        r = matcher_new(catalog, config->server.profile, config->phases, config->n_phases, &w->matcher,
                        ret_errors);
    if (r < 0)
        return r;
    *ret = steal_pointer(&w);
    return 0;
}

int watcher_reconfigure(struct watcher *w, const struct catalog *catalog, const struct config *config,
                        char ***ret_errors)
{
    _cleanup_(matcher_freep) struct matcher *matcher = NULL;
    int r = matcher_new(catalog, config->server.profile, config->phases, config->n_phases, &matcher,
                        ret_errors);

    if (r == 0)
        r = evidence_rebase(w->evidence, catalog);
    if (r < 0)
        return r;
    if (w->step)
        w->step = config_phase(config, w->step->name);
    matcher_free(w->matcher);
    w->matcher = steal_pointer(&matcher);
    return 0;
}

void watcher_begin(struct watcher *w)
{
    evidence_reset(w->evidence);
    w->step = NULL;
    w->lost = 0;
}

/* Steps only go forward: a server that captures graphs twice, or loads a draft model after the main one,
 * does not fall back to an earlier step; the table's order is the order of a healthy start. */
static void begin_step(struct watcher *w, const struct phase_config *step)
{
    if (w->step && step <= w->step)
        return;
    w->step = step;
    evidence_survived(w->evidence);
    w->events->step(step, w->userdata);
}

/* Out of memory means that a line explains nothing, not that the supervisor ends. */
static bool survives(struct watcher *w, int r)
{
    if (r < 0)
        w->lost++;
    return r == 0;
}

static void on_match(const struct match *m, void *userdata)
{
    struct watcher *w = userdata;

    if (m->phase) {
        begin_step(w, m->phase);
        return;
    }
    if (!survives(w, evidence_match(w->evidence, m)))
        return;
    if (m->signature->decisive)
        w->events->decisive(m->signature, w->userdata);
}

static void on_record(const struct record *record, void *userdata)
{
    struct watcher *w = userdata;

    if (survives(w, evidence_line(w->evidence, record, w->source)))
        survives(w, matcher_scan(w->matcher, w->source, record->text, record->len, on_match, w));
}

void watcher_line(struct watcher *w, const struct log_line *line)
{
    w->source = line->source;
    survives(w, normalise_line(w->normaliser, line->text, line->len, on_record, w));
    if (line->source == LOG_SERVER)
        w->events->progress(w->userdata);
}

void watcher_text(struct watcher *w, const char *text, size_t len)
{
    w->source = LOG_SERVER;
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline ? (size_t) (newline - text) : len;

        survives(w, normalise_line(w->normaliser, text, n, on_record, w));
        n += newline ? 1 : 0;
        text += n;
        len -= n;
    }
}

void watcher_close(struct watcher *w)
{
    evidence_close(w->evidence);
}

void watcher_survived(struct watcher *w)
{
    evidence_survived(w->evidence);
}

uint64_t watcher_lost(const struct watcher *w)
{
    return w->lost;
}

const struct evidence *watcher_evidence(const struct watcher *w)
{
    return w->evidence;
}

void watcher_free(struct watcher *w)
{
    if (!w)
        return;
    normaliser_free(w->normaliser);
    matcher_free(w->matcher);
    evidence_free(w->evidence);
    free(w);
}
