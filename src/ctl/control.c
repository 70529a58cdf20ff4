/* SPDX-License-Identifier: MIT */

/* coalminectl restart and run-canary: what only coalmined itself can do, asked over the bus. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <jansson.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/str.h"
#include "ctl/options.h"
#include "ctl/verb.h"
#include "port/bus.h"
#include "port/conf_files.h"

#define OBJECT_PATH "/org/coalmine1"
#define INTERFACE "org.coalmine1.Supervisor"
/* A live canary may take its whole time-out. */
#define ANSWER_TIMEOUT_USEC (10 * USEC_PER_MINUTE)

static void unref_bus(sd_bus **bus)
{
    sd_bus_flush_close_unref(*bus);
}

static void unref_message(sd_bus_message **m)
{
    sd_bus_message_unref(*m);
}

/* Calls a method of the instance; says what went wrong. */
static int call(const char *instance, const char *method, sd_bus_message **ret)
{
    _cleanup_(unref_bus) sd_bus *bus = NULL;
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    _cleanup_free_ char *name = NULL;
    int r;

    if (!conf_instance_valid(instance))
        return ctl_fail(-EINVAL, "%s: not a name of an instance", instance);
    name = bus_name_of(instance);
    if (!name)
        return -ENOMEM;
    r = geteuid() == 0 ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus);
    if (r < 0)
        return ctl_fail(r, "the message bus cannot be reached: %s", strerror(-r));
    (void) sd_bus_set_method_call_timeout(bus, ANSWER_TIMEOUT_USEC);
    r = sd_bus_call_method(bus, name, OBJECT_PATH, INTERFACE, method, &error, ret, NULL);
    if (r >= 0)
        return 0;
    if (sd_bus_error_has_name(&error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
        sd_bus_error_has_name(&error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
        return ctl_fail(r, "%s is not running", instance);
    return ctl_fail(r, "%s: %s", instance, error.message ? error.message : strerror(-r));
}

int ctl_restart(int argc, char **argv)
{
    _cleanup_(unref_message) sd_bus_message *reply = NULL;

    if (ctl_parse(argc, argv, NULL, 0, 1, 1) < 0)
        return CTL_USAGE;
    return call(argv[optind], "Restart", &reply) < 0 ? CTL_FAILED : CTL_OK;
}

static int print_proof(sd_bus_message *reply, bool json)
{
    const char *canary, *verdict, *detail;
    uint64_t tokens, duration;
    char text[FORMAT_TIMESPAN_MAX];
    int r = sd_bus_message_read(reply, "sstts", &canary, &verdict, &tokens, &duration, &detail);

    if (r < 0)
        return ctl_fail(CTL_FAILED, "the answer is not understood: %s", strerror(-r));
    if (json) {
        json_t *root = json_pack("{s:s, s:s, s:I, s:I, s:s}", "canary", canary, "verdict", verdict, "tokens",
                                 (json_int_t) tokens, "duration_usec", (json_int_t) duration, "detail", detail);

        (void) json_dumpf(root, stdout, JSON_INDENT(2));
        (void) putchar('\n');
        json_decref(root);
    } else {
        (void) printf("%s: %s, %" PRIu64 " tokens in %s%s%s\n", canary, verdict, tokens,
                      format_timespan(text, duration), str_empty(detail) ? "" : ": ", detail);
    }
    return str_equal(verdict, "generated") ? CTL_OK : CTL_FAILED;
}

int ctl_run_canary(int argc, char **argv)
{
    bool json = false;
    const struct ctl_option options[] = { { "json", NULL, &json } };
    _cleanup_(unref_message) sd_bus_message *reply = NULL;

    if (ctl_parse(argc, argv, options, ARRAY_SIZE(options), 1, 1) < 0)
        return CTL_USAGE;
    if (call(argv[optind], "RunCanary", &reply) < 0)
        return CTL_FAILED;
    return print_proof(reply, json);
}
