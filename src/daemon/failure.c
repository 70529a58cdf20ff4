/* SPDX-License-Identifier: MIT */
#include "daemon/failure.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/str.h"
#include "core/diagnosis/redact.h"
#include "core/diagnosis/report.h"
#include "daemon/supervisor.h"
#include "port/random.h"
#include "port/store.h"

/* How long the last words may be on their way: journald wakes its readers after half a second at most. */
#define LAST_WORDS_USEC (2 * USEC_PER_SEC)
#define REPORT_SUFFIX ".json"
#define LATEST_NAME "latest.json"

/* EXITED and EMPTY leave it to the exit status, which may come a moment later. */
static enum ending ending_of(enum fsm_event_kind event)
{
    switch (event) {
    case FSM_PREFLIGHT_FAILED:
        return ENDING_PREFLIGHT;
    case FSM_SPAWN_FAILED:
        return ENDING_SPAWN_FAILED;
    case FSM_SUITE_FAILED:
    case FSM_LIVE_FAILED:
        return ENDING_CANARY;
    case FSM_TIMER:
        return ENDING_STALLED;
    case FSM_START:
    case FSM_PREFLIGHT_PASSED:
    case FSM_SPAWNED:
    case FSM_PROGRESS:
    case FSM_DECISIVE_LINE:
    case FSM_PORT_OPEN:
    case FSM_CANARY_SENT:
    case FSM_SUITE_PASSED:
    case FSM_LIVE_PASSED:
    case FSM_EXITED:
    case FSM_EMPTY:
    case FSM_DIAGNOSED:
    case FSM_STOP:
    case FSM_RESTART:
    case N_FSM_EVENTS:
        break;
    }
    return ENDING_NONE;
}

void failure_begin(struct supervisor *s, enum fsm_event_kind event, enum phase phase, bool unkillable)
{
    enum ending ending = unkillable ? ENDING_UNKILLABLE : ending_of(event);

    s->epoch.failed_in = phase;
    if (ending != ENDING_NONE)
        s->epoch.ending = ending;
}

static struct circumstances circumstances_of(struct supervisor *s, const struct proof *proof)
{
    const char *stranger = prover_foreign_owner(s->prover);

    if (s->epoch.processes)
        s->epoch.oom_kills = processes_oom_kills(s->epoch.processes);
    return (struct circumstances){
        .ending = s->epoch.ending,
        .status = s->epoch.status,
        .core_dumped = s->epoch.core_dumped,
        .phase = s->epoch.failed_in,
        .serving = s->epoch.served,
        .oom_kills = s->epoch.oom_kills,
        .verdict = proof->verdict,
        .verdict_detail = proof->detail,
        .foreign_owner = s->epoch.foreign_owner ? s->epoch.foreign_owner : stranger,
    };
}

static int decide(struct supervisor *s, const struct root_cause *cause, struct decision *ret)
{
    const struct class *class = catalog_class(s->catalog, cause->class_name);
    struct policy_failure failure = {
        .class_name = cause->class_name,
        .class_text = class ? class->text : NULL,
        .policy = cause->policy,
        .fingerprint = cause->fingerprint,
        .serving = s->epoch.served,
    };

    return policy_decide(&s->memory, &s->config->restart, &failure, loop_now().monotonic, random_u64(),
                         ret);
}

/* Writes the report and points `latest.json` at it. *ret_path is where it is, owned. */
static int write_report(struct supervisor *s, const struct report_facts *facts, char **ret_path)
{
    _cleanup_free_ char *name = report_name(facts), *text = NULL, *path = NULL;
    json_t *json = NULL;
    int r;

    if (!name)
        return -ENOMEM;
    if (s->reports_fd < 0)
        return -ENOENT;
    r = report_json(facts, &json);
    if (r < 0)
        return r;
    text = json_dumps(json, JSON_INDENT(2));
    json_decref(json);
    path = str_format("%s/%s/reports/%s", s->paths->state, s->identity->instance, name);
    if (!text || !path)
        return -ENOMEM;
    r = store_write(s->reports_fd, name, text, strlen(text), STORE_DURABLE | STORE_PRIVATE);
    if (r == 0)
        r = store_link(s->reports_fd, LATEST_NAME, name);
    if (r == 0)
        r = store_prune(s->reports_fd, REPORT_SUFFIX, s->config->report.keep, s->config->report.max_bytes);
    if (r == 0)
        *ret_path = steal_pointer(&path);
    return r;
}

static char *redacted(const char *text)
{
    return text ? redact_text(text) : NULL;
}

static void remember(struct supervisor *s, const struct root_cause *cause, const struct decision *decision,
                     char *report_path)
{
    last_failure_release(&s->last_failure);
    s->last_failure = (struct last_failure){
        .class_name = strdup(cause->class_name),
        .signature = cause->signature ? strdup(cause->signature) : NULL,
        .summary = redacted(cause->summary),
        .hint = redacted(cause->hint),
        .decision = redacted(decision->reason),
        .report = report_path,
        .realtime = loop_now().realtime,
        .epoch = s->fsm.epoch,
    };
}

/* The whole failure as one record, whether or not there is a file: its lines are what `systemctl status`
 * shows last, and its fields what programs read. */
static void tell(struct supervisor *s, const struct report_facts *facts)
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
    };

    (void) snprintf(epoch, sizeof epoch, "%" PRIu64, s->fsm.epoch);
    log_record(s->log, LOG_ERR, LOG_FAILURE, fields, ARRAY_SIZE(fields),
               summary ? summary : str_or_empty(f->summary));
}

static void report(struct supervisor *s, const struct circumstances *circumstances,
                   const struct root_cause *cause, const struct decision *decision)
{
    struct report_facts facts = {
        .version = COALMINE_VERSION,
        .instance = s->identity->instance,
        .unit = s->identity->unit,
        .invocation = s->identity->invocation,
        .epoch = s->fsm.epoch,
        .attempt = s->fsm.attempt,
        .started = s->epoch.started,
        .ended = loop_now(),
        .command = s->config->server.command,
        .environment = s->epoch.environment,
        .circumstances = circumstances,
        .cause = cause,
        .decision = decision,
    };
    char *path = NULL;
    int r;

    timeline_close(&s->epoch.timeline, facts.ended.monotonic);
    facts.phases = s->epoch.timeline.rows;
    facts.n_phases = s->epoch.timeline.n;
    r = write_report(s, &facts, &path);
    remember(s, cause, decision, path);
    tell(s, &facts);
    if (watcher_lost(s->watcher) > 0)
        log_say(s->log, LOG_WARNING, "%" PRIu64 " lines of the log could not be looked at: out of memory",
                watcher_lost(s->watcher));
    if (r < 0)
        log_say(s->log, LOG_WARNING, "The report could not be written below %s/%s: %s", s->paths->state,
                s->identity->instance, strerror(-r));
}

static void on_last_words(void *userdata)
{
    struct supervisor *s = userdata;
    struct proof proof = prover_last(s->prover);
    struct circumstances circumstances = circumstances_of(s, &proof);
    struct fsm_decision what = { .exit_code = EXIT_INTERNAL };
    struct root_cause cause = {};
    struct decision decision = {};
    int r = evidence_root_cause(watcher_evidence(s->watcher), &circumstances, &cause);

    if (r == 0)
        r = decide(s, &cause, &decision);
    if (r == 0) {
        report(s, &circumstances, &cause, &decision);
        what = decision.what;
    } else {
        log_say(s->log, LOG_CRIT, "The failure cannot be diagnosed: %s", strerror(-r));
    }
    decision_release(&decision);
    root_cause_release(&cause);
    supervisor_post_decision(s, &what);
}

void failure_collect(struct supervisor *s)
{
    output_flush(s->output, LAST_WORDS_USEC, on_last_words);
}
