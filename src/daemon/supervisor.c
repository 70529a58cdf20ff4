/* SPDX-License-Identifier: MIT */
#include "daemon/supervisor.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"
#include "daemon/actions.h"
#include "daemon/failure.h"
#include "daemon/ground.h"
#include "daemon/reload.h"
#include "daemon/reporter.h"
#include "daemon/torn.h"
#include "port/store.h"

/* The queue */

static void post(struct supervisor *s, const struct fsm_event *event)
{
    struct queue *q = &s->queue;

    for (size_t i = 0; i < q->n; i++)
        if (q->events[i].kind == event->kind && q->events[i].epoch == event->epoch)
            return;
    q->events[q->n++] = *event;
    loop_wake(s->loop);
}

void supervisor_post(struct supervisor *s, enum fsm_event_kind kind)
{
    post(s, &(struct fsm_event){ .kind = kind, .epoch = s->fsm.epoch });
}

static bool replaces(enum fsm_event_kind kind, enum fsm_event_kind waiting)
{
    bool pausing = kind == FSM_PAUSE || kind == FSM_RESUME;

    return waiting == kind || (pausing && (waiting == FSM_PAUSE || waiting == FSM_RESUME));
}

void supervisor_request(struct supervisor *s, enum fsm_event_kind kind, usec_t pause_usec)
{
    struct queue *q = &s->queue;
    size_t kept = 0;

    for (size_t i = 0; i < q->n; i++)
        if (!replaces(kind, q->events[i].kind))
            q->events[kept++] = q->events[i];
    q->n = kept;
    post(s, &(struct fsm_event){ .kind = kind, .epoch = s->fsm.epoch, .pause_usec = pause_usec });
}

void supervisor_post_decision(struct supervisor *s, const struct fsm_decision *decision)
{
    post(s, &(struct fsm_event){ .kind = FSM_DIAGNOSED, .epoch = s->fsm.epoch, .decision = *decision });
}

/* The state */

static void log_transition(struct supervisor *s, enum phase from)
{
    _cleanup_free_ char *message = NULL;
    char epoch[24];
    enum phase to = s->fsm.phase;
    struct log_field fields[] = {
        { "COALMINE_EPOCH", epoch },
        { "COALMINE_FROM", phase_name(from) },
        { "COALMINE_TO", phase_name(to) },
        { "COALMINE_REASON", s->reason },
        { "COALMINE_STATE", unit_state_name(fsm_unit_state(&s->fsm)) },
    };

    (void) snprintf(epoch, sizeof epoch, "%" PRIu64, s->fsm.epoch);
    message = str_format("%s -> %s: %s", phase_name(from), phase_name(to), str_or_empty(s->reason));
    log_record(s->log, to == PHASE_DEGRADED ? LOG_WARNING : LOG_INFO,
               to == PHASE_READY ? LOG_READY : LOG_TRANSITION, fields, ARRAY_SIZE(fields),
               message ? message : phase_name(to));
}

/* The one place that sets the state. */
static void set_state(struct supervisor *s, const struct fsm_step *step, struct instant now)
{
    enum phase from = s->fsm.phase;
    uint64_t epoch = s->fsm.epoch;

    s->fsm = step->next;
    loop_timer_set(s->timer, fsm_deadline(&s->fsm));
    if (s->fsm.phase == from && s->fsm.epoch == epoch)
        return;
    s->reason = step->reason;
    s->phase_since = now;
    if (s->fsm.phase == PHASE_READY && from != PHASE_DEGRADED)
        s->ready_since = now.realtime;
    else if (s->fsm.phase != PHASE_READY && s->fsm.phase != PHASE_DEGRADED)
        s->ready_since = 0;
    log_transition(s, from);
}

static void log_pause(struct supervisor *s, const char *message)
{
    char until[FORMAT_TIMESTAMP_MAX];
    struct log_field fields[] = {
        { "COALMINE_PHASE", phase_name(s->fsm.phase) },
        { "COALMINE_PAUSED", s->fsm.paused ? "yes" : "no" },
        { "COALMINE_PAUSED_UNTIL", s->paused_until > 0 ? format_timestamp(until, s->paused_until) : NULL },
    };

    log_record(s->log, LOG_NOTICE, LOG_PAUSE, fields, ARRAY_SIZE(fields), message);
}

static void note_pause(struct supervisor *s, const struct fsm_event *event, struct instant now)
{
    _cleanup_free_ char *message = NULL;
    usec_t left = usec_sub(s->fsm.deadline.pause, now.monotonic);
    char text[FORMAT_TIMESPAN_MAX];

    s->paused_until = s->fsm.paused && left != USEC_INFINITY ? usec_add(now.realtime, left) : 0;
    if (!s->fsm.paused)
        message = str_format("No longer paused (%s): canaries and restarts go on", fsm_event_name(event->kind));
    else if (left == USEC_INFINITY)
        message = strdup("Paused until resumed: canaries and restarts are held");
    else
        message = str_format("Paused for %s: canaries and restarts are held", format_timespan(text, left));
    log_pause(s, message ? message : fsm_event_name(event->kind));
}

/* What an epoch remembers of a step in it; a step into a new epoch is noted after its actions have begun
 * that one. */
static void note_epoch(struct supervisor *s, usec_t now)
{
    timeline_enter(&s->epoch.timeline, s->fsm.phase,
                   s->fsm.phase == PHASE_LOADING ? s->epoch.step : NULL, now);
}

/* Told to whoever comes after us, too. */
static void note_served(struct supervisor *s)
{
    s->epoch.served = true;
    reporter_ready(s);
    counters_ready(&s->counters, usec_sub(loop_now().monotonic, s->epoch.started.monotonic));
    torn_mark(s);
}

static void take_step(struct supervisor *s, const struct fsm_event *event)
{
    struct instant now = loop_now();
    struct fsm before = s->fsm;
    struct fsm_step step = fsm_step(&s->fsm, &s->limits, event, now.monotonic);

    if ((step.next.failed && !before.failed) || (step.next.unkillable && !before.unkillable))
        failure_begin(s, event->kind, before.phase, step.next.unkillable);
    set_state(s, &step, now);
    if (s->fsm.paused != before.paused || s->fsm.deadline.pause != before.deadline.pause)
        note_pause(s, event, now);
    if (s->fsm.proved && !before.proved) {
        note_epoch(s, now.monotonic);
        note_served(s);
    }
    for (size_t i = 0; i < step.n_actions; i++)
        actions_run(s, step.actions[i]);
    note_epoch(s, now.monotonic);
}

static void on_turn(void *userdata)
{
    struct supervisor *s = userdata;
    struct queue q = s->queue;
    bool shows = s->shows;

    s->queue.n = 0;
    s->shows = false;
    for (size_t i = 0; i < q.n; i++) {
        take_step(s, &q.events[i]);
        shows = shows || q.events[i].kind != FSM_PROGRESS;
    }
    if (shows)
        publisher_update(s->publisher);
}

/* Where events come from */

static void on_deadline(void *userdata)
{
    supervisor_post(userdata, FSM_TIMER);
}

static void on_progress(void *userdata)
{
    supervisor_post(userdata, FSM_PROGRESS);
}

static void on_output(void *userdata)
{
    struct supervisor *s = userdata;

    progress_note(s->progress, SIGN_OUTPUT);
    supervisor_post(s, FSM_PROGRESS);
}

static void on_prover_event(enum fsm_event_kind kind, void *userdata)
{
    struct supervisor *s = userdata;

    if (kind == FSM_SUITE_PASSED || kind == FSM_LIVE_PASSED)
        watcher_survived(s->watcher);
    supervisor_post(s, kind);
}

/* The line has made us look: what the look has come to stands beside it in the journal. */
static void tell_alarm(struct supervisor *s, const struct proof *proof)
{
    bool passed = proof->verdict == VERDICT_GENERATED;

    s->epoch.alarm_open = false;
    log_say(s->log, passed ? LOG_NOTICE : LOG_WARNING, "After that line, canary %s came back with %s%s%s%s",
            str_or_empty(proof->canary), verdict_name(proof->verdict), proof->detail ? " (" : "",
            str_or_empty(proof->detail), proof->detail ? ")" : "");
}

static void on_proof(const struct proof *proof, void *userdata)
{
    struct supervisor *s = userdata;

    if (s->epoch.alarm_open)
        tell_alarm(s, proof);
    counters_canary(&s->counters, proof->verdict, proof->total_usec);
    s->shows = true;
    loop_wake(s->loop);
}

static void on_line(const struct log_line *line, void *userdata)
{
    struct supervisor *s = userdata;

    watcher_line(s->watcher, line);
}

static void on_cut(void *userdata)
{
    struct supervisor *s = userdata;

    watcher_close(s->watcher);
}

/* The same words, for the epoch's life; NULL when memory is out. */
static const char *epoch_words(struct epoch *e, const char *words)
{
    size_t n = strv_length(e->words);

    for (size_t i = 0; i < n; i++)
        if (str_equal(e->words[i], words))
            return e->words[i];
    return strv_push(&e->words, words) < 0 ? NULL : e->words[n];
}

static void on_step(const struct phase_config *step, void *userdata)
{
    struct supervisor *s = userdata;

    s->epoch.step = epoch_words(&s->epoch, step->text ? step->text : step->name);
    log_say(s->log, LOG_INFO, "%s", str_or_empty(s->epoch.step));
    if (s->fsm.phase == PHASE_LOADING) {
        note_epoch(s, loop_now().monotonic);
        publisher_update(s->publisher);
    }
}

static void on_decisive(const struct signature *signature, void *userdata)
{
    struct supervisor *s = userdata;

    if (!s->epoch.alarmed) {
        log_say(s->log, LOG_WARNING,
                "The server's log has a line of a failure that does not pass (%s, %s): looking at once",
                signature->class->name, signature->id);
        s->epoch.alarmed = s->epoch.alarm_open = true;
    }
    supervisor_post(s, FSM_DECISIVE_LINE);
}

static const struct watcher_events watcher_events = {
    .progress = on_output,
    .step = on_step,
    .decisive = on_decisive,
};

static const struct prover_events prover_events = {
    .event = on_prover_event,
    .proof = on_proof,
};

static const struct output_events output_events = {
    .line = on_line,
    .cut = on_cut,
};

/* Setting up */

static void open_state(struct supervisor *s)
{
    _cleanup_free_ char *state = str_format("%s/%s", s->paths->state, s->identity->instance);
    _cleanup_free_ char *reports = str_format("%s/%s/reports", s->paths->state, s->identity->instance);

    s->state_fd = state ? store_open_dir(state) : -ENOMEM;
    s->reports_fd = reports ? store_open_dir(reports) : -ENOMEM;
    if (s->reports_fd < 0)
        log_say(s->log, LOG_WARNING, "No reports will be kept, %s cannot be used: %s", str_or_empty(reports),
                strerror(-s->reports_fd));
}

/* Beside leftovers that cannot be killed nothing may be started; anything else can be done without. */
static int open_cgroups(struct supervisor *s)
{
    const char *why = NULL;
    int r = cgroup_root_open(s->identity->user, &s->cgroups, &why);

    if (r == 0 || r == -ETIMEDOUT)
        return r;
    log_say(s->log, r == -EBUSY ? LOG_WARNING : LOG_NOTICE,
            "No cgroup of our own (%s): the server runs in a session, its orphans are adopted",
            str_or_empty(why));
    return 0;
}

static int open_output(struct supervisor *s)
{
    const char *why = NULL;
    int r = output_new(s->loop, s->identity, &output_events, s, &s->output, &why);

    if (r < 0)
        return r;
    r = log_new(s->identity->instance, output_is_journal(s->output), &s->log);
    if (r == 0 && why)
        log_say(s->log, LOG_INFO, "The server's output comes through a pipe: %s", why);
    return r;
}

/* The publisher first: it holds the instance's lock, and the watcher's patterns take a moment to compile. */
static int open_handles(struct supervisor *s, char ***ret_errors)
{
    int r = open_output(s);

    if (r == 0)
        r = publisher_new(s, &s->publisher);
    if (r == 0)
        r = signals_new(s, &s->signals);
    if (r == 0)
        r = reaper_new(s->loop, NULL, NULL, &s->reaper);
    if (r == 0)
        r = loop_timer_new(s->loop, on_deadline, s, &s->timer);
    if (r == 0)
        r = preflight_new(s->loop, &ground_events, s, &s->preflight);
    if (r == 0)
        r = progress_new(s->loop, s->limits.stall_usec, on_progress, s, &s->progress);
    if (r == 0)
        r = prover_new(s->loop, s->config, &prover_events, s, &s->prover);
    if (r == 0)
        r = watcher_new(s->catalog, s->config, &watcher_events, s, &s->watcher, ret_errors);
    if (r < 0)
        return r;
    open_state(s);
    return open_cgroups(s);
}

static int read_generation(struct supervisor *s, char ***ret_errors)
{
    int r = generation_read(s->source, &s->generation, ret_errors);

    if (r < 0)
        return r;
    s->config = s->generation->config;
    s->catalog = s->generation->catalog;
    s->watched = generation_ref(s->generation);
    s->limits = generation_limits(s->generation);
    return 0;
}

int supervisor_new(struct loop *l, const struct generation_source *source, const struct identity *identity,
                   const struct paths *paths, struct supervisor **ret, char ***ret_errors)
{
    _cleanup_(supervisor_freep) struct supervisor *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    *s = (struct supervisor){
        .source = source,
        .identity = identity,
        .paths = paths,
        .loop = l,
        .fsm = fsm_initial(),
        .phase_since = loop_now(),
        .state_fd = -1,
        .reports_fd = -1,
    };
    r = read_generation(s, ret_errors);
    if (r == 0)
        r = open_handles(s, ret_errors);
    if (r < 0)
        return r;
    loop_set_turn(l, on_turn, s);
    *ret = steal_pointer(&s);
    return 0;
}

void supervisor_start(struct supervisor *s)
{
    torn_report(s);
    supervisor_post(s, FSM_START);
}

int supervisor_exit_code(const struct supervisor *s)
{
    return fsm_final(&s->fsm) ? (int) s->fsm.exit_code : EXIT_INTERNAL;
}

const struct server_config *supervisor_server(const struct supervisor *s)
{
    return s->epoch.generation ? &s->epoch.generation->config->server : &s->config->server;
}

struct status supervisor_status(const struct supervisor *s)
{
    struct instant now = loop_now();
    bool cooling = s->fsm.phase == PHASE_COOLING && !s->fsm.paused;
    usec_t pause = cooling ? usec_sub(s->fsm.deadline.cool, s->phase_since.monotonic) : 0;

    return (struct status){
        .instance = s->identity->instance,
        .unit = s->identity->unit,
        .invocation = s->identity->invocation,
        .profile = supervisor_server(s)->profile,
        .url = supervisor_server(s)->url,
        .state = fsm_unit_state(&s->fsm),
        .phase = s->fsm.phase,
        .reason = s->reason,
        .step = s->fsm.phase == PHASE_LOADING     ? s->epoch.step
                : s->fsm.phase == PHASE_PREFLIGHT ? s->epoch.waits_for
                                                  : NULL,
        .epoch = s->fsm.epoch,
        .attempt = s->fsm.attempt,
        .server_pid = s->fsm.alive && s->epoch.child ? child_pid(s->epoch.child) : 0,
        .exit_code = (int) s->fsm.exit_code,
        .now = now,
        .phase_since = s->phase_since.realtime,
        .phase_elapsed = usec_sub(now.monotonic, s->phase_since.monotonic),
        .started = s->epoch.started.realtime,
        .start_elapsed = usec_sub(now.monotonic, s->epoch.started.monotonic),
        .progress = progress_view(s->progress),
        .eta = chronicle_eta(s),
        .ready_since = s->ready_since,
        .next_start = cooling ? usec_add(s->phase_since.realtime, pause) : 0,
        .next_start_in = cooling ? usec_sub(s->fsm.deadline.cool, now.monotonic) : 0,
        .pending = s->epoch.pending,
        .paused = s->fsm.paused,
        .paused_until = s->paused_until,
        .pause_left = s->fsm.paused ? usec_sub(s->fsm.deadline.pause, now.monotonic) : 0,
        .canary = prover_current(s->prover),
        .proof = prover_last(s->prover),
        .restarts = s->memory.n_restarts,
        .budget = s->config->restart.budget,
        .failure = &s->last_failure,
        .counters = &s->counters,
    };
}

void supervisor_free(struct supervisor *s)
{
    if (!s)
        return;
    preflight_free(s->preflight);
    actions_release_epoch(s);
    publisher_free(s->publisher);
    prover_free(s->prover);
    progress_free(s->progress);
    loop_timer_free(s->timer);
    output_free(s->output);
    watcher_free(s->watcher);
    generation_unref(s->watched);
    generation_unref(s->generation);
    cgroup_root_free(s->cgroups);
    reaper_free(s->reaper);
    policy_memory_release(&s->memory);
    last_failure_release(&s->last_failure);
    history_release(&s->history);
    counters_release(&s->counters);
    (void) close_fd(s->state_fd);
    (void) close_fd(s->reports_fd);
    signals_free(s->signals);
    log_free(s->log);
    free(s);
}
