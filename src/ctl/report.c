/* SPDX-License-Identifier: MIT */

/* coalminectl report: 0 shown, 1 there is none, 2 it cannot be read. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/str.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "ctl/term.h"
#include "ctl/verb.h"
#include "port/paths.h"
#include "port/store.h"

#define REPORT_MAX_BYTES ((size_t) 16 * 1024 * 1024)
#define LATEST "latest.json"

/* An instance that has left no trace since the machine came up may have reports all the same. */
static char *reports_dir(const struct instance *i)
{
    _cleanup_(paths_release) struct paths paths = {};

    if (i->state_dir)
        return str_format("%s/reports", i->state_dir);
    return paths_find(&paths) == 0 ? str_format("%s/%s/reports", paths.state, i->name) : NULL;
}

static const char *get(const json_t *object, const char *key)
{
    return str_or_empty(json_string_value(json_object_get(object, key)));
}

static void row(const char *label, const char *value)
{
    if (str_empty(value))
        return;
    (void) printf("%s%12s:%s ", term_colour(COLOUR_DIM), label, term_colour(COLOUR_NONE));
    term_print(value);
    (void) putchar('\n');
}

static void print_lines(const json_t *lines)
{
    size_t i;
    json_t *line;

    json_array_foreach(lines, i, line) {
        (void) fputs("              ", stdout);
        term_print(str_or_empty(json_string_value(line)));
        (void) putchar('\n');
    }
}

static void print_root_line(const json_t *cause)
{
    if (str_empty(get(cause, "line")))
        return;
    print_lines(json_object_get(cause, "before"));
    (void) printf("%s            > ", term_colour(COLOUR_BAD));
    term_print(get(cause, "line"));
    (void) printf("%s\n", term_colour(COLOUR_NONE));
    print_lines(json_object_get(cause, "after"));
}

static void print_phases(const json_t *phases)
{
    char text[FORMAT_TIMESPAN_MAX];
    size_t i;
    json_t *phase;

    json_array_foreach(phases, i, phase) {
        usec_t span = (usec_t) json_integer_value(json_object_get(phase, "duration_usec"));
        const char *step = get(phase, "step");

        (void) printf("%s%12s:%s ", term_colour(COLOUR_DIM), i == 0 ? "Phases" : "", term_colour(COLOUR_NONE));
        (void) printf("%s%s%s%s, %s\n", get(phase, "phase"), str_empty(step) ? "" : " (", step,
                      str_empty(step) ? "" : ")", format_timespan(text, span));
    }
}

static void print_report(const json_t *root)
{
    const json_t *cause = json_object_get(root, "root_cause");
    char ended[TERM_MOMENT_MAX];

    (void) printf("%s%s%s, epoch %" JSON_INTEGER_FORMAT ", failed %s\n", term_colour(COLOUR_BOLD),
                  get(root, "instance"), term_colour(COLOUR_NONE),
                  json_integer_value(json_object_get(root, "epoch")), term_moment(ended, get(root, "ended")));
    row("What", get(cause, "summary"));
    print_root_line(cause);
    row("Class", get(root, "class"));
    row("Signature", get(root, "signature"));
    row("Decision", get(json_object_get(root, "decision"), "reason"));
    row("What to do", get(root, "hint"));
    print_phases(json_object_get(root, "phases"));
}

static int no_report(const char *instance)
{
    return ctl_fail(CTL_FAILED, "%s has no report: it has not failed yet", instance);
}

static int show(int dir_fd, const char *instance, const char *name, bool json)
{
    _cleanup_free_ char *text = NULL;
    json_t *root;
    size_t len;
    int r = store_read(dir_fd, name, REPORT_MAX_BYTES, &text, &len);

    if (r == -ENOENT && str_equal(name, LATEST))
        return no_report(instance);
    if (r == -ENOENT)
        return ctl_fail(CTL_FAILED, "%s has no report of the name %s", instance, name);
    if (r < 0)
        return ctl_fail(CTL_USAGE, "the report cannot be read: %s", strerror(-r));
    if (json) {
        (void) fwrite(text, 1, len, stdout);
        (void) putchar('\n');
        return CTL_OK;
    }
    root = json_loadb(text, len, 0, NULL);
    if (!root)
        return ctl_fail(CTL_USAGE, "the report is damaged");
    print_report(root);
    json_decref(root);
    return CTL_OK;
}

static int is_report(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && str_ends_with(entry->d_name, ".json") && !str_equal(entry->d_name, LATEST);
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

static int list(int dir_fd)
{
    struct dirent **entries = NULL;
    int n = scandirat(dir_fd, ".", &entries, is_report, newest_first);

    for (int i = 0; i < n; i++) {
        (void) puts(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return n > 0 ? CTL_OK : CTL_FAILED;
}

static int open_reports(const char *name)
{
    _cleanup_(instance_release) struct instance i = {};
    _cleanup_free_ char *path = NULL;
    int r = instance_read(name, &i), fd;

    if (r < 0)
        return r;
    path = reports_dir(&i);
    if (!path)
        return -ENOMEM;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int ctl_report(int argc, char **argv)
{
    bool json = false, all = false;
    const struct ctl_option options[] = {
        { .name = "json", .flag = &json },
        { .name = "list", .flag = &all },
    };
    int words = ctl_parse(argc, argv, options, ARRAY_SIZE(options), 1, 2);
    _cleanup_close_ int fd = -1;
    const char *name;

    if (words < 0)
        return CTL_USAGE;
    name = argv[optind];
    fd = open_reports(name);
    if (fd == -ENOENT)
        return no_report(name);
    if (fd < 0)
        return ctl_fail(CTL_USAGE, "%s: %s", name, fd == -EINVAL ? "not a name of an instance" : strerror(-fd));
    return all ? list(fd) : show(fd, name, words == 2 ? argv[optind + 1] : LATEST, json);
}
