/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/circumstance.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/parse.h"
#include "base/str.h"

#define X(constant, name, ...) name,
static const char *const ending_names[] = {ENDINGS(X)};
#undef X

const char *ending_name(enum ending e)
{
    return ending_names[e];
}

static struct circumstance judge_verdict(enum verdict v)
{
    switch (v) {
    case VERDICT_NONE:
        return (struct circumstance){WEIGHT_FACT, "cfg_canary"};
    case VERDICT_GENERATED:
    case VERDICT_REFUSED:
    case VERDICT_TIMEOUT:
    case VERDICT_FIRST_TOKEN_TIMEOUT:
    case VERDICT_BUSY:
    case VERDICT_NOT_READY:
        return (struct circumstance){WEIGHT_CRASHED, "engine_hang"};
    case VERDICT_RESET:
        return (struct circumstance){WEIGHT_ENDED, "engine_died"};
    case VERDICT_HTTP_4XX:
        return (struct circumstance){WEIGHT_FACT, "cfg_request_rejected"};
    case VERDICT_HTTP_5XX:
        return (struct circumstance){WEIGHT_ANSWERED, "engine_bug"};
    case VERDICT_AUTH_REQUIRED:
        return (struct circumstance){WEIGHT_FACT, "cfg_auth_required"};
    case VERDICT_WRONG_MODEL:
        return (struct circumstance){WEIGHT_FACT, "cfg_wrong_model"};
    case VERDICT_SLOW:
        return (struct circumstance){WEIGHT_ANSWERED, "engine_slow"};
    case VERDICT_NO_TOKENS:
    case VERDICT_DEGENERATE:
    case VERDICT_BAD_JSON:
    case VERDICT_TOO_LARGE:
        return (struct circumstance){WEIGHT_ANSWERED, "engine_bad_answer"};
    case VERDICT_FOREIGN_LISTENER:
        return (struct circumstance){WEIGHT_KILLED, "port_in_use"};
    case VERDICT_TLS:
        return (struct circumstance){WEIGHT_FACT, "cfg_tls"};
    case N_VERDICTS:
        break;
    }
    return (struct circumstance){WEIGHT_ENDED, "unknown"};
}

/* Errors of execve(2) and clone(2) that another moment may not have: of the machine, not of the command. */
static bool passing(int error)
{
    static const int errors[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, EINTR, EIO, ENOSPC, EBUSY};

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        if (error == errors[i])
            return true;
    }
    return false;
}

static struct circumstance judge_signal(int signo)
{
    static const int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

    for (size_t i = 0; i < ARRAY_SIZE(crashes); i++) {
        if (signo == crashes[i])
            return (struct circumstance){WEIGHT_CRASHED, "native_crash"};
    }
    return (struct circumstance){WEIGHT_ENDED, "engine_died"};
}

static struct circumstance judge_ending(const struct circumstances *c)
{
    switch (c->ending) {
    case ENDING_NONE:
        return (struct circumstance){WEIGHT_NOTHING, "unknown"};
    case ENDING_EXIT:
        return (struct circumstance){WEIGHT_ENDED, "engine_died"};
    case ENDING_SIGNAL:
        return judge_signal(c->status);
    case ENDING_SPAWN_FAILED:
        return (struct circumstance){WEIGHT_FACT, passing(c->status) ? "host_no_room" : "cfg_bad_command"};
    case ENDING_STALLED:
        return (struct circumstance){WEIGHT_CRASHED, "engine_hang"};
    case ENDING_CANARY:
        return judge_verdict(c->verdict);
    case ENDING_PREFLIGHT:
        return (struct circumstance){WEIGHT_ENDED, "preflight_failed"};
    case ENDING_UNKILLABLE:
        return (struct circumstance){WEIGHT_CRASHED, "unkillable"};
    case ENDING_SUPERVISOR_DIED:
        return (struct circumstance){WEIGHT_ENDED, "supervisor_died"};
    case N_ENDINGS:
        break;
    }
    return (struct circumstance){WEIGHT_ENDED, "unknown"};
}

struct circumstance circumstance_judge(const struct circumstances *c)
{
    struct circumstance ending = judge_ending(c);

    if (c->ending == ENDING_NONE || ending.weight == WEIGHT_FACT)
        return ending;
    if (c->foreign_owner)
        return (struct circumstance){WEIGHT_KILLED, "port_in_use"};
    if (c->oom_kills > 0)
        return (struct circumstance){WEIGHT_KILLED, "host_oom_kill"};
    return ending;
}

bool circumstance_is_hang(const struct circumstances *c)
{
    return str_equal(circumstance_judge(c).class_name, "engine_hang");
}

static void describe_signal(struct strbuf *b, const struct circumstances *c)
{
    const char *name = signal_name(c->status);

    if (name)
        strbuf_appendf(b, "killed by %s", name);
    else
        strbuf_appendf(b, "killed by signal %d", c->status);
    if (c->core_dumped)
        strbuf_append(b, ", core dumped");
}

static void describe_ending(struct strbuf *b, const struct circumstances *c)
{
    switch (c->ending) {
    case ENDING_NONE:
    case N_ENDINGS:
        break;
    case ENDING_EXIT:
        strbuf_appendf(b, "exited with code %d%s", c->status,
                       c->status == 0 ? " although nobody asked it to" : "");
        break;
    case ENDING_SIGNAL:
        describe_signal(b, c);
        break;
    case ENDING_SPAWN_FAILED:
        strbuf_appendf(b, "%s could not be started: %s", c->subject ? c->subject : "the command",
                       strerrordesc_np(c->status) ?: "unknown error");
        break;
    case ENDING_STALLED:
        strbuf_append(b, "made no progress any more");
        break;
    case ENDING_CANARY:
        strbuf_appendf(b, "failed its canary%s%s: %s", c->canary ? " " : "", str_or_empty(c->canary),
                       verdict_text(c->verdict));
        if (!str_empty(c->verdict_detail))
            strbuf_appendf(b, " (%s)", c->verdict_detail);
        break;
    case ENDING_PREFLIGHT:
        strbuf_appendf(b, "a check before the start failed with code %d", c->status);
        break;
    case ENDING_UNKILLABLE:
        strbuf_append(b, "processes survived SIGKILL");
        if (!str_empty(c->stuck))
            strbuf_appendf(b, ": %s", c->stuck);
        break;
    case ENDING_SUPERVISOR_DIED:
        strbuf_append(b, "its supervisor was killed");
        break;
    }
}

/* "" where the ending says it already. */
static const char *when(enum phase p)
{
    switch (p) {
    case PHASE_LOADING:
        return ", while loading";
    case PHASE_LISTENING:
        return ", with its port open, before it generated anything";
    case PHASE_PROVING:
        return ", during its first canaries";
    case PHASE_READY:
        return ", while serving";
    case PHASE_DEGRADED:
        return ", while failing its live canary";
    case PHASE_IDLE:
    case PHASE_PREFLIGHT:
    case PHASE_STOPPING:
    case PHASE_COOLING:
    case PHASE_STOPPED:
    case PHASE_FAILED:
    case N_PHASES:
        break;
    }
    return "";
}

char *circumstance_describe(const struct circumstances *c)
{
    struct strbuf b = {};

    describe_ending(&b, c);
    if (c->ending != ENDING_NONE && c->ending != ENDING_SPAWN_FAILED && c->ending != ENDING_PREFLIGHT)
        strbuf_append(&b, when(c->phase));
    if (c->ending != ENDING_NONE && c->oom_kills > 0)
        strbuf_appendf(&b, "; the kernel killed %" PRIu64 " of its processes for memory", c->oom_kills);
    if (c->ending != ENDING_NONE && c->foreign_owner)
        strbuf_appendf(&b, "; %s owns the port", c->foreign_owner);
    return strbuf_steal(&b);
}
