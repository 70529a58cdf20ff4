/* SPDX-License-Identifier: MIT */
#include "port/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <systemd/sd-daemon.h>

#include "base/str.h"

bool notify_wanted(void)
{
    return !str_empty(getenv("NOTIFY_SOCKET"));
}

usec_t notify_watchdog_usec(void)
{
    uint64_t usec = 0;

    return sd_watchdog_enabled(0, &usec) > 0 ? usec : 0;
}

int notify_send(const char *fmt, ...)
{
    _cleanup_strbuf_ struct strbuf message = {};
    va_list args;
    int r;

    if (!notify_wanted())
        return 0;
    va_start(args, fmt);
    strbuf_vappendf(&message, fmt, args);
    va_end(args);
    if (message.failed)
        return -ENOMEM;
    r = sd_notify(0, str_or_empty(message.data));
    return r < 0 ? r : 0;
}
