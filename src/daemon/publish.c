/* SPDX-License-Identifier: MIT */
#include "daemon/publish.h"

#include <errno.h>
#include <inttypes.h>

#include "base/str.h"
#include "daemon/bus_api.h"
#include "daemon/health_http.h"
#include "daemon/supervisor.h"
#include "port/lock.h"
#include "port/notify.h"
#include "port/store.h"

#define STATUS_NAME "status.json"
#define LOCK_NAME "lock"
/* How far ahead systemd's time-outs are moved, and how often: a supervisor that is stuck is found out in
 * EXTEND_USEC, and the elapsed seconds in STATUS= stay believable. */
#define EXTEND_USEC (30 * USEC_PER_SEC)
#define TICK_USEC (5 * USEC_PER_SEC)
/* systemd (262) does not hear RELOADING=1 while it runs ExecReload=, which calls us and ends a moment after our
 * answer: so often, and so many times, it is told again then. */
#define AGAIN_USEC (200 * USEC_PER_MSEC)
#define AGAIN_TIMES 10
/* The minutes that a pause has left. */
#define PAUSE_TICK_USEC USEC_PER_MINUTE

struct publisher {
    struct supervisor *supervisor;
    struct bus_api *bus;
    struct health_http *http; /* NULL: off */
    struct loop_timer *tick;
    struct loop_timer *watchdog;
    usec_t watchdog_usec; /* half of what systemd allows; 0: off */
    int runtime_fd;
    int lock_fd;
    enum unit_state told;  /* what systemd believes */
    unsigned again;        /* ticks that come sooner */
    char *status_text;     /* last STATUS= */
    char *status_json;     /* last status.json */
};

static void on_watchdog(void *userdata)
{
    struct publisher *p = userdata;

    (void) notify_send("WATCHDOG=1");
    loop_timer_set(p->watchdog, usec_add(loop_now().monotonic, p->watchdog_usec));
}

/* While the unit is on its way somewhere systemd counts the time, and people watch it. */
static bool under_way(const struct status *s)
{
    return s->state != UNIT_ACTIVE && s->state != UNIT_INACTIVE && s->state != UNIT_FAILED;
}

/* The assignment that a change of the unit's state needs (sd_notify(3)). */
static void append_change(struct strbuf *b, const struct publisher *p, const struct status *s)
{
    if (s->state == p->told && s->state != UNIT_RELOADING)
        return;
    switch (s->state) {
    case UNIT_ACTIVE:
        strbuf_append(b, "READY=1\n");
        break;
    case UNIT_RELOADING:
        strbuf_appendf(b, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n", s->now.monotonic);
        break;
    case UNIT_DEACTIVATING:
    case UNIT_INACTIVE:
    case UNIT_FAILED:
        if (p->told != UNIT_DEACTIVATING)
            strbuf_append(b, "STOPPING=1\n");
        break;
    case UNIT_ACTIVATING:
    case N_UNIT_STATES:
        break;
    }
}

static void tell_systemd(struct publisher *p, const struct status *s)
{
    _cleanup_strbuf_ struct strbuf b = {};
    _cleanup_free_ char *text = status_line(s);

    append_change(&b, p, s);
    if (text && !str_equal(text, p->status_text))
        strbuf_appendf(&b, "STATUS=%s\n", text);
    if (under_way(s))
        strbuf_appendf(&b, "EXTEND_TIMEOUT_USEC=%" PRIu64 "\n", EXTEND_USEC);
    if (b.len > 0 && !b.failed)
        (void) notify_send("%s", b.data);
    p->told = s->state;
    free(p->status_text);
    p->status_text = steal_pointer(&text);
}

static void write_status(struct publisher *p, const struct status *s)
{
    _cleanup_free_ char *text = NULL;
    json_t *json = NULL;

    if (p->runtime_fd < 0 || status_json(s, &json) < 0)
        return;
    text = json_dumps(json, JSON_INDENT(2));
    json_decref(json);
    if (!text || str_equal(text, p->status_json))
        return;
    /* When it cannot be written it is tried again with the next change. */
    if (store_write(p->runtime_fd, STATUS_NAME, text, strlen(text), 0) < 0)
        return;
    free(p->status_json);
    p->status_json = steal_pointer(&text);
}

static usec_t tick_of(const struct publisher *p, const struct status *s)
{
    if (under_way(s))
        return p->again > 0 ? AGAIN_USEC : TICK_USEC;
    return s->paused && s->pause_left != USEC_INFINITY ? PAUSE_TICK_USEC : USEC_INFINITY;
}

void publisher_update(struct publisher *p)
{
    struct status s = supervisor_status(p->supervisor);

    tell_systemd(p, &s);
    write_status(p, &s);
    bus_api_update(p->bus);
    loop_timer_set(p->tick, usec_add(s.now.monotonic, tick_of(p, &s)));
}

static void on_tick(void *userdata)
{
    struct publisher *p = userdata;

    p->again -= p->again > 0;
    publisher_update(p);
}

void publisher_reloaded(struct publisher *p)
{
    p->again = AGAIN_TIMES;
    publisher_update(p);
}

/* Without the directory everything but the status file and the lock works. */
static int open_runtime(struct publisher *p)
{
    const struct supervisor *s = p->supervisor;
    _cleanup_free_ char *path = str_format("%s/%s", s->paths->runtime, s->identity->instance);

    if (!path)
        return -ENOMEM;
    p->runtime_fd = store_open_dir(path);
    if (p->runtime_fd < 0) {
        log_say(s->log, LOG_WARNING, "No status file, %s cannot be used: %s", path, strerror(-p->runtime_fd));
        return 0;
    }
    p->lock_fd = lock_take(p->runtime_fd, LOCK_NAME);
    return p->lock_fd == -EWOULDBLOCK ? -EBUSY : 0;
}

int publisher_new(struct supervisor *s, struct publisher **ret)
{
    _cleanup_(publisher_freep) struct publisher *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    p->supervisor = s;
    p->told = UNIT_ACTIVATING;
    p->watchdog_usec = notify_watchdog_usec() / 2;
    p->runtime_fd = p->lock_fd = -1;
    r = open_runtime(p);
    if (r == 0)
        r = loop_timer_new(s->loop, on_tick, p, &p->tick);
    if (r == 0)
        r = loop_timer_new(s->loop, on_watchdog, p, &p->watchdog);
    if (r == 0)
        r = bus_api_new(s, &p->bus);
    if (r == 0)
        r = health_http_new(s, &p->http);
    if (r < 0)
        return r;
    if (p->watchdog_usec > 0)
        loop_timer_set(p->watchdog, 0);
    *ret = steal_pointer(&p);
    return 0;
}

void publisher_listen(struct publisher *p)
{
    int r;

    health_http_free(p->http);
    p->http = NULL;
    r = health_http_new(p->supervisor, &p->http);
    if (r < 0)
        log_say(p->supervisor->log, LOG_ERR, "No readiness and metrics: %s", strerror(-r));
}

void publisher_free(struct publisher *p)
{
    if (!p)
        return;
    health_http_free(p->http);
    bus_api_free(p->bus);
    loop_timer_free(p->tick);
    loop_timer_free(p->watchdog);
    (void) close_fd(p->runtime_fd);
    (void) close_fd(p->lock_fd);
    free(p->status_text);
    free(p->status_json);
    free(p);
}
