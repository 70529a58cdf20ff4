/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/diagnosis/redact.h"

#define SUMMARY_LINE_BYTES ((size_t) 300)
#define ELLIPSIS "..."

/* A JSON object or array under construction. The first failure is remembered, so that a run of additions
 * needs one check at its end. */
struct builder {
    json_t *root;
    bool failed;
};

/* Takes over value; NULL is a failed allocation. */
static void set(struct builder *b, json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        b->failed = true;
}

static void set_number(struct builder *b, json_t *object, const char *key, uint64_t n)
{
    set(b, object, key, json_integer((json_int_t) MIN(n, (uint64_t) INT64_MAX)));
}

/* Valid UTF-8 without secrets, owned. */
static char *presentable(const char *text)
{
    _cleanup_free_ char *clean = utf8_sanitize(text, strlen(text));

    return clean ? redact_text(clean) : NULL;
}

static json_t *text_value(const char *text)
{
    _cleanup_free_ char *shown = presentable(text);

    return shown ? json_string(shown) : NULL;
}

static void set_text(struct builder *b, json_t *object, const char *key, const char *text)
{
    if (text)
        set(b, object, key, text_value(text));
}

static void set_time(struct builder *b, json_t *object, const char *key, usec_t realtime)
{
    char buf[FORMAT_TIMESTAMP_MAX];

    set(b, object, key, json_string(format_timestamp(buf, realtime)));
}

static json_t *add_object(struct builder *b, json_t *parent, const char *key)
{
    json_t *object = json_object();

    set(b, parent, key, object);
    return object;
}

/* Takes over value. */
static void append(struct builder *b, json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) < 0)
        b->failed = true;
}

static json_t *add_array(struct builder *b, json_t *parent, const char *key)
{
    json_t *array = json_array();

    set(b, parent, key, array);
    return array;
}

static void add_texts(struct builder *b, json_t *parent, const char *key, char *const *texts)
{
    json_t *array = add_array(b, parent, key);

    for (size_t i = 0; !b->failed && texts && texts[i]; i++)
        append(b, array, text_value(texts[i]));
}

static void add_phases(struct builder *b, const struct report_facts *f)
{
    json_t *array = add_array(b, b->root, "phases");

    for (size_t i = 0; !b->failed && i < f->n_phases; i++) {
        json_t *phase = json_object();

        append(b, array, phase);
        if (b->failed)
            return;
        set(b, phase, "phase", json_string(phase_name(f->phases[i].phase)));
        set_text(b, phase, "step", f->phases[i].name);
        set_number(b, phase, "duration_usec", f->phases[i].duration_usec);
    }
}

static void add_status(struct builder *b, json_t *ending, const struct circumstances *c)
{
    const char *signal = signal_name(c->status);

    if (c->ending == ENDING_EXIT || c->ending == ENDING_PREFLIGHT)
        set(b, ending, "exit_code", json_integer(c->status));
    if (c->ending == ENDING_SPAWN_FAILED)
        set_text(b, ending, "error", strerrordesc_np(c->status));
    if (c->ending != ENDING_SIGNAL)
        return;
    set(b, ending, "signal", json_integer(c->status));
    set_text(b, ending, "signal_name", signal);
    set(b, ending, "core_dumped", json_boolean(c->core_dumped));
}

static void add_ending(struct builder *b, const struct circumstances *c)
{
    json_t *ending = add_object(b, b->root, "ending"), *canary;

    if (b->failed)
        return;
    set(b, ending, "kind", json_string(ending_name(c->ending)));
    add_status(b, ending, c);
    set(b, ending, "phase", json_string(phase_name(c->phase)));
    set(b, ending, "serving", json_boolean(c->serving));
    set_number(b, ending, "oom_kills", c->oom_kills);
    set_text(b, ending, "foreign_owner", c->foreign_owner);

    canary = add_object(b, b->root, "canary");
    if (b->failed)
        return;
    set(b, canary, "verdict", json_string(verdict_name(c->verdict)));
    set(b, canary, "text", json_string(verdict_text(c->verdict)));
    set_text(b, canary, "detail", c->verdict_detail);
}

static void add_root_cause(struct builder *b, const struct root_cause *c)
{
    json_t *cause = add_object(b, b->root, "root_cause");

    if (b->failed)
        return;
    set_text(b, cause, "summary", c->summary);
    set_text(b, cause, "line", c->line);
    if (c->line)
        set_number(b, cause, "line_number", c->line_number);
    add_texts(b, cause, "before", c->before);
    add_texts(b, cause, "after", c->after);
}

static void add_class(struct builder *b, const struct root_cause *c)
{
    json_t *captures;

    set_text(b, b->root, "class", c->class_name);
    set_text(b, b->root, "signature", c->signature);
    captures = add_object(b, b->root, "captures");
    for (size_t i = 0; !b->failed && i < c->n_captures; i++)
        set_text(b, captures, c->captures[i].name, c->captures[i].value);
    set_text(b, b->root, "fingerprint", c->fingerprint);
    set_text(b, b->root, "hint", c->hint);
}

static void add_decision(struct builder *b, const struct decision *d)
{
    json_t *decision = add_object(b, b->root, "decision");

    if (b->failed)
        return;
    set(b, decision, "restart", json_boolean(d->what.restart));
    if (d->what.restart)
        set_number(b, decision, "delay_usec", d->what.delay_usec);
    else
        set(b, decision, "exit_code", json_integer(d->what.exit_code));
    set_text(b, decision, "reason", d->reason);
}

static void add_command(struct builder *b, const struct report_facts *f)
{
    _cleanup_strv_ char **command = NULL;
    json_t *environment;

    if (redact_command(f->command, &command) < 0)
        b->failed = true;
    add_texts(b, b->root, "command", command);
    environment = add_array(b, b->root, "environment");
    for (size_t i = 0; !b->failed && f->environment && f->environment[i]; i++) {
        _cleanup_free_ char *shown = redact_environment(f->environment[i]);
        _cleanup_free_ char *clean = shown ? utf8_sanitize(shown, strlen(shown)) : NULL;

        append(b, environment, clean ? json_string(clean) : NULL);
    }
}

static void add_identity(struct builder *b, const struct report_facts *f)
{
    json_t *root = b->root;

    set_number(b, root, "schema_version", REPORT_SCHEMA_VERSION);
    set_text(b, root, "coalmine_version", f->version);
    set_text(b, root, "instance", f->instance);
    set_text(b, root, "unit", f->unit);
    set_text(b, root, "invocation", f->invocation);
    set_number(b, root, "epoch", f->epoch);
    set_number(b, root, "attempt", f->attempt);
    set_time(b, root, "started", f->started.realtime);
    set_time(b, root, "ended", f->ended.realtime);
    set_number(b, root, "duration_usec", usec_sub(f->ended.monotonic, f->started.monotonic));
}

int report_json(const struct report_facts *facts, json_t **ret)
{
    struct builder b = {.root = json_object()};

    if (!b.root)
        return -ENOMEM;
    add_identity(&b, facts);
    add_class(&b, facts->cause);
    add_root_cause(&b, facts->cause);
    add_decision(&b, facts->decision);
    add_ending(&b, facts->circumstances);
    add_phases(&b, facts);
    add_command(&b, facts);
    if (b.failed) {
        json_decref(b.root);
        return -ENOMEM;
    }
    *ret = b.root;
    return 0;
}

/* One line, cut where it is too long; line breaks in the text become blanks. */
static void add_line(struct strbuf *b, const char *label, const char *text)
{
    size_t room = SUMMARY_LINE_BYTES - strlen(label), n = strlen(text);
    size_t kept = n <= room ? n : utf8_cut(text, n, room - strlen(ELLIPSIS));

    if (b->len > 0)
        strbuf_append_char(b, '\n');
    strbuf_append(b, label);
    for (size_t i = 0; i < kept; i++)
        strbuf_append_char(b, text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
    if (kept < n)
        strbuf_append(b, ELLIPSIS);
}

static void add_presentable(struct strbuf *b, const char *label, const char *text)
{
    _cleanup_free_ char *shown = presentable(text);

    if (shown)
        add_line(b, label, shown);
    else
        b->failed = true;
}

char *report_summary(const struct report_facts *facts)
{
    usec_t lived = usec_sub(facts->ended.monotonic, facts->started.monotonic);
    char span[FORMAT_TIMESPAN_MAX];
    _cleanup_free_ char *what = str_format("%s failed after %s, attempt %" PRIu64 ": %s",
                                           str_or_empty(facts->instance), format_timespan(span, lived),
                                           facts->attempt, facts->cause->summary);
    struct strbuf b = {};

    if (!what)
        return NULL;
    add_presentable(&b, "", what);
    if (facts->cause->line)
        add_presentable(&b, "Root cause: ", facts->cause->line);
    if (facts->decision->reason)
        add_presentable(&b, "Decision: ", facts->decision->reason);
    if (facts->cause->hint)
        add_presentable(&b, "What to do: ", facts->cause->hint);
    return strbuf_steal(&b);
}

char *report_name(const struct report_facts *facts)
{
    char stamp[FORMAT_TIMESTAMP_MAX];
    struct strbuf name = {};

    format_timestamp(stamp, facts->ended.realtime);
    for (const char *s = stamp; *s != '\0'; s++) {
        if (*s != '-' && *s != ':')
            strbuf_append_char(&name, *s);
    }
    strbuf_appendf(&name, "-e%" PRIu64 ".json", facts->epoch);
    return strbuf_steal(&name);
}
