/* SPDX-License-Identifier: MIT */
#include "ctl/unit.h"

#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/str.h"
#include "port/unit_name.h"

#define ASK_TIMEOUT_USEC 5000000

static void unref_bus(sd_bus **bus)
{
    sd_bus_flush_close_unref(*bus);
}


/* ActiveState and LoadState of the unit, "" when they cannot be had; owned. */
static char *ask(sd_bus *bus, const char *unit, const char *property)
{
    _cleanup_free_ char *path = NULL;
    char *value = NULL;

    if (sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path) < 0 ||
        sd_bus_get_property_string(bus, "org.freedesktop.systemd1", path, "org.freedesktop.systemd1.Unit",
                                   property, NULL, &value) < 0)
        return strdup("");
    return value;
}

static enum unit_view view(sd_bus *bus, const char *unit)
{
    _cleanup_free_ char *loaded = ask(bus, unit, "LoadState"), *active = ask(bus, unit, "ActiveState");

    if (!loaded || !active || !str_equal(loaded, "loaded"))
        return VIEW_UNKNOWN;
    return str_equal(active, "inactive") || str_equal(active, "failed") ? VIEW_OVER : VIEW_GOING;
}

enum unit_view unit_of_instance(const struct instance *i)
{
    _cleanup_(unref_bus) sd_bus *bus = NULL;
    _cleanup_free_ char *templated = unit_name_of(i->name);
    _cleanup_free_ char *plain = str_format("%s.service", i->name);
    enum unit_view seen;

    if (!templated || !plain)
        return VIEW_UNKNOWN;
    if ((geteuid() == 0 ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus)) < 0)
        return VIEW_UNKNOWN;
    (void) sd_bus_set_method_call_timeout(bus, ASK_TIMEOUT_USEC);
    if (!str_empty(instance_get(i, "unit")))
        return view(bus, instance_get(i, "unit"));
    seen = view(bus, templated);
    return seen == VIEW_UNKNOWN ? view(bus, plain) : seen;
}
