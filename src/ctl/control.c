/* SPDX-License-Identifier: MIT */

/* coalminectl restart, reload, pause, resume and run-canary: what only coalmined itself can do. */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/parse.h"
#include "base/str.h"
#include "ctl/caller.h"
#include "ctl/options.h"
#include "ctl/verb.h"

static int order(int argc, char **argv, const char *method)
{
    _cleanup_message_ sd_bus_message *reply = NULL;

    if (ctl_parse(argc, argv, NULL, 0, 1, 1) < 0)
        return CTL_USAGE;
    return caller_call(argv[optind], method, &reply, NULL) < 0 ? CTL_FAILED : CTL_OK;
}

int ctl_restart(int argc, char **argv)
{
    return order(argc, argv, "Restart");
}

int ctl_resume(int argc, char **argv)
{
    return order(argc, argv, "Resume");
}

/* As coalmined itself says it (coalmined(8)). */
#define BAD_CONFIGURATION 78

static int print_pending(sd_bus_message *reply, const char *instance)
{
    const char *key;
    int r = sd_bus_message_enter_container(reply, 'a', "s");

    while (r >= 0 && (r = sd_bus_message_read(reply, "s", &key)) > 0)
        (void) printf("%s waits for the next start of the server (coalminectl restart %s)\n", key, instance);
    return r < 0 ? ctl_fail(CTL_FAILED, "the answer is not understood: %s", strerror(-r)) : CTL_OK;
}

int ctl_reload(int argc, char **argv)
{
    _cleanup_message_ sd_bus_message *reply = NULL;
    int r;

    if (ctl_parse(argc, argv, NULL, 0, 1, 1) < 0)
        return CTL_USAGE;
    r = caller_call(argv[optind], "Reload", &reply, NULL);
    if (r < 0)
        return r == -EBADMSG ? BAD_CONFIGURATION : CTL_FAILED;
    return print_pending(reply, argv[optind]);
}

int ctl_pause(int argc, char **argv)
{
    const char *span = "infinity";
    const struct ctl_option options[] = { { .name = "for", .value = &span } };
    _cleanup_message_ sd_bus_message *reply = NULL;
    usec_t duration;

    if (ctl_parse(argc, argv, options, ARRAY_SIZE(options), 1, 1) < 0)
        return CTL_USAGE;
    if (parse_timespan(span, &duration) < 0 || duration == 0)
        return ctl_fail(CTL_USAGE, "--for: '%s' is no time span such as 30min or 2h", span);
    /* On the bus, 0 is until resumed. */
    if (duration == USEC_INFINITY)
        duration = 0;
    return caller_call(argv[optind], "Pause", &reply, "t", duration) < 0 ? CTL_FAILED : CTL_OK;
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
    const struct ctl_option options[] = { { .name = "json", .flag = &json } };
    _cleanup_message_ sd_bus_message *reply = NULL;

    if (ctl_parse(argc, argv, options, ARRAY_SIZE(options), 1, 1) < 0)
        return CTL_USAGE;
    if (caller_call(argv[optind], "RunCanary", &reply, NULL) < 0)
        return CTL_FAILED;
    return print_proof(reply, json);
}
