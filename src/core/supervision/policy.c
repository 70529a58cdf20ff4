/* SPDX-License-Identifier: MIT */
#include "core/supervision/policy.h"

#include <errno.h>
#include <inttypes.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/supervision/backoff.h"

/* What has to come up outside needs at least that long. */
#define SLOW_FIRST_USEC USEC_PER_MINUTE

#define X(constant, name) [constant] = name,
static const char *const retry_names[] = {RETRIES(X)};
#undef X

/* Why a failure ends the way it does. */
enum ruling {
    RULING_NEVER,
    RULING_NOT_CLEANED, /* the clean-up has had its one restart */
    RULING_REPEATED,
    RULING_NO_BUDGET,
    RULING_RESTART,
};

/* One failure beside the past that it adds to. */
struct cause {
    const struct policy_failure *failure;
    const struct restart_config *limits;
    enum retry retry;
    uint64_t repeat;
    uint64_t equal;    /* times in a row that this fingerprint has come, this one included */
    uint64_t failures; /* in a row */
    size_t restarts;   /* granted within the window so far */
    uint64_t budget;
};

const char *retry_name(enum retry r)
{
    return retry_names[r];
}

int retry_parse(const char *s, enum retry *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(retry_names); i++) {
        if (str_equal(s, retry_names[i])) {
            *ret = (enum retry) i;
            return 0;
        }
    }
    return -EINVAL;
}

/* The words are those that the key table allows. */
static void change_retry(enum retry *r, const char *word)
{
    if (word && retry_parse(word, r) < 0)
        *r = RETRY_NEVER;
}

void class_policy_change(struct class_policy *p, const struct class_config *change)
{
    if (!change)
        return;
    change_retry(&p->retry, change->retry);
    change_retry(&p->retry_serving, change->retry_serving);
    if (change->repeat && parse_u64(change->repeat, &p->repeat) < 0)
        p->repeat = UINT64_MAX; /* infinity */
}

void policy_memory_release(struct policy_memory *m)
{
    free(m->last_fingerprint);
    free(m->restarts);
    *m = (struct policy_memory){};
}

void policy_settled(struct policy_memory *m)
{
    free(steal_pointer(&m->last_fingerprint));
    m->equal = 0;
    m->failures = 0;
}

void decision_release(struct decision *d)
{
    free(d->reason);
    *d = (struct decision){};
}

/* Restarts that have left the window no longer count. */
static void forget_old_restarts(struct policy_memory *m, usec_t window_usec, usec_t now)
{
    size_t old = 0;

    while (old < m->n_restarts && usec_sub(now, m->restarts[old]) >= window_usec)
        old++;
    if (old == 0)
        return;
    m->n_restarts -= old;
    memmove(m->restarts, m->restarts + old, m->n_restarts * sizeof(*m->restarts));
}

static struct cause look_at(const struct policy_memory *m, const struct restart_config *limits,
                            const struct policy_failure *failure)
{
    const struct class_policy *policy = &failure->policy;
    bool again = str_equal(m->last_fingerprint, failure->fingerprint);

    return (struct cause){
        .failure = failure,
        .limits = limits,
        .retry = failure->serving ? policy->retry_serving : policy->retry,
        .repeat = failure->serving ? policy->repeat_serving : policy->repeat,
        .equal = again ? m->equal + 1 : 1,
        .failures = m->failures + 1,
        .restarts = m->n_restarts,
        .budget = MIN(limits->budget, (uint64_t) POLICY_MAX_BUDGET),
    };
}

static enum ruling rule(const struct cause *c)
{
    uint64_t repetitions = c->equal - 1;

    if (c->retry == RETRY_NEVER)
        return RULING_NEVER;
    if (c->retry == RETRY_AFTER_CLEANUP && repetitions > 0)
        return RULING_NOT_CLEANED;
    if (repetitions > c->repeat)
        return RULING_REPEATED;
    return c->restarts < c->budget ? RULING_RESTART : RULING_NO_BUDGET;
}

static usec_t pause_before_restart(const struct cause *c, uint64_t random)
{
    usec_t first = c->limits->backoff_usec, max = c->limits->backoff_max_usec;

    if (c->retry == RETRY_SLOW) {
        first = MAX(first, SLOW_FIRST_USEC);
        max = MAX(first, max);
    }
    return backoff_next(first, max, c->failures, random);
}

static struct fsm_decision decide(const struct cause *c, enum ruling ruling, uint64_t random)
{
    switch (ruling) {
    case RULING_NEVER:
    case RULING_NOT_CLEANED:
    case RULING_REPEATED:
        break;
    case RULING_NO_BUDGET:
        return (struct fsm_decision){.exit_code = EXIT_BUDGET};
    case RULING_RESTART:
        return (struct fsm_decision){
            .restart = true,
            .delay_usec = pause_before_restart(c, random),
            .exit_code = EXIT_RESTART,
        };
    }
    return (struct fsm_decision){.exit_code = EXIT_UNMENDABLE};
}

/* " within 1 h"; nothing where the window has no end. */
static void name_window(struct strbuf *b, const struct restart_config *limits)
{
    char window[FORMAT_TIMESPAN_MAX];

    if (limits->budget_usec != USEC_INFINITY)
        strbuf_appendf(b, " within %s", format_timespan(window, limits->budget_usec));
}

static void say_restart(struct strbuf *b, const struct cause *c, usec_t delay_usec)
{
    char pause[FORMAT_TIMESPAN_MAX];

    strbuf_appendf(b, "restart %zu of %" PRIu64, c->restarts + 1, c->budget);
    name_window(b, c->limits);
    if (c->retry == RETRY_AFTER_CLEANUP)
        strbuf_append(b, ", the only one after a clean-up");
    else if (c->equal > 1)
        strbuf_appendf(b, ", though the same failure came %" PRIu64 " times in a row", c->equal);
    if (delay_usec == 0)
        strbuf_append(b, ", next start at once");
    else
        strbuf_appendf(b, ", next start in %s", format_timespan(pause, delay_usec));
}

static void say_no_budget(struct strbuf *b, const struct cause *c)
{
    if (c->budget == 0) {
        strbuf_append(b, "no restart is allowed (Budget=0)");
        return;
    }
    strbuf_appendf(b, "the budget of %" PRIu64 " restart%s", c->budget, c->budget == 1 ? "" : "s");
    name_window(b, c->limits);
    strbuf_append(b, " is used up");
}

/* "a JIT build lacks a header (jit_missing_header): ..." */
static void say_never(struct strbuf *b, const struct policy_failure *failure)
{
    if (str_empty(failure->class_text))
        strbuf_append(b, failure->class_name);
    else
        strbuf_appendf(b, "%s (%s)", failure->class_text, failure->class_name);
    strbuf_append(b, ": a restart of the same server cannot mend that");
}

static char *say(const struct cause *c, enum ruling ruling, usec_t delay_usec)
{
    _cleanup_strbuf_ struct strbuf b = {};

    switch (ruling) {
    case RULING_NEVER:
        say_never(&b, c->failure);
        break;
    case RULING_NOT_CLEANED:
        strbuf_appendf(&b, "a clean-up and a restart have not mended it (%s)",
                       c->failure->class_name);
        break;
    case RULING_REPEATED:
        strbuf_appendf(&b,
                       "the same failure came %" PRIu64
                       " times in a row (%s): another restart would end no better",
                       c->equal, c->failure->class_name);
        break;
    case RULING_NO_BUDGET:
        say_no_budget(&b, c);
        break;
    case RULING_RESTART:
        say_restart(&b, c, delay_usec);
        break;
    }
    return strbuf_steal(&b);
}

/* Makes room for one more restart. */
static int reserve_restart(struct policy_memory *m)
{
    usec_t *more = reallocarray(m->restarts, m->n_restarts + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    m->restarts = more;
    return 0;
}

int policy_decide(struct policy_memory *m, const struct restart_config *limits,
                  const struct policy_failure *failure, usec_t now, uint64_t random,
                  struct decision *ret)
{
    _cleanup_free_ char *reason = NULL;
    enum ruling ruling;
    struct fsm_decision what;
    struct cause cause;

    forget_old_restarts(m, limits->budget_usec, now);
    cause = look_at(m, limits, failure);
    ruling = rule(&cause);
    what = decide(&cause, ruling, random);
    reason = say(&cause, ruling, what.delay_usec);
    if (!reason || reserve_restart(m) < 0 ||
        str_replace(&m->last_fingerprint, failure->fingerprint) < 0)
        return -ENOMEM;
    m->equal = cause.equal;
    m->failures = cause.failures;
    if (what.restart)
        m->restarts[m->n_restarts++] = now;
    ret->what = what;
    ret->reason = steal_pointer(&reason);
    return 0;
}
