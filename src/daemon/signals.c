/* SPDX-License-Identifier: MIT */
#include "daemon/signals.h"

#include <errno.h>
#include <signal.h>

#include "base/parse.h"
#include "base/str.h"
#include "daemon/reload.h"
#include "daemon/supervisor.h"

static void on_stop(const struct signalfd_siginfo *info, void *userdata)
{
    struct supervisor *s = userdata;

    log_say(s->log, LOG_INFO, "Got %s from PID %u: stopping", signal_name((int) info->ssi_signo), info->ssi_pid);
    supervisor_post(s, FSM_STOP);
}

/* An engine's workers signal the parent that they had, which we become when it dies. */
static void on_servers(const struct signalfd_siginfo *info, void *userdata)
{
    struct supervisor *s = userdata;
    const char *name = signal_name((int) info->ssi_signo);

    if (!s->fsm.alive || !s->epoch.child) {
        log_say(s->log, LOG_INFO, "Got %s from PID %u: there is no server to pass it on to", name, info->ssi_pid);
        return;
    }
    log_say(s->log, LOG_INFO, "Got %s from PID %u: passed on to the server", name, info->ssi_pid);
    (void) child_signal(s->epoch.child, (int) info->ssi_signo);
}

/* From the kernel it means that our terminal is gone. */
static void on_hangup(const struct signalfd_siginfo *info, void *userdata)
{
    _cleanup_strv_ char **errors = NULL;

    if (info->ssi_code == SI_KERNEL)
        on_stop(info, userdata);
    else
        (void) reload(userdata, &errors);
}

static const struct {
    int signo;
    loop_signal_fn fn;
} handlers[] = {
    { SIGTERM, on_stop },
    { SIGINT, on_stop },
    { SIGHUP, on_hangup },
    { SIGQUIT, on_servers },
    { SIGUSR1, on_servers },
    { SIGUSR2, on_servers },
};

struct signals {
    struct loop_signal *watchers[ARRAY_SIZE(handlers)];
};

void signals_prepare(void)
{
    sigset_t set;

    (void) sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
        (void) sigaddset(&set, handlers[i].signo);
    (void) sigprocmask(SIG_BLOCK, &set, NULL);
    /* Both come back as errors of the call as well, which is how they are dealt with. */
    (void) signal(SIGPIPE, SIG_IGN);
    (void) signal(SIGXFSZ, SIG_IGN);
}

int signals_new(struct supervisor *s, struct signals **ret)
{
    _cleanup_(signals_freep) struct signals *signals = calloc(1, sizeof *signals);

    if (!signals)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
        int r = loop_signal_new(s->loop, handlers[i].signo, handlers[i].fn, s, &signals->watchers[i]);

        if (r < 0)
            return r;
    }
    *ret = steal_pointer(&signals);
    return 0;
}

void signals_free(struct signals *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
        loop_signal_free(s->watchers[i]);
    free(s);
}
