/* SPDX-License-Identifier: MIT */
#include "daemon/status.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"

/* Shorter starts are over before they are looked at. */
#define EXPECTED_MIN_USEC (2 * USEC_PER_SEC)
/* A server that is silent for so long is worth a word. */
#define SILENCE_SHOWN_USEC (30 * USEC_PER_SEC)

void last_failure_release(struct last_failure *f)
{
    free(f->class_name);
    free(f->signature);
    free(f->summary);
    free(f->hint);
    free(f->decision);
    free(f->report);
    *f = (struct last_failure){};
}

bool status_ready(const struct status *s)
{
    return s->state == UNIT_ACTIVE;
}

static json_t *moment(usec_t realtime)
{
    char text[FORMAT_TIMESTAMP_MAX];

    return realtime == 0 ? json_null() : json_string(format_timestamp(text, realtime));
}

static json_t *text_or_null(const char *s)
{
    json_t *value = s ? json_string(s) : NULL;

    return value ? value : json_null();
}

static json_t *names_json(char *const *names)
{
    json_t *array = json_array();

    for (size_t i = 0; names && names[i]; i++)
        (void) json_array_append_new(array, json_string(names[i]));
    return array;
}

static json_t *proof_json(const struct proof *p)
{
    return json_pack("{s:o, s:o, s:s, s:b, s:o, s:I, s:I, s:I, s:f, s:o}",
                     "canary", text_or_null(p->canary),
                     "proves", text_or_null(p->proves),
                     "verdict", verdict_name(p->verdict),
                     "let_off", p->let_off,
                     "detail", text_or_null(p->detail),
                     "tokens", (json_int_t) p->tokens,
                     "duration_usec", (json_int_t) p->total_usec,
                     "first_token_usec", (json_int_t) p->first_token_usec,
                     "tokens_per_second", p->tokens_per_sec,
                     "at", moment(p->ended_realtime));
}

static json_t *failure_json(const struct last_failure *f)
{
    if (!f->class_name)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I}",
                     "class", f->class_name,
                     "signature", text_or_null(f->signature),
                     "summary", text_or_null(f->summary),
                     "hint", text_or_null(f->hint),
                     "decision", text_or_null(f->decision),
                     "report", text_or_null(f->report),
                     "at", moment(f->realtime),
                     "epoch", (json_int_t) f->epoch);
}

static json_t *exit_json(const struct status *s)
{
    return s->phase == PHASE_STOPPED || s->phase == PHASE_FAILED ? json_integer(s->exit_code) : json_null();
}

static bool starting(const struct status *s)
{
    return s->phase == PHASE_LOADING || s->phase == PHASE_LISTENING || s->phase == PHASE_PROVING;
}

static json_t *progress_json(const struct status *s)
{
    const struct progress_view *p = &s->progress;

    if (!starting(s))
        return json_null();
    return json_pack("{s:s, s:o, s:i}",
                     "sign", sign_text(p->sign),
                     "at", moment(p->when.realtime),
                     "cpu_percent", (int) p->cpu_percent);
}

static json_t *expected_json(const struct status *s)
{
    if (!starting(s) || s->eta.start_usec == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:o}",
                     "start_usec", (json_int_t) s->eta.start_usec,
                     "step_usec", (json_int_t) s->eta.step_usec,
                     "ready_at", moment(usec_add(s->started, s->eta.start_usec)));
}

int status_json(const struct status *s, json_t **ret)
{
    json_t *root = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o,"
        " s:o, s:o, s:o, s:b, s:o, s:{s:I, s:I}, s:o, s:o}",
        "schema", 1,
        "instance", s->instance,
        "unit", text_or_null(s->unit),
        "invocation", text_or_null(s->invocation),
        "profile", text_or_null(s->profile),
        "url", text_or_null(s->url),
        "state", unit_state_name(s->state),
        "phase", phase_name(s->phase),
        "step", text_or_null(s->step),
        "reason", text_or_null(s->reason),
        "epoch", (json_int_t) s->epoch,
        "attempt", (json_int_t) s->attempt,
        "server_pid", (json_int_t) s->server_pid,
        "phase_since", moment(s->phase_since),
        "started", moment(s->started),
        "expected", expected_json(s),
        "progress", progress_json(s),
        "ready_since", moment(s->ready_since),
        "next_start", moment(s->next_start),
        "exit_code", exit_json(s),
        "canary", text_or_null(s->canary),
        "pending", names_json(s->pending),
        "paused", (int) s->paused,
        "paused_until", moment(s->paused_until),
        "restarts", "used", (json_int_t) s->restarts, "budget", (json_int_t) s->budget,
        "proof", proof_json(&s->proof),
        "last_failure", failure_json(s->failure));

    if (!root)
        return -ENOMEM;
    *ret = root;
    return 0;
}

static void append_span(struct strbuf *b, usec_t span)
{
    char text[FORMAT_TIMESPAN_MAX];

    /* Whole seconds: the line is read, not measured. */
    strbuf_append(b, format_timespan(text, span < USEC_PER_SEC ? span : span - span % USEC_PER_SEC));
}

static void append_proof(struct strbuf *b, const struct proof *p)
{
    char text[FORMAT_TIMESPAN_MAX];

    if (!p->canary && p->verdict == VERDICT_NONE && !p->detail)
        return;
    strbuf_appendf(b, "; canary %s: %s", p->canary ? p->canary : "(model list)", verdict_name(p->verdict));
    if (p->verdict == VERDICT_GENERATED)
        strbuf_appendf(b, " %" PRIu64 " tokens in %s", p->tokens, format_timespan(text, p->total_usec));
    else if (p->detail)
        strbuf_appendf(b, " (%s)", p->detail);
}

/* "of about 630 s"; a start that takes longer than it should is not promised to end at once. */
static void append_expected(struct strbuf *b, const struct status *s)
{
    if (s->eta.start_usec < EXPECTED_MIN_USEC)
        return;
    strbuf_append(b, s->start_elapsed <= s->eta.start_usec ? " of about " : ", usually about ");
    append_span(b, s->eta.start_usec);
}

/* What people would ask next when nothing seems to happen. */
static void append_silence(struct strbuf *b, const struct status *s)
{
    usec_t silence = usec_sub(s->now.monotonic, s->progress.when.monotonic);

    if (!starting(s) || silence < SILENCE_SHOWN_USEC)
        return;
    strbuf_append(b, ", no sign of work for ");
    append_span(b, silence);
    strbuf_appendf(b, " (CPU %u %%)", s->progress.cpu_percent);
}

static void append_starting(struct strbuf *b, const struct status *s)
{
    strbuf_append(b, s->step ? s->step : phase_text(s->phase));
    if (s->canary)
        strbuf_appendf(b, " (%s)", s->canary);
    strbuf_append(b, ", ");
    append_span(b, s->start_elapsed);
    append_expected(b, s);
    strbuf_appendf(b, ", attempt %" PRIu64, s->attempt);
    append_silence(b, s);
    if (s->proof.verdict != VERDICT_GENERATED)
        append_proof(b, &s->proof);
}

static void append_cooling(struct strbuf *b, const struct status *s)
{
    if (s->paused) {
        strbuf_append(b, "next start after the pause");
    } else {
        strbuf_append(b, "next start in ");
        append_span(b, s->next_start_in);
    }
    strbuf_appendf(b, " (restart %" PRIu64 " of %" PRIu64 ")", s->restarts, s->budget);
}

/* Of a long pause the minutes begun: it is looked at once in a minute. */
static void append_pause(struct strbuf *b, const struct status *s)
{
    usec_t left = s->pause_left, unit = left > USEC_PER_MINUTE ? USEC_PER_MINUTE : USEC_PER_SEC;

    if (!s->paused)
        return;
    if (left == USEC_INFINITY) {
        strbuf_append(b, "paused until resumed; ");
        return;
    }
    strbuf_append(b, "paused for ");
    append_span(b, usec_add(left, unit - 1) / unit * unit);
    strbuf_append(b, "; ");
}

char *status_line(const struct status *s)
{
    struct strbuf b = {};

    append_pause(&b, s);
    switch (s->phase) {
    case PHASE_PREFLIGHT:
    case PHASE_LOADING:
    case PHASE_LISTENING:
    case PHASE_PROVING:
        append_starting(&b, s);
        break;
    case PHASE_READY:
        strbuf_append(&b, "ready");
        append_proof(&b, &s->proof);
        break;
    case PHASE_DEGRADED:
        strbuf_append(&b, "degraded");
        append_proof(&b, &s->proof);
        break;
    case PHASE_COOLING:
        append_cooling(&b, s);
        break;
    case PHASE_IDLE:
    case PHASE_STOPPING:
    case PHASE_STOPPED:
    case PHASE_FAILED:
    case N_PHASES:
        strbuf_append(&b, phase_text(s->phase));
        if (s->reason)
            strbuf_appendf(&b, ": %s", s->reason);
        break;
    }
    if (s->failure->summary && s->phase != PHASE_READY)
        strbuf_appendf(&b, "; %s: %s", s->phase == PHASE_FAILED ? "cause" : "last failure", s->failure->summary);
    return strbuf_steal(&b);
}
