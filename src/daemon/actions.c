/* SPDX-License-Identifier: MIT */
#include "daemon/actions.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "daemon/failure.h"
#include "daemon/reload.h"
#include "daemon/supervisor.h"
#include "daemon/torn.h"
#include "port/notify.h"

/* What a reload has left for the next server. */
static void watch_newest(struct supervisor *s)
{
    _cleanup_strv_ char **errors = NULL;
    int r = s->watched == s->generation ? 0 : reload_watcher(s, s->generation, &errors);

    if (r < 0)
        log_say(s->log, LOG_ERR, "Signatures and phases stay those of before the reload: %s",
                errors ? errors[0] : strerror(-r));
}

/* A new epoch begins with its preflight, or with its spawn where there is none: forget the last. */
static void begin_epoch(struct supervisor *s)
{
    chronicle_end(s, EPOCH_RESTARTED);
    torn_clear(s);
    actions_release_epoch(s);
    s->epoch = (struct epoch){
        .number = s->fsm.epoch,
        .attempt = s->fsm.attempt,
        .generation = generation_ref(s->generation),
        .started = loop_now(),
    };
    chronicle_begin(s);
    watch_newest(s);
    watcher_begin(s->watcher);
    prover_begin(s->prover);
}

static int make_environment(struct supervisor *s)
{
    int r = child_environment(environ, supervisor_server(s)->environment, &s->epoch.environment);

    return r < 0 ? r : caches_find(&s->epoch.generation->config->start, s->epoch.environment, &s->epoch.caches);
}

static void start_preflight(struct supervisor *s)
{
    int r;

    preflight_cancel(s->preflight);
    begin_epoch(s);
    r = make_environment(s);
    if (r == 0) {
        preflight_begin(s->preflight, s->epoch.generation->config, s->epoch.environment);
        return;
    }
    log_say(s->log, LOG_WARNING, "Cannot run the preflight, starting without: %s", strerror(-r));
    supervisor_post(s, FSM_PREFLIGHT_PASSED);
}

static void on_server_exit(const struct child_exit *e, void *userdata)
{
    struct supervisor *s = userdata;

    /* What ended the epoch is already known when we are ending it ourselves. */
    if (s->epoch.ending == ENDING_NONE) {
        s->epoch.ending = e->code == CLD_EXITED ? ENDING_EXIT : ENDING_SIGNAL;
        s->epoch.status = e->status;
        s->epoch.core_dumped = e->code == CLD_DUMPED;
    }
    supervisor_post(s, FSM_EXITED);
}

static void on_empty(void *userdata)
{
    supervisor_post(userdata, FSM_EMPTY);
}

static int spawn_into(struct supervisor *s, int output_fd)
{
    struct child_spec spec = {
        .argv = supervisor_server(s)->command,
        .environment = s->epoch.environment,
        .working_directory = supervisor_server(s)->working_directory,
        .stdin_fd = -1,
        .stdout_fd = output_fd,
        .stderr_fd = output_fd,
        .cgroup_fd = processes_cgroup_fd(s->epoch.processes),
    };

    return child_spawn(s->loop, &spec, on_server_exit, s, &s->epoch.child);
}

static int try_spawn(struct supervisor *s)
{
    int output_fd = -1, r = 0;

    if (!s->epoch.environment)
        r = make_environment(s);
    if (r == 0)
        r = processes_new(s->loop, s->cgroups, s->reaper, s->fsm.epoch, on_empty, s, &s->epoch.processes);
    if (r == 0)
        r = output_begin(s->output, s->fsm.epoch, &output_fd);
    if (r == 0)
        r = spawn_into(s, output_fd);
    if (r == 0)
        processes_set_main(s->epoch.processes, child_pid(s->epoch.child));
    output_started(s->output);
    return r;
}

static void spawn(struct supervisor *s)
{
    int r;

    if (s->epoch.number != s->fsm.epoch)
        begin_epoch(s);
    s->epoch.started = loop_now();
    r = try_spawn(s);
    if (r < 0) {
        s->epoch.status = -r;
        supervisor_post(s, FSM_SPAWN_FAILED);
        return;
    }
    counters_started(&s->counters);
    torn_mark(s);
    supervisor_post(s, FSM_SPAWNED);
}

static void prove(struct supervisor *s)
{
    struct progress_target target = {
        .processes = s->epoch.processes,
        .compilers = s->epoch.generation->config->start.compilers,
        .directories = s->epoch.caches.all,
        .environment = s->epoch.environment,
    };

    progress_begin(s->progress, &target);
    prover_prove(s->prover, s->epoch.processes);
}

static void live(struct supervisor *s)
{
    progress_end(s->progress);
    prover_live(s->prover);
}

static void quiet(struct supervisor *s)
{
    prover_quiet(s->prover);
    progress_end(s->progress);
}

/* The mark goes into the stream before the signal goes out: what stands behind it was said by a server that
 * we were ending. A stopped process would never see the signal, so it is continued. */
static void signal_server(struct supervisor *s)
{
    int r;

    dump_end(s->epoch.dump);
    output_cut(s->output);
    r = processes_signal(s->epoch.processes, s->config->server.stop_signal);
    if (r == 0)
        r = processes_signal(s->epoch.processes, SIGCONT);
    if (r < 0)
        log_say(s->log, LOG_WARNING, "Cannot signal the server's processes: %s", strerror(-r));
}

static void kill_server(struct supervisor *s)
{
    char text[FORMAT_TIMESPAN_MAX];
    int r;

    log_say(s->log, LOG_WARNING, "The server has not ended within %s of %s: killing it",
            format_timespan(text, s->config->server.stop_usec), signal_name(s->config->server.stop_signal));
    r = processes_kill(s->epoch.processes);
    if (r < 0)
        log_say(s->log, LOG_ERR, "Cannot kill the server's processes: %s", strerror(-r));
}

static void settled(struct supervisor *s)
{
    policy_settled(&s->memory);
    /* systemd counts restarts itself; 254 and later forget them on request, earlier ones ignore it
     * (sd_notify(3)). */
    (void) notify_send("RESTART_RESET=1");
}

void actions_release_epoch(struct supervisor *s)
{
    child_free(s->epoch.child);
    processes_free(s->epoch.processes);
    strv_free(s->epoch.environment);
    caches_release(&s->epoch.caches);
    free(s->epoch.foreign_owner);
    free(s->epoch.stuck);
    free(s->epoch.waits_for);
    free(s->epoch.gpu_held);
    dump_free(s->epoch.dump);
    strv_free(s->epoch.pending);
    strv_free(s->epoch.words);
    generation_unref(s->epoch.generation);
    s->epoch = (struct epoch){};
}

void actions_run(struct supervisor *s, enum fsm_action_kind action)
{
    switch (action) {
    case FSM_ACTION_PREFLIGHT:
        start_preflight(s);
        break;
    case FSM_ACTION_CANCEL_PREFLIGHT:
        preflight_cancel(s->preflight);
        break;
    case FSM_ACTION_SPAWN:
        spawn(s);
        break;
    case FSM_ACTION_PROVE:
        prove(s);
        break;
    case FSM_ACTION_LIVE:
        live(s);
        break;
    case FSM_ACTION_CANARY_NOW:
        prover_now(s->prover);
        break;
    case FSM_ACTION_QUIET:
        quiet(s);
        break;
    case FSM_ACTION_DUMP:
        failure_dump(s);
        break;
    case FSM_ACTION_SIGNAL:
        signal_server(s);
        break;
    case FSM_ACTION_KILL:
        kill_server(s);
        break;
    case FSM_ACTION_COLLECT:
        failure_collect(s);
        break;
    case FSM_ACTION_SETTLED:
        settled(s);
        break;
    case FSM_ACTION_EXIT:
        chronicle_end(s, s->fsm.phase == PHASE_FAILED ? EPOCH_FAILED : EPOCH_STOPPED);
        torn_clear(s);
        loop_stop(s->loop);
        break;
    case N_FSM_ACTIONS:
        break;
    }
}
