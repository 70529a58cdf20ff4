/* SPDX-License-Identifier: MIT */
#include "daemon/reporter.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"
#include "core/diagnosis/redact.h"
#include "daemon/supervisor.h"
#include "port/store.h"

#define REPORT_SUFFIX ".json"
#define LATEST_NAME "latest.json"

static char *report_text(const struct report_facts *facts)
{
    json_t *json = NULL;
    char *text;

    if (report_json(facts, &json) < 0)
        return NULL;
    text = json_dumps(json, JSON_INDENT(2));
    json_decref(json);
    return text;
}

/* *ret_path is where the file is, owned. */
static int write_report(struct supervisor *s, const struct report_facts *facts, const char *text,
                        char **ret_path)
{
    _cleanup_free_ char *name = report_name(facts), *path = NULL;
    int r;

    if (s->reports_fd < 0)
        return -ENOENT;
    path = name ? str_format("%s/%s/reports/%s", s->paths->state, s->identity->instance, name) : NULL;
    if (!text || !path)
        return -ENOMEM;
    r = store_write(s->reports_fd, name, text, strlen(text), STORE_DURABLE | STORE_PRIVATE);
    if (r == 0)
        r = store_link(s->reports_fd, LATEST_NAME, name);
    if (r == 0)
        r = store_prune(s->reports_fd, REPORT_SUFFIX, name, s->config->report.keep,
                        s->config->report.max_bytes);
    if (r == 0)
        *ret_path = steal_pointer(&path);
    return r;
}

static char *redacted(const char *text)
{
    return text ? redact_text(text) : NULL;
}

static char *copied(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void remember(struct supervisor *s, const struct report_facts *facts, char *report_path)
{
    last_failure_release(&s->last_failure);
    s->last_failure = (struct last_failure){
        .class_name = copied(facts->cause->class_name),
        .signature = copied(facts->cause->signature),
        .summary = redacted(facts->cause->summary),
        .hint = redacted(facts->cause->hint),
        .decision = redacted(facts->decision->reason),
        .report = report_path,
        .realtime = facts->ended.realtime,
        .epoch = facts->epoch,
    };
}

static void write_message(struct supervisor *s, const char *text)
{
    const char *path = s->config->report.termination_message;
    int r = path ? store_overwrite(path, text, strlen(text)) : 0;

    if (r < 0)
        log_say(s->log, LOG_WARNING, "The termination message cannot be written to %s: %s", path, strerror(-r));
}

void reporter_ready(struct supervisor *s)
{
    write_message(s, "");
}

/* The whole failure as one record: its lines are what `systemctl status` shows last, and its fields what
 * programs read. `text` is the report, where no file has it. */
static void tell(struct supervisor *s, const struct report_facts *facts, const char *text)
{
    const struct last_failure *f = &s->last_failure;
    _cleanup_free_ char *summary = report_summary(facts), *line = redacted(facts->cause->line);
    char epoch[24];
    struct log_field fields[] = {
        { "COALMINE_EPOCH", epoch },
        { "COALMINE_CLASS", f->class_name },
        { "COALMINE_SIGNATURE", f->signature },
        { "COALMINE_FINGERPRINT", facts->cause->fingerprint },
        { "COALMINE_PHASE", phase_name(facts->circumstances->phase) },
        { "COALMINE_VERDICT", verdict_name(facts->circumstances->verdict) },
        { "COALMINE_LINE", line },
        { "COALMINE_HINT", f->hint },
        { "COALMINE_DECISION", f->decision },
        { "COALMINE_REPORT", f->report },
        { "COALMINE_REPORT_JSON", text },
    };

    (void) snprintf(epoch, sizeof epoch, "%" PRIu64, facts->epoch);
    log_record(s->log, LOG_ERR, LOG_FAILURE, fields, ARRAY_SIZE(fields),
               summary ? summary : str_or_empty(f->summary));
    write_message(s, summary ? summary : str_or_empty(f->summary));
}

void reporter_report(struct supervisor *s, struct report_facts *facts)
{
    _cleanup_free_ char *text = NULL;
    char *path = NULL;
    int r;

    facts->version = COALMINE_VERSION;
    facts->instance = s->identity->instance;
    facts->unit = s->identity->unit;
    facts->invocation = s->identity->invocation;
    text = report_text(facts);
    r = write_report(s, facts, text, &path);
    remember(s, facts, path);
    counters_failed(&s->counters, facts->cause->class_name);
    tell(s, facts, path ? NULL : text);
    if (r < 0)
        log_say(s->log, LOG_WARNING, "The report could not be written below %s/%s: %s", s->paths->state,
                s->identity->instance, strerror(-r));
}
