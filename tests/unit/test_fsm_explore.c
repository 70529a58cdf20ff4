/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <string.h>

#include "fsm_rules.h"

/* Walks every state that the machine can reach, breadth first, and checks each step: once with a
 * model of the world (events come only when they can: an exit once after a spawn, an answer once
 * after a question), once with every event at any time. Time is relative: a state is the same state
 * whenever it is reached. */

#define TICK (10 * USEC_PER_SEC)
#define MAX_STATES ((size_t) 1 << 17)
#define MAX_CHOICES 96

/* The world around the machine, and what it remembers of the epoch to judge by. */
struct world {
    bool main_lives;
    bool tree_lives;
    bool probing;       /* a preflight's answer is out */
    bool dumping;       /* a dump's answer is out */
    bool proving;       /* PROVE was asked for in this epoch */
    bool suite_passed;  /* in this epoch */
    bool failure;       /* something that is one has happened in this epoch */
    bool granted;       /* the diagnosis of this epoch allowed a restart */
    bool restart_asked; /* since this epoch began */
    bool stop_asked;
    bool collected; /* in this epoch */
    bool signalled; /* in this epoch */
};

struct node {
    struct fsm fsm; /* canonical: its `now` is 0 */
    struct world world;
};

struct choice {
    struct fsm_event event;
    usec_t after; /* how much later than the step before */
};

struct visit {
    struct node node;
    struct choice by;
    size_t parent;
};

struct exploration {
    struct fsm_limits limits;
    bool adversarial;
    struct visit *visits;
    size_t n_visits;
    size_t *table; /* open addressing over visits; 0 is free, else index + 1 */
    uint64_t n_steps;
};

/* Canonical states */

static usec_t relative(usec_t deadline, usec_t now)
{
    return usec_sub(deadline, now);
}

/* Behaviour depends neither on how often a server was started nor on what time it is. Field by
 * field into a zeroed node, so that nodes can be compared as bytes. */
static struct node canonical(const struct fsm *f, const struct world *w, usec_t now)
{
    struct node node;

    memset(&node, 0, sizeof(node));
    node.fsm.phase = f->phase;
    node.fsm.epoch = MIN(f->epoch, (uint64_t) 1);
    node.fsm.attempt = MIN(f->attempt, (uint64_t) 1);
    node.fsm.spawning = f->spawning;
    node.fsm.alive = f->alive;
    node.fsm.populated = f->populated;
    node.fsm.proved = f->proved;
    node.fsm.ever_ready = f->ever_ready;
    node.fsm.failed = f->failed;
    node.fsm.dumping = f->dumping;
    node.fsm.collecting = f->collecting;
    node.fsm.unkillable = f->unkillable;
    node.fsm.suspected = f->suspected;
    node.fsm.paused = f->paused;
    node.fsm.request = f->request;
    node.fsm.live_failures = f->live_failures;
    node.fsm.live_passes = f->live_passes;
    node.fsm.exit_code = f->exit_code;
    node.fsm.deadline.stall = relative(f->deadline.stall, now);
    node.fsm.deadline.load = relative(f->deadline.load, now);
    node.fsm.deadline.dump = relative(f->deadline.dump, now);
    node.fsm.deadline.kill = relative(f->deadline.kill, now);
    node.fsm.deadline.give_up = relative(f->deadline.give_up, now);
    node.fsm.deadline.collect = relative(f->deadline.collect, now);
    node.fsm.deadline.cool = relative(f->deadline.cool, now);
    node.fsm.deadline.stable = relative(f->deadline.stable, now);
    node.fsm.deadline.pause = relative(f->deadline.pause, now);
    node.world.main_lives = w->main_lives;
    node.world.tree_lives = w->tree_lives;
    node.world.probing = w->probing;
    node.world.dumping = w->dumping;
    node.world.proving = w->proving;
    node.world.suite_passed = w->suite_passed;
    node.world.failure = w->failure;
    node.world.granted = w->granted;
    node.world.restart_asked = w->restart_asked;
    node.world.stop_asked = w->stop_asked;
    node.world.collected = w->collected;
    node.world.signalled = w->signalled;
    return node;
}

static size_t hash(const struct node *node)
{
    const unsigned char *bytes = (const unsigned char *) node;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < sizeof(*node); i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    return (size_t) (h ^ h >> 32);
}

static void add(struct exploration *x, const struct node *node, const struct choice *by,
                size_t parent)
{
    size_t slot = hash(node) % (2 * MAX_STATES);

    for (; x->table[slot] != 0; slot = (slot + 1) % (2 * MAX_STATES)) {
        if (memcmp(&x->visits[x->table[slot] - 1].node, node, sizeof(*node)) == 0)
            return;
    }
    if (x->n_visits == MAX_STATES)
        fail_msg("more than %zu states", MAX_STATES);
    x->visits[x->n_visits] = (struct visit){.by = *by, .parent = parent};
    memcpy(&x->visits[x->n_visits].node, node, sizeof(*node));
    x->table[slot] = ++x->n_visits;
}

/* Failures come with the way that leads to them */

static void print_way(const struct exploration *x, size_t to)
{
    const struct visit *v = &x->visits[to];

    if (to != v->parent)
        print_way(x, v->parent);
    print_error("  +%llu s %s%s (epoch %llu) -> %s\n",
                (unsigned long long) (v->by.after / USEC_PER_SEC), fsm_event_name(v->by.event.kind),
                v->by.event.kind == FSM_DIAGNOSED && v->by.event.decision.restart ? " restart" : "",
                (unsigned long long) v->by.event.epoch, phase_name(v->node.fsm.phase));
}

static void broken(const struct exploration *x, size_t at, const struct choice *c, const char *what)
{
    print_way(x, at);
    fail_msg("then +%llu s %s: %s", (unsigned long long) (c->after / USEC_PER_SEC),
             fsm_event_name(c->event.kind), what);
}

/* The model of the world */

static bool can_happen(const struct node *n, enum fsm_event_kind kind)
{
    const struct world *w = &n->world;

    switch (kind) {
    case FSM_START:
        return n->fsm.phase == PHASE_IDLE;
    case FSM_PREFLIGHT_PASSED:
    case FSM_PREFLIGHT_FAILED:
        return w->probing;
    case FSM_SPAWNED:
    case FSM_SPAWN_FAILED:
        return n->fsm.spawning;
    case FSM_PROGRESS:
        return w->probing || w->proving;
    /* Lines, and answers that were on their way when the machine asked for quiet. */
    case FSM_DECISIVE_LINE:
    case FSM_PORT_OPEN:
    case FSM_CANARY_SENT:
    case FSM_SUITE_PASSED:
    case FSM_SUITE_FAILED:
        return w->proving;
    case FSM_LIVE_PASSED:
    case FSM_LIVE_FAILED:
        return w->suite_passed;
    case FSM_EXITED:
        return w->main_lives;
    case FSM_EMPTY:
        return w->tree_lives;
    case FSM_DUMPED:
        return w->dumping;
    case FSM_DIAGNOSED:
        return n->fsm.collecting;
    case FSM_STOP:
    case FSM_RESTART:
    case FSM_PAUSE:
    case FSM_RESUME:
    case FSM_LIMITS:
    case FSM_TIMER:
        return true;
    case N_FSM_EVENTS:
        break;
    }
    return false;
}

static void begin_epoch(struct world *w)
{
    *w = (struct world){.stop_asked = w->stop_asked};
}

/* Whether the event is a failure for certain: an exit is none once the server is being ended. */
static bool is_failure(const struct fsm *before, enum fsm_event_kind kind)
{
    bool unasked = rules_starting(before) || rules_serving(before);

    return kind == FSM_PREFLIGHT_FAILED || kind == FSM_SPAWN_FAILED ||
           ((kind == FSM_EXITED || kind == FSM_EMPTY) && unasked) ||
           (kind == FSM_SUITE_FAILED && rules_starting(before) && !before->paused);
}

static void happen(struct world *w, const struct fsm *before, const struct fsm_event *e)
{
    w->probing &= e->kind != FSM_PREFLIGHT_PASSED && e->kind != FSM_PREFLIGHT_FAILED;
    w->dumping &= e->kind != FSM_DUMPED;
    w->main_lives &= e->kind != FSM_EXITED;
    w->tree_lives &= e->kind != FSM_EMPTY;
    w->main_lives |= e->kind == FSM_SPAWNED;
    w->tree_lives |= e->kind == FSM_SPAWNED;
    w->suite_passed |= e->kind == FSM_SUITE_PASSED && !fsm_final(before) && !before->paused;
    w->failure |= !fsm_final(before) && is_failure(before, e->kind);
    w->stop_asked |= e->kind == FSM_STOP;
    w->restart_asked |= e->kind == FSM_RESTART && before->phase > PHASE_PREFLIGHT;
    w->granted |= e->kind == FSM_DIAGNOSED && e->decision.restart;
}

static void obey(struct world *w, const struct fsm_step *s)
{
    w->probing |= rules_asked(s, FSM_ACTION_PREFLIGHT);
    w->probing &= !rules_asked(s, FSM_ACTION_CANCEL_PREFLIGHT);
    w->dumping |= rules_asked(s, FSM_ACTION_DUMP);
    w->proving |= rules_asked(s, FSM_ACTION_PROVE);
    w->collected |= rules_asked(s, FSM_ACTION_COLLECT);
    w->signalled |= rules_asked(s, FSM_ACTION_SIGNAL);
}

/* What the world knows better than the machine. `w` is the world as the event left it. */
static const char *judge_step(const struct exploration *x, const struct fsm *before,
                              const struct world *w, const struct fsm_step *s)
{
    bool begins = s->next.epoch != before->epoch;
    bool ends = begins || fsm_final(&s->next);

    if (rules_asked(s, FSM_ACTION_SPAWN) && (w->main_lives || w->tree_lives))
        return "a second server beside a living one";
    if (begins && before->phase != PHASE_IDLE && !w->granted && !w->restart_asked)
        return "a start that nobody granted or asked for";
    if (begins && w->stop_asked)
        return "a start after a stop";
    if (ends && before->phase != PHASE_IDLE && before->failed != w->collected)
        return "a failed epoch without its diagnosis, or a diagnosis without a failure";
    if (ends && w->failure && !w->collected)
        return "a failure that was never diagnosed";
    if (rules_asked(s, FSM_ACTION_COLLECT) && w->collected)
        return "a second diagnosis of one failure";
    if (rules_asked(s, FSM_ACTION_KILL) && !w->signalled && w->tree_lives && before->populated)
        return "killed without having been asked to stop";
    if (s->next.phase == PHASE_READY && !w->suite_passed && !begins)
        return "ready without a passed suite in this epoch";
    if (s->next.phase == PHASE_STOPPED && (w->main_lives || w->tree_lives))
        return "stopped, and a process lives";
    if (s->next.phase == PHASE_STOPPED && !w->stop_asked)
        return "stopped unasked";
    if (s->next.exit_code == EXIT_RESTART && (!w->granted || x->limits.mode != RESTART_EXIT))
        return "EXIT_RESTART where no restart is systemd's";
    if (s->next.alive != w->main_lives || s->next.populated != w->tree_lives)
        return "the machine and the world do not agree on what lives";
    return NULL;
}

/* Walking */

/* The event in all its kinds: whatever it carries. */
static size_t list_events(enum fsm_event_kind kind, uint64_t epoch, struct fsm_event events[3])
{
    for (size_t i = 0; i < 3; i++)
        events[i] = (struct fsm_event){.kind = kind, .epoch = epoch};
    events[0].decision = (struct fsm_decision){.exit_code = EXIT_UNMENDABLE};
    events[1].decision =
        (struct fsm_decision){.restart = true, .delay_usec = TICK, .exit_code = EXIT_RESTART};
    events[0].pause_usec = TICK;
    events[1].pause_usec = USEC_INFINITY;
    return kind == FSM_DIAGNOSED ? 3 : kind == FSM_PAUSE ? 2 : 1;
}

/* Now, and for timers later: a tick on (if nothing is due before) and when the next deadline is. */
static size_t list_moments(const struct fsm *f, enum fsm_event_kind kind, usec_t moments[2])
{
    usec_t due = fsm_deadline(f);
    size_t n = 0;

    if (kind != FSM_TIMER) {
        moments[n++] = 0;
        return n;
    }
    if (due != USEC_INFINITY)
        moments[n++] = due;
    if (due > TICK)
        moments[n++] = TICK;
    return n;
}

static size_t list_choices(const struct exploration *x, const struct node *n,
                           struct choice *choices)
{
    size_t n_choices = 0;
    struct fsm_event events[3];
    usec_t moments[2];

    for (enum fsm_event_kind kind = 0; kind < N_FSM_EVENTS; kind++) {
        size_t n_events = list_events(kind, n->fsm.epoch, events);
        size_t n_moments = list_moments(&n->fsm, kind, moments);

        if (!x->adversarial && !can_happen(n, kind))
            continue;
        for (size_t i = 0; i < n_events * n_moments; i++) {
            assert_true(n_choices < MAX_CHOICES);
            choices[n_choices++] = (struct choice){
                .event = events[i % n_events],
                .after = moments[i / n_events],
            };
        }
    }
    return n_choices;
}

static void take(struct exploration *x, size_t at, const struct choice *c)
{
    const struct node from = x->visits[at].node;
    struct fsm_step step = fsm_step(&from.fsm, &x->limits, &c->event, c->after);
    struct world world = from.world;
    struct node to;
    const char *what = rules_broken(&from.fsm, &x->limits, &c->event, &step);

    x->n_steps++;
    if (!what)
        what = rules_of_stopping(&step.next, &x->limits, c->after);
    happen(&world, &from.fsm, &c->event);
    if (!what && !x->adversarial && !fsm_final(&from.fsm))
        what = judge_step(x, &from.fsm, &world, &step);
    if (what)
        broken(x, at, c, what);
    if (step.next.epoch != from.fsm.epoch)
        begin_epoch(&world);
    obey(&world, &step);
    if (x->adversarial)
        world = (struct world){};
    to = canonical(&step.next, &world, c->after);
    add(x, &to, c, at);
}

/* News of another epoch, whatever they are, are no news. */
static void try_stale(struct exploration *x, size_t at)
{
    const struct fsm *f = &x->visits[at].node.fsm;

    for (enum fsm_event_kind kind = 0; kind < N_FSM_EVENTS; kind++) {
        struct choice c = {.event = {.kind = kind, .epoch = f->epoch + 1}};

        for (int i = 0; i < 2; i++, c.event.epoch = f->epoch - 1) {
            struct fsm_step step = fsm_step(f, &x->limits, &c.event, 0);
            const char *what = rules_broken(f, &x->limits, &c.event, &step);

            if (what)
                broken(x, at, &c, what);
        }
    }
}

static void explore(const struct fsm_limits *limits, bool adversarial)
{
    struct exploration x = {.limits = *limits, .adversarial = adversarial};
    struct fsm initial = fsm_initial();
    struct world nothing = {};
    struct node first = canonical(&initial, &nothing, 0);
    struct choice none = {};
    struct choice choices[MAX_CHOICES];
    bool seen[N_PHASES] = {};

    x.visits = malloc(MAX_STATES * sizeof(*x.visits));
    x.table = calloc(2 * MAX_STATES, sizeof(*x.table));
    assert_non_null(x.visits);
    assert_non_null(x.table);
    add(&x, &first, &none, 0);
    for (size_t at = 0; at < x.n_visits; at++) {
        size_t n = list_choices(&x, &x.visits[at].node, choices);

        seen[x.visits[at].node.fsm.phase] = true;
        try_stale(&x, at);
        for (size_t i = 0; i < n; i++)
            take(&x, at, &choices[i]);
    }
    print_message("%s: %zu states, %llu steps, closed\n", adversarial ? "any events" : "real world",
                  x.n_visits, (unsigned long long) x.n_steps);
    for (enum phase p = 0; p < N_PHASES; p++)
        assert_row(phase_name(p), seen[p] || (p == PHASE_PREFLIGHT && !limits->preflight) ||
                                      (p == PHASE_DEGRADED && limits->fall <= 1) ||
                                      (p == PHASE_COOLING && limits->mode == RESTART_EXIT));
    free(x.visits);
    free(x.table);
}

static const struct fsm_limits limits_table[] = {
    {
        .preflight = true,
        .mode = RESTART_IN_PLACE,
        .stall_usec = 4 * TICK,
        .load_timeout_usec = 8 * TICK,
        .dump_usec = 2 * TICK,
        .stop_usec = 2 * TICK,
        .stable_usec = 2 * TICK,
        .fall = 2,
        .rise = 2,
    },
    /* Everything at its least: no preflight, nothing tolerated, the restart left to systemd. */
    {
        .preflight = false,
        .mode = RESTART_EXIT,
        .stall_usec = TICK,
        .load_timeout_usec = USEC_INFINITY,
        .stop_usec = 0,
        .stable_usec = USEC_INFINITY,
        .fall = 1,
        .rise = 1,
    },
    {
        .preflight = true,
        .mode = RESTART_IN_PLACE,
        .stall_usec = USEC_INFINITY,
        .load_timeout_usec = 3 * TICK,
        .dump_usec = TICK,
        .stop_usec = TICK,
        .stable_usec = 0,
        .fall = 3,
        .rise = 1,
    },
};

static void test_real_world(void **state unused)
{
    for (size_t i = 0; i < ARRAY_SIZE(limits_table); i++)
        explore(&limits_table[i], false);
}

static void test_any_events(void **state unused)
{
    for (size_t i = 0; i < ARRAY_SIZE(limits_table); i++)
        explore(&limits_table[i], true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_world),
        cmocka_unit_test(test_any_events),
    };

    return cmocka_run_group_tests_name("fsm_explore", tests, NULL, NULL);
}
