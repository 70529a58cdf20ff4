/* SPDX-License-Identifier: MIT */
#include "ctl/caller.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/str.h"
#include "base/timeutil.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "port/bus.h"

#define OBJECT_PATH "/org/coalmine1"
#define INTERFACE "org.coalmine1.Supervisor"
#define INVALID_CONFIGURATION "org.coalmine1.Error.InvalidConfiguration"
/* A live canary may take its whole time-out. */
#define ANSWER_TIMEOUT_USEC (10 * USEC_PER_MINUTE)

/* One call, and where it is tried. */
struct attempt {
    const char *instance;
    const char *name; /* on the bus */
    const char *method;
    const char *types;
    va_list *arguments;
};

static void unref_bus(sd_bus **bus)
{
    sd_bus_flush_close_unref(*bus);
}

void caller_unref_message(sd_bus_message **m)
{
    sd_bus_message_unref(*m);
}

static bool is_absent(const sd_bus_error *error)
{
    return sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
           sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER);
}

/* -ESRCH: nobody has the name on this bus. */
static int try_bus(const struct attempt *a, sd_bus *bus, sd_bus_message **ret, sd_bus_error *error)
{
    va_list arguments;
    int r;

    (void) sd_bus_set_method_call_timeout(bus, ANSWER_TIMEOUT_USEC);
    va_copy(arguments, *a->arguments);
    r = sd_bus_call_methodv(bus, a->name, OBJECT_PATH, INTERFACE, a->method, error, ret, a->types, arguments);
    va_end(arguments);
    return r >= 0 ? 0 : is_absent(error) ? -ESRCH : r;
}

static int try_user(const struct attempt *a, sd_bus_message **ret, sd_bus_error *error)
{
    _cleanup_(unref_bus) sd_bus *bus = NULL;

    if (geteuid() == 0 || sd_bus_open_user(&bus) < 0)
        return -ESRCH;
    return try_bus(a, bus, ret, error);
}

/* Whether coalmined is there although the bus does not know it. */
static int tell_absent(const struct attempt *a)
{
    _cleanup_(instance_release) struct instance i = {};

    if (instance_read(a->instance, &i) == 0 && i.running)
        return ctl_fail(-ESRCH, "%s runs, but is not on the message bus", a->instance);
    return ctl_fail(-ESRCH, "%s is not running", a->instance);
}

/* A line for each mistake. */
static int tell_invalid(const struct attempt *a, const sd_bus_error *error)
{
    _cleanup_strv_ char **lines = NULL;

    if (strv_split(str_or_empty(error->message), "\n", &lines) < 0)
        return -ENOMEM;
    for (size_t i = 0; lines && lines[i]; i++)
        (void) ctl_fail(0, "%s", lines[i]);
    return ctl_fail(-EBADMSG, "%s: everything stays as it was", a->instance);
}

static int tell_error(const struct attempt *a, int r, const sd_bus_error *error)
{
    if (r == -ESRCH)
        return tell_absent(a);
    if (sd_bus_error_has_name(error, SD_BUS_ERROR_ACCESS_DENIED))
        return ctl_fail(r, "%s is the system's: %s is for root", a->instance, a->method);
    if (sd_bus_error_has_name(error, INVALID_CONFIGURATION))
        return tell_invalid(a, error);
    return ctl_fail(r, "%s: %s", a->instance, error->message ? error->message : strerror(-r));
}

static int try_system(const struct attempt *a, sd_bus_message **ret)
{
    _cleanup_(unref_bus) sd_bus *bus = NULL;
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    int r = sd_bus_open_system(&bus);

    if (r < 0)
        return ctl_fail(r, "%s: the message bus cannot be reached: %s", a->instance, strerror(-r));
    r = try_bus(a, bus, ret, &error);
    return r < 0 ? tell_error(a, r, &error) : 0;
}

static int try_all(const struct attempt *a, sd_bus_message **ret)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    int r = try_user(a, ret, &error);

    if (r == -ESRCH)
        return try_system(a, ret);
    return r < 0 ? tell_error(a, r, &error) : 0;
}

int caller_call(const char *word, const char *method, sd_bus_message **ret, const char *types, ...)
{
    _cleanup_free_ char *instance = NULL, *name = NULL;
    va_list arguments;
    int r = instance_name(word, &instance);

    if (r == -EINVAL)
        return ctl_fail(-EINVAL, "%s: not a name of an instance", word);
    name = instance ? bus_name_of(instance) : NULL;
    if (!name)
        return ctl_fail(-ENOMEM, "out of memory");
    va_start(arguments, types);
    r = try_all(&(struct attempt){ instance, name, method, types, &arguments }, ret);
    va_end(arguments);
    return r;
}
