/* SPDX-License-Identifier: MIT */
#include "client/suite_run.h"

#include <errno.h>

#include "client/canary_run.h"
#include "client/models.h"
#include "core/canary/expect.h"

/* Between two looks at a server that is not there yet. */
#define PAUSE_USEC (250 * USEC_PER_MSEC)

struct suite_run {
    struct client *client;
    char *const *names;
    size_t next;
    usec_t deadline; /* of the patience; past it once the server has answered */
    struct loop_timer *timer;
    struct models *models;
    struct canary_run *run;
    const struct suite_run_events *events;
    void *userdata;
};

static void suite_free(struct suite_run *s)
{
    if (!s)
        return;
    models_cancel(s->models);
    canary_run_cancel(s->run);
    loop_timer_free(s->timer);
    free(s);
}
DEFINE_CLEANUP(struct suite_run *, suite_free);

static void finish(struct suite_run *done, enum verdict verdict, const char *detail)
{
    _cleanup_(suite_freep) struct suite_run *s = done;

    s->events->done(verdict, detail, s->userdata);
}

/* True when it is tried again. */
static bool has_patience(struct suite_run *s, enum verdict verdict)
{
    usec_t now = loop_now().monotonic;
    bool passing = verdict == VERDICT_REFUSED || verdict == VERDICT_RESET || verdict == VERDICT_NOT_READY ||
                   verdict == VERDICT_TIMEOUT;

    if (!passing || now >= s->deadline)
        return false;
    loop_timer_set(s->timer, usec_add(now, PAUSE_USEC));
    return true;
}

static void next_canary(struct suite_run *s);

static void on_canary(struct judgement *j, void *userdata)
{
    struct suite_run *s = userdata;
    const struct canary_config *c = config_canary(client_config(s->client), s->names[s->next]);

    s->run = NULL;
    if (has_patience(s, j->verdict))
        return;
    s->deadline = 0;
    s->events->canary(c, j, expect_lets_off(c, j->verdict), s->userdata);
    s->next++;
    next_canary(s);
}

static void next_canary(struct suite_run *s)
{
    const char *name = s->names[s->next];

    if (!name)
        finish(s, VERDICT_GENERATED, NULL);
    else if (canary_run_start(s->client, config_canary(client_config(s->client), name), true, on_canary, s,
                              &s->run) < 0)
        finish(s, VERDICT_NONE, strerrordesc_np(ENOMEM));
}

static void on_models(enum verdict verdict, const char *detail, void *userdata)
{
    struct suite_run *s = userdata;

    s->models = NULL;
    if (has_patience(s, verdict))
        return;
    if (verdict == VERDICT_GENERATED)
        next_canary(s);
    else
        finish(s, verdict, detail);
}

static void begin(void *userdata)
{
    struct suite_run *s = userdata;
    const char *why = NULL;
    int r = models_find(s->client, on_models, s, &s->models, &why);

    if (r < 0)
        finish(s, VERDICT_NONE, r == -EINVAL ? why : strerrordesc_np(-r));
}

int suite_run_start(struct client *c, char *const *names, usec_t patience_usec,
                    const struct suite_run_events *events, void *userdata, struct suite_run **ret)
{
    _cleanup_(suite_freep) struct suite_run *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    *s = (struct suite_run){
        .client = c,
        .names = names,
        .deadline = usec_add(loop_now().monotonic, patience_usec),
        .events = events,
        .userdata = userdata,
    };
    r = loop_timer_new(client_loop(c), begin, s, &s->timer);
    if (r < 0)
        return r;
    loop_timer_set(s->timer, 0);
    *ret = steal_pointer(&s);
    return 0;
}

void suite_run_cancel(struct suite_run *s)
{
    suite_free(s);
}

const char *suite_run_current(const struct suite_run *s)
{
    return s->run ? canary_run_name(s->run) : NULL;
}
