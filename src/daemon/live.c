/* SPDX-License-Identifier: MIT */
#include "daemon/live.h"

#include <errno.h>

#include "base/str.h"
#include "client/canary_run.h"
#include "client/look.h"
#include "port/random.h"

/* When the metrics have surely taken in what the canary itself did. */
#define SETTLE_USEC (USEC_PER_SEC)

/* What the timer, or the look under way, is for. */
enum step {
    STEP_NONE,
    STEP_SETTLE, /* a look to compare the next one with */
    STEP_DECIDE, /* whether a canary is needed */
    STEP_SEND,
    STEP_BESIDE, /* a look while an urgent canary is on its way */
    STEP_JUDGE,  /* whether a late canary means anything */
};

struct live {
    struct loop *loop;
    struct client *client;
    const struct live_events *events;
    void *userdata;
    struct loop_timer *timer;
    enum step step;
    struct canary_run *run;
    struct look *look;
    struct activity before;  /* the last look, not `known` when there is none to compare with */
    struct judgement late;   /* of the canary that is looked after */
    usec_t due;              /* of the next canary or decision */
    usec_t proved;           /* when a canary last came back */
    uint64_t transition;     /* canaries that must pass before it is quiet again */
};

static void on_timer(void *userdata);

int live_new(struct loop *l, struct client *client, const struct live_events *events, void *userdata,
             struct live **ret)
{
    struct live *live = calloc(1, sizeof *live);
    int r;

    if (!live)
        return -ENOMEM;
    *live = (struct live){ .loop = l, .client = client, .events = events, .userdata = userdata };
    r = loop_timer_new(l, on_timer, live, &live->timer);
    if (r < 0)
        free(live);
    else
        *ret = live;
    return r;
}

void live_free(struct live *l)
{
    if (!l)
        return;
    live_end(l);
    loop_timer_free(l->timer);
    free(l);
}

static const struct live_config *settings(const struct live *l)
{
    return &client_config(l->client)->live;
}

static const struct canary_config *canary(const struct live *l)
{
    const struct config *c = client_config(l->client);

    return config_canary(c, c->live.canary ? c->live.canary : c->start.suite[0]);
}

static void go_on(struct live *l, enum step step, usec_t at)
{
    l->step = step;
    loop_timer_set(l->timer, at);
}

/* A tenth of jitter keeps many instances from asking in step. */
static usec_t interval(const struct live *l)
{
    usec_t usec = settings(l)->interval_usec;

    if (l->transition > 0)
        return MIN(usec, settings(l)->transition_usec);
    return usec - usec / 20 + (usec >= 10 ? random_u64() % (usec / 10) : 0);
}

/* Whether it matters what others do. */
static bool minds_others(const struct live *l)
{
    return look_possible(l->client) && l->transition == 0;
}

static void rest(struct live *l)
{
    usec_t now = loop_now().monotonic;

    l->due = usec_add(now, interval(l));
    if (minds_others(l) && settings(l)->postpone_usec > 0 && l->due > usec_add(now, SETTLE_USEC))
        go_on(l, STEP_SETTLE, usec_add(now, SETTLE_USEC));
    else
        go_on(l, minds_others(l) ? STEP_DECIDE : STEP_SEND, l->due);
}

/* What came back */

static void tell(struct live *l, struct judgement *j)
{
    enum verdict verdict = j->verdict;

    l->proved = loop_now().monotonic;
    if (verdict == VERDICT_GENERATED)
        l->transition -= l->transition > 0;
    else if (verdict != VERDICT_BUSY)
        l->transition = settings(l)->rise;
    l->before = (struct activity){};
    rest(l);
    l->events->judged(canary(l)->name, j, l->userdata);
    judgement_release(j);
}

/* Late, or turned away for the moment: what a server with too much to do, and one that hangs, have in
 * common. */
static bool may_be_busy(enum verdict v)
{
    return v == VERDICT_TIMEOUT || v == VERDICT_FIRST_TOKEN_TIMEOUT || v == VERDICT_NOT_READY;
}

static void look_for(struct live *l, enum step step);

static void on_judged(struct judgement *j, void *userdata)
{
    struct live *l = userdata;

    l->run = NULL;
    if (!may_be_busy(j->verdict) || !l->before.known) {
        look_cancel(steal_pointer(&l->look));
        tell(l, j);
        return;
    }
    l->late = *j;
    *j = (struct judgement){};
    look_for(l, STEP_JUDGE);
}

/* Not for the status alone: the words end up in the report. */
static void add_words(struct judgement *j, const char *words)
{
    char *detail = j->detail ? str_format("%s; %s", j->detail, words) : strdup(words);

    if (!detail)
        return;
    free(j->detail);
    j->detail = detail;
}

static void judge_late(struct live *l, const struct activity *now)
{
    struct judgement j = l->late;
    enum motion motion = activity_compare(&l->before, now);

    l->late = (struct judgement){};
    if (motion == MOTION_WORKING)
        j.verdict = VERDICT_BUSY;
    if (motion != MOTION_UNKNOWN)
        add_words(&j, motion_text(motion));
    tell(l, &j);
}

/* Sending */

static void send_canary(struct live *l)
{
    l->step = STEP_NONE;
    if (canary_run_start(l->client, canary(l), false, on_judged, l, &l->run) < 0)
        go_on(l, STEP_SEND, usec_add(loop_now().monotonic, settings(l)->transition_usec));
}

/* Nobody waits for the look: a server that hangs may answer it no more than anything else. */
static void send_at_once(struct live *l)
{
    send_canary(l);
    if (l->run && look_possible(l->client))
        look_for(l, STEP_BESIDE);
}

/* Requests that complete stand in for the canary, but not for ever. */
static void decide(struct live *l, const struct activity *now)
{
    enum motion motion = activity_compare(&l->before, now);
    usec_t since = usec_sub(loop_now().monotonic, l->proved);

    l->before = *now;
    if (motion != MOTION_WORKING || since >= settings(l)->postpone_usec) {
        send_canary(l);
        return;
    }
    l->due = usec_add(loop_now().monotonic, interval(l));
    go_on(l, STEP_DECIDE, l->due);
}

/* Looking */

static void on_look(const struct activity *a, void *userdata)
{
    struct live *l = userdata;

    l->look = NULL;
    switch (l->step) {
    case STEP_SETTLE:
        l->before = *a;
        go_on(l, STEP_DECIDE, l->due);
        break;
    case STEP_DECIDE:
        decide(l, a);
        break;
    case STEP_BESIDE:
        l->before = *a;
        break;
    case STEP_JUDGE:
        judge_late(l, a);
        break;
    case STEP_NONE:
    case STEP_SEND:
        break;
    }
}

static void look_for(struct live *l, enum step step)
{
    const struct activity nothing = {};

    look_cancel(steal_pointer(&l->look));
    l->step = step;
    if (look_start(l->client, on_look, l, &l->look) < 0)
        on_look(&nothing, l);
}

static void on_timer(void *userdata)
{
    struct live *l = userdata;

    switch (l->step) {
    case STEP_SETTLE:
    case STEP_DECIDE:
        look_for(l, l->step);
        break;
    case STEP_SEND:
        send_at_once(l);
        break;
    case STEP_NONE:
    case STEP_BESIDE:
    case STEP_JUDGE:
        break;
    }
}

/* From outside */

static void drop(struct live *l)
{
    canary_run_cancel(steal_pointer(&l->run));
    look_cancel(steal_pointer(&l->look));
    judgement_release(&l->late);
    l->before = (struct activity){};
    go_on(l, STEP_NONE, USEC_INFINITY);
}

void live_begin(struct live *l)
{
    drop(l);
    l->transition = 0;
    l->proved = loop_now().monotonic;
    rest(l);
}

void live_now(struct live *l)
{
    bool under_way = l->run || l->step == STEP_JUDGE;

    if (under_way)
        return;
    look_cancel(steal_pointer(&l->look));
    l->before = (struct activity){};
    go_on(l, STEP_SEND, 0);
}

void live_again(struct live *l)
{
    drop(l);
    go_on(l, STEP_SEND, 0);
}

void live_end(struct live *l)
{
    drop(l);
}

const char *live_current(const struct live *l)
{
    return l->run ? canary_run_name(l->run) : NULL;
}
