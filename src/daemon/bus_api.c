/* SPDX-License-Identifier: MIT */
#include "daemon/bus_api.h"

#include <errno.h>

#include "base/str.h"
#include "daemon/reload.h"
#include "daemon/supervisor.h"
#include "port/bus.h"

#define OBJECT_PATH "/org/coalmine1"
#define INTERFACE "org.coalmine1.Supervisor"
#define ERROR_PREFIX "org.coalmine1.Error."
#define RETRY_FIRST_USEC USEC_PER_SEC
#define RETRY_MAX_USEC USEC_PER_MINUTE

/* X(Name, type: s, t or b, value of `status`). One table for the vtable, the getters and the change signals. */
#define PROPERTIES(X)                                                      \
    X(Instance, s, status->instance)                                       \
    X(Unit, s, status->unit)                                               \
    X(Profile, s, status->profile)                                         \
    X(URL, s, status->url)                                                 \
    X(State, s, unit_state_name(status->state))                            \
    X(Phase, s, phase_name(status->phase))                                 \
    X(Step, s, status->step)                                               \
    X(Reason, s, status->reason)                                           \
    X(Epoch, t, status->epoch)                                             \
    X(Attempt, t, status->attempt)                                         \
    X(ServerPID, t, (uint64_t) status->server_pid)                         \
    X(PhaseSince, t, status->phase_since)                                  \
    X(Started, t, status->started)                                         \
    X(StartExpected, t, status->eta.start_usec)                            \
    X(StepExpected, t, status->eta.step_usec)                              \
    X(ReadySince, t, status->ready_since)                                  \
    X(NextStart, t, status->next_start)                                    \
    X(Paused, b, status->paused)                                           \
    X(PausedUntil, t, status->paused_until)                                \
    X(Restarts, t, status->restarts)                                       \
    X(RestartBudget, t, status->budget)                                    \
    X(CanaryUnderWay, s, status->canary)                                   \
    X(LastCanary, s, status->proof.canary)                                 \
    X(LastVerdict, s, verdict_name(status->proof.verdict))                 \
    X(LastVerdictDetail, s, status->proof.detail)                          \
    X(LastVerdictTime, t, status->proof.ended_realtime)                    \
    X(LastFailure, s, status->failure->summary)                            \
    X(LastFailureClass, s, status->failure->class_name)                    \
    X(LastFailureHint, s, status->failure->hint)                           \
    X(LastFailureDecision, s, status->failure->decision)                   \
    X(LastFailureReport, s, status->failure->report)                       \
    X(LastFailureTime, t, status->failure->realtime)

#define X(name, type, value) PROPERTY_##name,
enum property { PROPERTIES(X) N_PROPERTIES };
#undef X

struct bus_api {
    struct supervisor *supervisor;
    struct bus *bus; /* NULL while there is none */
    sd_bus_slot *vtable_slot;
    sd_bus_slot *name_slot;
    sd_bus_message *asked; /* RunCanary's call, answered when the canary has ended */
    struct loop_timer *retry;
    usec_t retry_usec;
    uint64_t seen[N_PROPERTIES]; /* hashes of the values last told */
};

/* Properties */

struct value {
    char type;
    const char *s;
    uint64_t t;
};

static void set_s(struct value *v, const char *s)
{
    *v = (struct value){ .type = 's', .s = str_or_empty(s) };
}

static void set_t(struct value *v, uint64_t t)
{
    *v = (struct value){ .type = 't', .t = t };
}

static void set_b(struct value *v, bool b)
{
    *v = (struct value){ .type = 'b', .t = b };
}

static struct value property_value(enum property p, const struct status *status)
{
    struct value v = {};

    switch (p) {
#define X(name, type, value)       \
    case PROPERTY_##name:          \
        set_##type(&v, value);     \
        break;
        PROPERTIES(X)
#undef X
    case N_PROPERTIES:
        break;
    }
    return v;
}

static const char *const property_names[] = {
#define X(name, type, value) [PROPERTY_##name] = #name,
    PROPERTIES(X)
#undef X
};

static int append_value(sd_bus_message *reply, const struct value *v)
{
    int b = v->t != 0; /* a D-Bus boolean is an int (sd_bus_message_append_basic(3)) */

    switch (v->type) {
    case 's':
        return sd_bus_message_append_basic(reply, 's', v->s);
    case 'b':
        return sd_bus_message_append_basic(reply, 'b', &b);
    default:
        return sd_bus_message_append_basic(reply, 't', &v->t);
    }
}

static int get_property(sd_bus *bus unused, const char *path unused, const char *interface unused,
                        const char *property, sd_bus_message *reply, void *userdata,
                        sd_bus_error *error unused)
{
    struct bus_api *b = userdata;
    struct status status = supervisor_status(b->supervisor);

    for (enum property p = 0; p < N_PROPERTIES; p++) {
        struct value v;

        if (!str_equal(property_names[p], property))
            continue;
        v = property_value(p, &status);
        return append_value(reply, &v);
    }
    return -ENOENT;
}

/* FNV-1a: enough to see that a value has changed. */
static uint64_t hash_value(const struct value *v)
{
    const unsigned char *at = v->type == 's' ? (const unsigned char *) v->s : (const unsigned char *) &v->t;
    size_t n = v->type == 's' ? strlen(v->s) : sizeof v->t;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Methods */

static int on_get_status(sd_bus_message *m, void *userdata, sd_bus_error *error unused)
{
    struct bus_api *b = userdata;
    struct status status = supervisor_status(b->supervisor);
    _cleanup_free_ char *text = NULL;
    json_t *json = NULL;
    int r = status_json(&status, &json);

    if (r < 0)
        return r;
    text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text ? sd_bus_reply_method_return(m, "s", text) : -ENOMEM;
}

static int on_restart(sd_bus_message *m, void *userdata, sd_bus_error *error unused)
{
    struct bus_api *b = userdata;

    supervisor_request(b->supervisor, FSM_RESTART, 0);
    return sd_bus_reply_method_return(m, NULL);
}

static int on_pause(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct bus_api *b = userdata;
    uint64_t duration;
    int r = sd_bus_message_read(m, "t", &duration);

    if (r < 0)
        return r;
    if (b->supervisor->fsm.request == FSM_REQUEST_STOP)
        return sd_bus_error_set(error, ERROR_PREFIX "Stopping", "It is stopping: there is nothing to pause");
    supervisor_request(b->supervisor, FSM_PAUSE, duration == 0 ? USEC_INFINITY : duration);
    return sd_bus_reply_method_return(m, NULL);
}

static int on_resume(sd_bus_message *m, void *userdata, sd_bus_error *error unused)
{
    struct bus_api *b = userdata;

    supervisor_request(b->supervisor, FSM_RESUME, 0);
    return sd_bus_reply_method_return(m, NULL);
}

static int on_reload(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct bus_api *b = userdata;
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    _cleanup_strv_ char **errors = NULL;
    _cleanup_free_ char *text = NULL;
    int r = reload(b->supervisor, &errors);

    if (r == -EINVAL) {
        text = strv_join(errors, "\n");
        return sd_bus_error_set(error, ERROR_PREFIX "InvalidConfiguration", str_or_empty(text));
    }
    if (r >= 0)
        r = sd_bus_message_new_method_return(m, &reply);
    if (r >= 0)
        r = sd_bus_message_append_strv(reply, b->supervisor->epoch.pending);
    return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static void on_proof(const struct proof *proof, void *userdata)
{
    struct bus_api *b = userdata;
    sd_bus_message *m = steal_pointer(&b->asked);

    if (!m)
        return;
    (void) sd_bus_reply_method_return(m, "sstts", str_or_empty(proof->canary), verdict_name(proof->verdict),
                                      proof->tokens, proof->total_usec, str_or_empty(proof->detail));
    sd_bus_message_unref(m);
    bus_flush(b->bus);
}

static int on_run_canary(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct bus_api *b = userdata;
    int r = prover_ask(b->supervisor->prover, on_proof, b);

    if (r == -EAGAIN && b->supervisor->fsm.paused)
        return sd_bus_error_set(error, ERROR_PREFIX "Paused", "It is paused: resume it first");
    if (r == -EAGAIN)
        return sd_bus_error_set(error, ERROR_PREFIX "NotServing",
                                "The server is not serving: there is nothing to send a canary to");
    if (r == -EBUSY)
        return sd_bus_error_set(error, ERROR_PREFIX "Busy", "A canary has been asked for already");
    if (r < 0)
        return r;
    b->asked = sd_bus_message_ref(m);
    return 1;
}

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
#define X(name, type, value) SD_BUS_PROPERTY(#name, #type, get_property, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    PROPERTIES(X)
#undef X
    SD_BUS_METHOD_WITH_NAMES("GetStatus", NULL, , "s", SD_BUS_PARAM(json), on_get_status,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Restart", NULL, NULL, on_restart, 0),
    SD_BUS_METHOD_WITH_NAMES("Reload", NULL, , "as", SD_BUS_PARAM(pending), on_reload, 0),
    SD_BUS_METHOD_WITH_NAMES("Pause", "t", SD_BUS_PARAM(duration_usec), NULL, , on_pause, 0),
    SD_BUS_METHOD("Resume", NULL, NULL, on_resume, 0),
    SD_BUS_METHOD_WITH_NAMES("RunCanary", NULL, , "sstts",
                             SD_BUS_PARAM(canary) SD_BUS_PARAM(verdict) SD_BUS_PARAM(tokens)
                                 SD_BUS_PARAM(duration_usec) SD_BUS_PARAM(detail),
                             on_run_canary, 0),
    SD_BUS_VTABLE_END,
};

/* The connection */

static void disconnect(struct bus_api *b)
{
    b->asked = sd_bus_message_unref(b->asked);
    b->vtable_slot = sd_bus_slot_unref(b->vtable_slot);
    b->name_slot = sd_bus_slot_unref(b->name_slot);
    bus_free(b->bus);
    b->bus = NULL;
}

static void retry_later(struct bus_api *b)
{
    disconnect(b);
    loop_timer_set(b->retry, usec_add(loop_now().monotonic, b->retry_usec));
    b->retry_usec = MIN(b->retry_usec * 2, RETRY_MAX_USEC);
}

static void on_lost(int error, void *userdata)
{
    struct bus_api *b = userdata;

    if (b->retry_usec == RETRY_FIRST_USEC)
        log_say(b->supervisor->log, LOG_NOTICE, "No message bus (%s): going on without, trying again",
                strerror(-error));
    retry_later(b);
}

static int on_name(sd_bus_message *m, void *userdata, sd_bus_error *error unused)
{
    struct bus_api *b = userdata;

    b->retry_usec = RETRY_FIRST_USEC;
    if (sd_bus_message_is_method_error(m, NULL))
        log_say(b->supervisor->log, LOG_WARNING, "The bus does not give us our name: %s",
                str_or_empty(sd_bus_message_get_error(m)->message));
    return 0;
}

static int export(struct bus_api *b)
{
    _cleanup_free_ char *name = bus_name_of(b->supervisor->identity->instance);
    int r;

    if (!name)
        return -ENOMEM;
    r = sd_bus_add_object_vtable(bus_get(b->bus), &b->vtable_slot, OBJECT_PATH, INTERFACE, vtable, b);
    if (r >= 0)
        r = sd_bus_request_name_async(bus_get(b->bus), &b->name_slot, name, 0, on_name, b);
    return r < 0 ? r : 0;
}

static void connect_bus(void *userdata)
{
    struct bus_api *b = userdata;
    int r = bus_open(b->supervisor->loop, b->supervisor->identity->user, on_lost, b, &b->bus);

    if (r == 0)
        r = export(b);
    if (r < 0)
        on_lost(r, b);
    else
        bus_flush(b->bus);
}

int bus_api_new(struct supervisor *s, struct bus_api **ret)
{
    _cleanup_(bus_api_freep) struct bus_api *b = calloc(1, sizeof *b);
    int r;

    if (!b)
        return -ENOMEM;
    b->supervisor = s;
    b->retry_usec = RETRY_FIRST_USEC;
    r = loop_timer_new(s->loop, connect_bus, b, &b->retry);
    if (r < 0)
        return r;
    loop_timer_set(b->retry, 0);
    *ret = steal_pointer(&b);
    return 0;
}

void bus_api_update(struct bus_api *b)
{
    struct status status = supervisor_status(b->supervisor);
    _cleanup_strv_ char **changed = NULL;

    for (enum property p = 0; p < N_PROPERTIES; p++) {
        struct value v = property_value(p, &status);
        uint64_t hash = hash_value(&v);

        if (b->seen[p] == hash || strv_push(&changed, property_names[p]) < 0)
            continue;
        b->seen[p] = hash;
    }
    if (!b->bus || !changed)
        return;
    (void) sd_bus_emit_properties_changed_strv(bus_get(b->bus), OBJECT_PATH, INTERFACE, changed);
    bus_flush(b->bus);
}

void bus_api_free(struct bus_api *b)
{
    if (!b)
        return;
    disconnect(b);
    loop_timer_free(b->retry);
    free(b);
}
