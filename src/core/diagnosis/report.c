/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/diagnosis/build.h"
#include "core/diagnosis/redact.h"

#define SUMMARY_LINE_BYTES ((size_t) 300)
#define ELLIPSIS "..."

static void add_phases(struct build *b, const struct report_facts *f)
{
    json_t *array = build_add_array(b, b->root, "phases");

    for (size_t i = 0; !b->failed && i < f->n_phases; i++) {
        json_t *phase = json_object();

        build_append(b, array, phase);
        if (b->failed)
            return;
        build_set(b, phase, "phase", json_string(phase_name(f->phases[i].phase)));
        build_set_text(b, phase, "step", f->phases[i].name);
        build_set_number(b, phase, "duration_usec", f->phases[i].duration_usec);
    }
}

static void add_status(struct build *b, json_t *ending, const struct circumstances *c)
{
    const char *signal = signal_name(c->status);

    if (c->ending == ENDING_EXIT || c->ending == ENDING_PREFLIGHT)
        build_set(b, ending, "exit_code", json_integer(c->status));
    if (c->ending == ENDING_SPAWN_FAILED)
        build_set_text(b, ending, "error", strerrordesc_np(c->status));
    if (c->ending != ENDING_SIGNAL)
        return;
    build_set(b, ending, "signal", json_integer(c->status));
    build_set_text(b, ending, "signal_name", signal);
    build_set(b, ending, "core_dumped", json_boolean(c->core_dumped));
}

static void add_ending(struct build *b, const struct circumstances *c)
{
    json_t *ending = build_add_object(b, b->root, "ending"), *canary;

    if (b->failed)
        return;
    build_set(b, ending, "kind", json_string(ending_name(c->ending)));
    add_status(b, ending, c);
    build_set(b, ending, "phase", json_string(phase_name(c->phase)));
    build_set(b, ending, "serving", json_boolean(c->serving));
    build_set_number(b, ending, "oom_kills", c->oom_kills);
    build_set_text(b, ending, "foreign_owner", c->foreign_owner);

    canary = build_add_object(b, b->root, "canary");
    if (b->failed)
        return;
    build_set_text(b, canary, "name", c->canary);
    build_set_text(b, canary, "proves", c->canary_proves);
    build_set(b, canary, "verdict", json_string(verdict_name(c->verdict)));
    build_set(b, canary, "text", json_string(verdict_text(c->verdict)));
    build_set_text(b, canary, "detail", c->verdict_detail);
}

static void add_root_cause(struct build *b, const struct root_cause *c)
{
    json_t *cause = build_add_object(b, b->root, "root_cause");

    if (b->failed)
        return;
    build_set_text(b, cause, "summary", c->summary);
    build_set_text(b, cause, "line", c->line);
    if (c->line)
        build_set_number(b, cause, "line_number", c->line_number);
    build_set_texts(b, cause, "before", c->before);
    build_set_texts(b, cause, "after", c->after);
}

static void add_class(struct build *b, const struct root_cause *c)
{
    json_t *captures;

    build_set_text(b, b->root, "class", c->class_name);
    build_set_text(b, b->root, "signature", c->signature);
    captures = build_add_object(b, b->root, "captures");
    for (size_t i = 0; !b->failed && i < c->n_captures; i++)
        build_set_text(b, captures, c->captures[i].name, c->captures[i].value);
    build_set_text(b, b->root, "fingerprint", c->fingerprint);
    build_set_text(b, b->root, "hint", c->hint);
}

static void add_decision(struct build *b, const struct decision *d)
{
    json_t *decision = build_add_object(b, b->root, "decision");

    if (b->failed)
        return;
    build_set(b, decision, "restart", json_boolean(d->what.restart));
    if (d->what.restart)
        build_set_number(b, decision, "delay_usec", d->what.delay_usec);
    else
        build_set(b, decision, "exit_code", json_integer(d->what.exit_code));
    build_set_text(b, decision, "reason", d->reason);
}

static void add_command(struct build *b, const struct report_facts *f)
{
    _cleanup_strv_ char **command = NULL;
    json_t *environment;

    if (redact_command(f->command, &command) < 0)
        b->failed = true;
    build_set_texts(b, b->root, "command", command);
    environment = build_add_array(b, b->root, "environment");
    for (size_t i = 0; !b->failed && f->environment && f->environment[i]; i++) {
        _cleanup_free_ char *shown = redact_environment(f->environment[i]);
        _cleanup_free_ char *clean = shown ? utf8_sanitize(shown, strlen(shown)) : NULL;

        build_append(b, environment, clean ? json_string(clean) : NULL);
    }
}

static void add_identity(struct build *b, const struct report_facts *f)
{
    json_t *root = b->root;

    build_set_number(b, root, "schema_version", REPORT_SCHEMA_VERSION);
    build_set_text(b, root, "coalmine_version", f->version);
    build_set_text(b, root, "instance", f->instance);
    build_set_text(b, root, "unit", f->unit);
    build_set_text(b, root, "invocation", f->invocation);
    build_set_number(b, root, "epoch", f->epoch);
    build_set_number(b, root, "attempt", f->attempt);
    build_set_time(b, root, "started", f->started.realtime);
    build_set_time(b, root, "ended", f->ended.realtime);
    build_set_number(b, root, "duration_usec", usec_sub(f->ended.monotonic, f->started.monotonic));
}

static void add_progress(struct build *b, const struct report_progress *p)
{
    json_t *progress = build_add_object(b, b->root, "progress");

    if (b->failed)
        return;
    build_set_text(b, progress, "sign", p->sign);
    build_set_time(b, progress, "at", p->realtime);
    build_set_number(b, progress, "cpu_percent", p->cpu_percent);
}

/* Line by line, as people read it; what it quotes is redacted as any line is. */
static void add_output(struct build *b, json_t *command, const char *output)
{
    _cleanup_strv_ char **lines = NULL;

    if (strv_split(str_or_empty(output), "\n", &lines) < 0)
        b->failed = true;
    build_set_texts(b, command, "output", lines);
}

static void add_dump_command(struct build *b, json_t *dump, const struct report_dump *d)
{
    json_t *command = build_add_object(b, dump, "command");
    _cleanup_strv_ char **argv = NULL;

    if (b->failed)
        return;
    if (redact_command(d->command, &argv) < 0)
        b->failed = true;
    build_set_texts(b, command, "argv", argv);
    build_set(b, command, "ended", json_boolean(d->ended));
    if (!d->ended)
        return;
    build_set(b, command, "exit_code", json_integer(d->exit_status));
    build_set(b, command, "truncated", json_boolean(d->truncated));
    add_output(b, command, d->output);
}

static void add_dump(struct build *b, const struct report_dump *d)
{
    json_t *dump = build_add_object(b, b->root, "dump");

    if (b->failed)
        return;
    build_set_text(b, dump, "when", d->when);
    if (d->when)
        snapshot_build(d->snapshot, b, dump);
    if (d->command)
        add_dump_command(b, dump, d);
}

int report_json(const struct report_facts *facts, json_t **ret)
{
    struct build b = {.root = json_object()};

    if (!b.root)
        return -ENOMEM;
    add_identity(&b, facts);
    add_class(&b, facts->cause);
    add_root_cause(&b, facts->cause);
    add_decision(&b, facts->decision);
    add_ending(&b, facts->circumstances);
    add_phases(&b, facts);
    build_set_text(&b, b.root, "gpu_held", facts->gpu_held);
    if (facts->progress)
        add_progress(&b, facts->progress);
    if (facts->dump)
        add_dump(&b, facts->dump);
    add_command(&b, facts);
    if (!build_finish(&b))
        return -ENOMEM;
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
    _cleanup_free_ char *shown = build_presentable(text);

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
