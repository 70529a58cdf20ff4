/* SPDX-License-Identifier: MIT */
#include "daemon/failure.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/str.h"
#include "core/diagnosis/circumstance.h"
#include "core/diagnosis/report.h"
#include "daemon/reporter.h"
#include "daemon/supervisor.h"
#include "port/random.h"

/* How long the last words may be on their way: journald wakes its readers after half a second at most. */
#define LAST_WORDS_USEC (2 * USEC_PER_SEC)

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
    case FSM_DUMPED:
    case FSM_DIAGNOSED:
    case FSM_STOP:
    case FSM_RESTART:
    case FSM_PAUSE:
    case FSM_RESUME:
    case FSM_LIMITS:
    case N_FSM_EVENTS:
        break;
    }
    return ENDING_NONE;
}

static int look(struct supervisor *s, const char *when)
{
    int r = s->epoch.dump ? 0 : dump_new(&s->epoch.dump);

    return r < 0 ? r : dump_look(s->epoch.dump, s->epoch.processes, when);
}

/* Who is left, and what it waits for, while it can still be seen. */
static void look_at_survivors(struct supervisor *s)
{
    int r = look(s, "after SIGKILL");

    if (r == 0)
        s->epoch.stuck = dump_describe_stuck(s->epoch.dump);
    log_say(s->log, LOG_CRIT, "Processes of the server survived SIGKILL: %s",
            r < 0 ? strerror(-r) : str_or_empty(s->epoch.stuck));
}

void failure_begin(struct supervisor *s, enum fsm_event_kind event, enum phase phase, bool unkillable)
{
    enum ending ending = unkillable ? ENDING_UNKILLABLE : ending_of(event);

    s->epoch.failed_in = phase;
    if (ending != ENDING_NONE)
        s->epoch.ending = ending;
    if (unkillable && s->epoch.processes)
        look_at_survivors(s);
}

/* What a failed spawn was about (child_spawn()): ENOTDIR is the working directory's. */
static const char *spawn_subject(const struct supervisor *s)
{
    const char *directory = s->config->server.working_directory;

    return s->epoch.status == ENOTDIR && directory ? directory : s->config->server.command[0];
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
        .canary = proof->canary,
        .canary_proves = proof->proves,
        .verdict = proof->verdict,
        .verdict_detail = proof->detail,
        .subject = spawn_subject(s),
        .stuck = s->epoch.stuck,
        .foreign_owner = s->epoch.foreign_owner ? s->epoch.foreign_owner : stranger,
    };
}

static void on_dumped(void *userdata)
{
    supervisor_post(userdata, FSM_DUMPED);
}

/* Returns 1 where DUMPED will come. */
static int look_at_hang(struct supervisor *s)
{
    struct dump_target target = {
        .processes = s->epoch.processes,
        .main_pid = s->fsm.alive ? child_pid(s->epoch.child) : 0,
        .environment = s->epoch.environment,
    };
    int r = look(s, "before the stop signal");

    return r < 0 ? r : dump_run(s->epoch.dump, s->loop, &s->config->report, &target, on_dumped, s);
}

void failure_dump(struct supervisor *s)
{
    struct proof proof = prover_last(s->prover);
    struct circumstances circumstances = circumstances_of(s, &proof);
    int r = circumstance_is_hang(&circumstances) ? look_at_hang(s) : 0;

    if (r < 0)
        log_say(s->log, LOG_WARNING, "Cannot look at the hanging server: %s", strerror(-r));
    if (r <= 0)
        supervisor_post(s, FSM_DUMPED);
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

    class_policy_change(&failure.policy, config_class(s->config, cause->class_name));
    return policy_decide(&s->memory, &s->config->restart, &failure, loop_now().monotonic, random_u64(),
                         ret);
}

static struct report_progress last_progress(const struct supervisor *s)
{
    struct progress_view view = progress_view(s->progress);

    return (struct report_progress){
        .sign = sign_text(view.sign),
        .realtime = view.when.realtime,
        .cpu_percent = view.cpu_percent,
    };
}

static void report(struct supervisor *s, const struct circumstances *circumstances,
                   const struct root_cause *cause, const struct decision *decision)
{
    struct report_facts facts = {
        .epoch = s->fsm.epoch,
        .attempt = s->fsm.attempt,
        .started = s->epoch.started,
        .ended = loop_now(),
        .command = supervisor_server(s)->command,
        .environment = s->epoch.environment,
        .circumstances = circumstances,
        .cause = cause,
        .decision = decision,
    };
    struct report_progress progress = last_progress(s);
    struct report_dump dump;

    facts.gpu_held = s->epoch.gpu_held;
    if (s->epoch.processes && !s->epoch.served)
        facts.progress = &progress;
    if (s->epoch.dump) {
        dump = dump_report(s->epoch.dump);
        facts.dump = &dump;
    }
    timeline_close(&s->epoch.timeline, facts.ended.monotonic);
    facts.phases = s->epoch.timeline.rows;
    facts.n_phases = s->epoch.timeline.n;
    reporter_report(s, &facts);
    chronicle_end(s, EPOCH_FAILED);
    if (watcher_lost(s->watcher) > 0)
        log_say(s->log, LOG_WARNING, "%" PRIu64 " lines of the log could not be looked at: out of memory",
                watcher_lost(s->watcher));
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
    dump_end(s->epoch.dump);
    output_flush(s->output, LAST_WORDS_USEC, on_last_words);
}
