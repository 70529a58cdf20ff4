/* SPDX-License-Identifier: MIT */
#include "daemon/ground.h"

#include "base/str.h"
#include "daemon/supervisor.h"

static void on_progress(void *userdata)
{
    struct supervisor *s = userdata;

    progress_note(s->progress, SIGN_PROBE);
    supervisor_post(s, FSM_PROGRESS);
}

static void on_waiting(const char *held, void *userdata)
{
    struct supervisor *s = userdata;

    if (!s->epoch.waits_for)
        log_say(s->log, LOG_INFO, "Waiting until the GPU memory of the last server is free: %s", held);
    free(s->epoch.waits_for);
    s->epoch.waits_for = str_format("waiting for GPU memory (%s)", held);
    publisher_update(s->publisher);
}

/* The server may still find room. */
static void on_held(const char *held, void *userdata)
{
    struct supervisor *s = userdata;

    log_say(s->log, LOG_WARNING, "GPU memory is still held, starting all the same: %s", held);
    free(s->epoch.gpu_held);
    s->epoch.gpu_held = strdup(held);
    free(s->epoch.waits_for);
    s->epoch.waits_for = NULL;
}

static void on_done(const struct preflight_result *r, void *userdata)
{
    struct supervisor *s = userdata;

    free(s->epoch.waits_for);
    s->epoch.waits_for = NULL;
    if (r->passed) {
        supervisor_post(s, FSM_PREFLIGHT_PASSED);
        return;
    }
    if (r->output)
        watcher_text(s->watcher, r->output, r->output_len);
    s->epoch.status = r->exit_status;
    if (r->foreign_owner)
        s->epoch.foreign_owner = strdup(r->foreign_owner);
    supervisor_post(s, FSM_PREFLIGHT_FAILED);
}

const struct preflight_events ground_events = {
    .progress = on_progress,
    .waiting = on_waiting,
    .held = on_held,
    .done = on_done,
};
