/* SPDX-License-Identifier: MIT */

/* coalminectl status and list. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "ctl/term.h"
#include "ctl/verb.h"

/* coalminectl status: 0 active, 3 anything else, as systemctl(1) and the LSB have it. */
#define STATUS_NOT_ACTIVE 3

static void row(const char *label, const char *value)
{
    if (str_empty(value))
        return;
    (void) printf("%14s: ", label);
    term_print(value);
    (void) putchar('\n');
}

static void print_moment(const char *label, const char *rfc3339)
{
    char text[TERM_MOMENT_MAX];

    if (!str_empty(rfc3339))
        row(label, term_moment(text, rfc3339));
}

static void print_number(const char *label, const struct instance *i, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(i->status, key));

    if (n != 0)
        (void) printf("%14s: %" JSON_INTEGER_FORMAT "\n", label, n);
}

static void print_state(const struct instance *i)
{
    const char *state = instance_state(i), *phase = instance_get(i, "phase");
    char since[TERM_MOMENT_MAX];

    (void) printf("%14s: %s%s%s", "State", term_colour(term_state_colour(state)), state,
                  term_colour(COLOUR_NONE));
    if (!str_empty(phase) && !str_equal(state, "dead"))
        (void) printf(" (%s)", phase);
    if (!str_empty(instance_get(i, "phase_since")))
        (void) printf(" since %s", term_moment(since, instance_get(i, "phase_since")));
    (void) putchar('\n');
}

static void print_pause(const struct instance *i)
{
    const char *until = instance_get(i, "paused_until");
    char moment[TERM_MOMENT_MAX];

    if (json_is_true(json_object_get(i->status, "paused")))
        (void) printf("%14s: until %s\n", "Paused", str_empty(until) ? "resumed" : term_moment(moment, until));
}

/* The keys, one below the other. */
static void print_pending(const struct instance *i)
{
    const json_t *pending = json_object_get(i->status, "pending");

    for (size_t n = 0; n < json_array_size(pending); n++)
        row(n == 0 ? "Needs restart" : "", json_string_value(json_array_get(pending, n)));
}

/* Of a starting server: when it should be ready, and whether it works. */
static void print_start(const struct instance *i)
{
    char at[TERM_MOMENT_MAX];

    print_moment("Expected ready", instance_get_in(i, "expected", "ready_at"));
    if (str_empty(instance_get_in(i, "progress", "sign")))
        return;
    (void) printf("%14s: %s, %s\n", "Sign of work", instance_get_in(i, "progress", "sign"),
                  term_moment(at, instance_get_in(i, "progress", "at")));
}

static void print_proof(const struct instance *i)
{
    const json_t *proof = json_object_get(i->status, "proof");
    const char *canary = instance_get_in(i, "proof", "canary");
    const char *verdict = instance_get_in(i, "proof", "verdict");
    char text[FORMAT_TIMESPAN_MAX], at[TERM_MOMENT_MAX];

    if (str_empty(canary))
        return;
    (void) printf("%14s: %s: %s", "Last canary", canary, verdict);
    if (str_equal(verdict, "generated"))
        (void) printf(", %" JSON_INTEGER_FORMAT " tokens in %s",
                      json_integer_value(json_object_get(proof, "tokens")),
                      format_timespan(text, (usec_t) json_integer_value(json_object_get(proof, "duration_usec"))));
    (void) printf(", %s\n", term_moment(at, instance_get_in(i, "proof", "at")));
    row("", instance_get_in(i, "proof", "detail"));
}

static void print_failure(const struct instance *i)
{
    char at[TERM_MOMENT_MAX];

    if (str_empty(instance_get_in(i, "last_failure", "class")))
        return;
    (void) printf("%14s: %sepoch %" JSON_INTEGER_FORMAT "%s, %s\n", "Last failure", term_colour(COLOUR_BAD),
                  json_integer_value(json_object_get(json_object_get(i->status, "last_failure"), "epoch")),
                  term_colour(COLOUR_NONE), term_moment(at, instance_get_in(i, "last_failure", "at")));
    row("Why", instance_get_in(i, "last_failure", "summary"));
    row("Decision", instance_get_in(i, "last_failure", "decision"));
    row("What to do", instance_get_in(i, "last_failure", "hint"));
    row("Report", instance_get_in(i, "last_failure", "report"));
}

static void print_instance(const struct instance *i)
{
    (void) printf("%s%s%s\n", term_colour(COLOUR_BOLD), i->name, term_colour(COLOUR_NONE));
    print_state(i);
    if (!i->status) {
        row("", i->running ? "coalmined runs, but its status.json is damaged or not there yet"
                           : "no coalmined has run under this name since the machine came up");
        return;
    }
    if (str_equal(instance_state(i), "dead"))
        row("", "coalmined has gone without a word: see the journal of its unit");
    row("Unit", instance_get(i, "unit"));
    row("Reason", instance_get(i, "reason"));
    if (str_equal(instance_get(i, "phase"), "loading"))
        row("Step", instance_get(i, "step"));
    print_start(i);
    print_number("Server PID", i, "server_pid");
    print_number("Epoch", i, "epoch");
    print_number("Attempt", i, "attempt");
    row("URL", instance_get(i, "url"));
    print_moment("Ready since", instance_get(i, "ready_since"));
    print_moment("Next start", instance_get(i, "next_start"));
    print_pause(i);
    print_pending(i);
    print_proof(i);
    print_failure(i);
}

/* The status file's object, with what only the outside can know. */
static int print_json(const struct instance *i)
{
    json_t *root = i->status ? json_deep_copy(i->status) : json_object();
    int r;

    if (!root)
        return CTL_FAILED;
    (void) json_object_set_new(root, "instance", json_string(i->name));
    (void) json_object_set_new(root, "running", json_boolean(i->running));
    (void) json_object_set_new(root, "state", json_string(instance_state(i)));
    r = json_dumpf(root, stdout, JSON_INDENT(2));
    json_decref(root);
    (void) putchar('\n');
    return r == 0 ? CTL_OK : CTL_FAILED;
}

static int show(const char *name, bool json)
{
    _cleanup_(instance_release) struct instance i = {};
    int r = instance_read(name, &i);

    if (r < 0)
        return ctl_fail(CTL_USAGE, "%s: %s", name, r == -EINVAL ? "not a name of an instance" : strerror(-r));
    if (json)
        (void) print_json(&i);
    else
        print_instance(&i);
    return str_equal(instance_state(&i), "active") ? CTL_OK : STATUS_NOT_ACTIVE;
}

int ctl_status(int argc, char **argv)
{
    bool json = false;
    const struct ctl_option options[] = { { .name = "json", .flag = &json } };
    _cleanup_strv_ char **all = NULL;
    char **names;
    int words = ctl_parse(argc, argv, options, ARRAY_SIZE(options), 0, argc), worst = CTL_OK;

    if (words < 0)
        return CTL_USAGE;
    if (words == 0 && instance_names(&all) < 0)
        return ctl_fail(CTL_USAGE, "the run-time directory cannot be read");
    names = words == 0 ? all : argv + optind;
    if (!names || !names[0])
        return ctl_fail(STATUS_NOT_ACTIVE, "no instance is known on this machine");
    for (size_t i = 0; names[i]; i++) {
        int r = show(names[i], json);

        worst = MAX(worst, r);
        if (!json && names[i + 1])
            (void) putchar('\n');
    }
    return worst;
}

static void list_row(const struct instance *i)
{
    const char *state = instance_state(i);

    (void) printf("%-24s %s%-13s%s %-10s %s\n", i->name, term_colour(term_state_colour(state)), state,
                  term_colour(COLOUR_NONE), instance_get(i, "phase"),
                  str_equal(state, "active") ? instance_get(i, "url")
                                             : instance_get_in(i, "last_failure", "summary"));
}

static json_t *list_json(const struct instance *i)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:b}", "instance", i->name, "state", instance_state(i), "phase",
                     instance_get(i, "phase"), "unit", instance_get(i, "unit"), "running", i->running);
}

int ctl_list(int argc, char **argv)
{
    bool json = false;
    const struct ctl_option options[] = { { .name = "json", .flag = &json } };
    _cleanup_strv_ char **names = NULL;
    json_t *array = json_array();

    if (ctl_parse(argc, argv, options, ARRAY_SIZE(options), 0, 0) < 0 || instance_names(&names) < 0) {
        json_decref(array);
        return CTL_USAGE;
    }
    if (!json)
        (void) printf("%-24s %-13s %-10s %s\n", "INSTANCE", "STATE", "PHASE", "URL OR LAST FAILURE");
    for (size_t i = 0; names && names[i]; i++) {
        _cleanup_(instance_release) struct instance instance = {};

        if (instance_read(names[i], &instance) < 0)
            continue;
        if (json)
            (void) json_array_append_new(array, list_json(&instance));
        else
            list_row(&instance);
    }
    if (json) {
        (void) json_dumpf(array, stdout, JSON_INDENT(2));
        (void) putchar('\n');
    }
    json_decref(array);
    return CTL_OK;
}
