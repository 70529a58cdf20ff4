/* SPDX-License-Identifier: MIT */
#include "daemon/torn.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/str.h"
#include "daemon/reporter.h"
#include "daemon/supervisor.h"
#include "port/store.h"

#define MARK_NAME "epoch.json"
#define MARK_MAX_BYTES ((size_t) 64 * 1024)
#define LATEST_REPORT "reports/latest.json"
#define REPORT_MAX_BYTES ((size_t) 16 * 1024 * 1024)

/* Realtimes as numbers: they are compared, not read. */
static json_t *mark_of(const struct supervisor *s)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:b, s:o*}",
                     "epoch", (json_int_t) s->fsm.epoch,
                     "attempt", (json_int_t) s->fsm.attempt,
                     "started", (json_int_t) s->epoch.started.realtime,
                     "pid", (json_int_t) child_pid(s->epoch.child),
                     "served", (int) s->epoch.served,
                     "history", chronicle_epoch(s));
}

void torn_mark(struct supervisor *s)
{
    json_t *mark = mark_of(s);
    _cleanup_free_ char *text = mark ? json_dumps(mark, JSON_COMPACT) : NULL;
    int r = -ENOMEM;

    json_decref(mark);
    if (s->state_fd < 0)
        return;
    if (text)
        r = store_write(s->state_fd, MARK_NAME, text, strlen(text), 0);
    if (r < 0)
        log_say(s->log, LOG_WARNING, "If coalmined dies, this epoch will not be reported: %s", strerror(-r));
}

void torn_clear(struct supervisor *s)
{
    if (s->state_fd >= 0)
        (void) unlinkat(s->state_fd, MARK_NAME, 0);
}

static json_t *read_json(int dir_fd, const char *name, size_t max_bytes)
{
    _cleanup_free_ char *text = NULL;
    size_t len;

    if (store_read(dir_fd, name, max_bytes, &text, &len) < 0)
        return NULL;
    return json_loadb(text, len, 0, NULL);
}

static uint64_t number(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));

    return n > 0 ? (uint64_t) n : 0;
}

/* The supervisor may have died between writing the report and taking the mark away. */
static bool reported(const struct supervisor *s, const json_t *mark)
{
    char started[FORMAT_TIMESTAMP_MAX];
    json_t *latest = read_json(s->state_fd, LATEST_REPORT, REPORT_MAX_BYTES);
    const char *told = json_string_value(json_object_get(latest, "started"));
    bool same = told && str_equal(told, format_timestamp(started, number(mark, "started")));

    json_decref(latest);
    return same;
}

static int diagnose(struct supervisor *s, const struct circumstances *c, struct root_cause *ret)
{
    _cleanup_(evidence_freep) struct evidence *nothing = NULL;
    int r = evidence_new(s->catalog, &nothing);

    return r < 0 ? r : evidence_root_cause(nothing, c, ret);
}

static void report(struct supervisor *s, const json_t *mark)
{
    struct circumstances circumstances = {
        .ending = ENDING_SUPERVISOR_DIED,
        .serving = json_is_true(json_object_get(mark, "served")),
        .phase = json_is_true(json_object_get(mark, "served")) ? PHASE_READY : PHASE_LOADING,
    };
    struct decision decision = {
        .what.restart = true,
        .reason = strdup("coalmined has been started again, and starts the server anew"),
    };
    struct instant now = loop_now();
    usec_t lived = usec_sub(now.realtime, number(mark, "started"));
    struct root_cause cause = {};
    struct report_facts facts = {
        .epoch = number(mark, "epoch"),
        .attempt = number(mark, "attempt"),
        .started = { .realtime = number(mark, "started"), .monotonic = usec_sub(now.monotonic, lived) },
        .ended = now,
        .command = s->config->server.command,
        .circumstances = &circumstances,
        .cause = &cause,
        .decision = &decision,
    };
    int r = diagnose(s, &circumstances, &cause);

    chronicle_torn(s, json_object_get(mark, "history"), now.realtime);
    if (r == 0)
        reporter_report(s, &facts);
    else
        log_say(s->log, LOG_ERR, "An earlier coalmined died in epoch %" PRIu64 " and was not reported: %s",
                facts.epoch, strerror(-r));
    root_cause_release(&cause);
    decision_release(&decision);
}

void torn_report(struct supervisor *s)
{
    json_t *mark = s->state_fd >= 0 ? read_json(s->state_fd, MARK_NAME, MARK_MAX_BYTES) : NULL;

    if (mark && !reported(s, mark))
        report(s, mark);
    json_decref(mark);
    torn_clear(s);
}
