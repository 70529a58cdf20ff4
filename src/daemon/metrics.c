/* SPDX-License-Identifier: MIT */
#include "daemon/metrics.h"

#include <inttypes.h>

#include "base/str.h"
#include "daemon/status.h"

static void head(struct strbuf *b, const char *name, const char *type, const char *help)
{
    strbuf_appendf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void label(struct strbuf *b, const char *name, const char *value)
{
    strbuf_appendf(b, "%s=\"", name);
    for (const char *c = str_or_empty(value); *c; c++) {
        if (*c == '\n')
            strbuf_append(b, "\\n");
        else if (*c == '\\' || *c == '"')
            strbuf_appendf(b, "\\%c", *c);
        else
            strbuf_append_char(b, *c);
    }
    strbuf_append_char(b, '"');
}

static void labelled(struct strbuf *b, const char *name, const char *label_name, const char *value, uint64_t n)
{
    strbuf_appendf(b, "%s{", name);
    label(b, label_name, value);
    strbuf_appendf(b, "} %" PRIu64 "\n", n);
}

static void number(struct strbuf *b, const char *name, const char *type, const char *help, uint64_t n)
{
    head(b, name, type, help);
    strbuf_appendf(b, "%s %" PRIu64 "\n", name, n);
}

static void append_seconds(struct strbuf *b, usec_t usec)
{
    strbuf_appendf(b, "%" PRIu64 ".%06" PRIu64, usec / USEC_PER_SEC, usec % USEC_PER_SEC);
}

static void seconds(struct strbuf *b, const char *name, const char *help, usec_t usec)
{
    head(b, name, "gauge", help);
    strbuf_appendf(b, "%s ", name);
    append_seconds(b, usec);
    strbuf_append_char(b, '\n');
}

/* Without a moment there is no sample: 0 would be one in 1970. */
static void moment(struct strbuf *b, const char *name, const char *help, usec_t realtime)
{
    if (realtime > 0)
        seconds(b, name, help, realtime);
}

static void append_info(struct strbuf *b, const struct status *s)
{
    head(b, "coalmine_info", "gauge", "The supervisor and what it supervises");
    strbuf_append(b, "coalmine_info{");
    label(b, "version", COALMINE_VERSION);
    strbuf_append_char(b, ',');
    label(b, "name", s->instance);
    strbuf_append_char(b, ',');
    label(b, "profile", s->profile);
    strbuf_append(b, "} 1\n");
}

static void append_state(struct strbuf *b, const struct status *s)
{
    number(b, "coalmine_ready", "gauge", "Whether the last proof stands", status_ready(s));
    head(b, "coalmine_state", "gauge", "The unit's state: 1 for the one that it is in");
    for (enum unit_state state = 0; state < N_UNIT_STATES; state++)
        labelled(b, "coalmine_state", "state", unit_state_name(state), s->state == state);
    head(b, "coalmine_phase", "gauge", "The server's phase: 1 for the one that it is in");
    for (enum phase phase = 0; phase < N_PHASES; phase++)
        labelled(b, "coalmine_phase", "phase", phase_name(phase), s->phase == phase);
    seconds(b, "coalmine_phase_seconds", "How long the phase has lasted", s->phase_elapsed);
    moment(b, "coalmine_ready_since_seconds", "When the server became ready, in Unix time", s->ready_since);
}

static void append_starts(struct strbuf *b, const struct status *s)
{
    const struct counters *c = s->counters;

    number(b, "coalmine_epoch", "gauge", "The number of this life of the server", s->epoch);
    number(b, "coalmine_attempt", "gauge", "Starts in a row without a stable time, 0 once stable", s->attempt);
    number(b, "coalmine_starts_total", "counter", "Servers started", c->starts);
    number(b, "coalmine_readies_total", "counter", "Servers that became ready", c->readies);
    if (c->readies > 0)
        seconds(b, "coalmine_last_start_seconds", "From start to ready, of the last server that became ready",
                c->last_start_usec);
    number(b, "coalmine_restarts_used", "gauge", "Restarts within the budget's time", s->restarts);
    number(b, "coalmine_restart_budget", "gauge", "Restarts allowed within that time", s->budget);
    moment(b, "coalmine_next_start_seconds", "When the server is started again, in Unix time", s->next_start);
}

static void append_failures(struct strbuf *b, const struct status *s)
{
    const struct counters *c = s->counters;

    head(b, "coalmine_failures_total", "counter", "Failed lives of the server by class of failure");
    for (size_t i = 0; i < c->n_failures; i++)
        labelled(b, "coalmine_failures_total", "class", c->failures[i].class_name, c->failures[i].n);
    moment(b, "coalmine_last_failure_seconds", "When the last failure was diagnosed, in Unix time",
           s->failure->realtime);
}

static void append_canaries(struct strbuf *b, const struct status *s)
{
    static const usec_t bounds[N_CANARY_BUCKETS] = CANARY_BUCKETS_MSEC;
    const struct counters *c = s->counters;
    uint64_t n = 0;

    head(b, "coalmine_canaries_total", "counter", "Canaries by verdict");
    for (enum verdict v = 0; v < N_VERDICTS; v++)
        if (v != VERDICT_NONE)
            labelled(b, "coalmine_canaries_total", "verdict", verdict_name(v), c->canaries[v]);
    head(b, "coalmine_canary_seconds", "histogram", "How long canaries took, whatever their verdict");
    for (size_t i = 0; i < N_CANARY_BUCKETS; i++) {
        n += c->canary_buckets[i];
        strbuf_append(b, "coalmine_canary_seconds_bucket{le=\"");
        append_seconds(b, bounds[i] * USEC_PER_MSEC);
        strbuf_appendf(b, "\"} %" PRIu64 "\n", n);
    }
    n += c->canary_buckets[N_CANARY_BUCKETS];
    strbuf_appendf(b, "coalmine_canary_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", n);
    strbuf_append(b, "coalmine_canary_seconds_sum ");
    append_seconds(b, c->canary_usec);
    strbuf_appendf(b, "\ncoalmine_canary_seconds_count %" PRIu64 "\n", n);
    moment(b, "coalmine_last_canary_seconds", "When the last canary ended, in Unix time", s->proof.ended_realtime);
}

char *metrics_text(const struct status *s)
{
    struct strbuf b = {};

    append_info(&b, s);
    append_state(&b, s);
    append_starts(&b, s);
    append_failures(&b, s);
    append_canaries(&b, s);
    return strbuf_steal(&b);
}
