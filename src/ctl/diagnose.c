/* SPDX-License-Identifier: MIT */

/* coalminectl diagnose: 0 the cause was found, 1 there is none to find, 2 the log cannot be read. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/str.h"
#include "core/diagnosis/build.h"
#include "core/diagnosis/offline.h"
#include "core/supervision/phase.h"
#include "ctl/options.h"
#include "ctl/term.h"
#include "ctl/verb.h"
#include "port/conf_files.h"
#include "port/conf_read.h"

enum { DIAGNOSE_FOUND = 0, DIAGNOSE_NOTHING = 1, DIAGNOSE_UNREADABLE = 2 };

/* What a terminal's line has room for. */
#define SHOWN_LINE_BYTES ((size_t) 200)
/* Read from a pipe; a file may be larger. */
#define PIPE_MAX_BYTES ((size_t) 1 << 30)

/* A whole log, mapped or read. */
struct log_text {
    char *text;
    size_t len;
    bool mapped;
};

static void log_text_release(struct log_text *l)
{
    if (l->mapped)
        (void) munmap(l->text, l->len);
    else
        free(l->text);
}

static int read_stream(int fd, struct log_text *ret)
{
    _cleanup_strbuf_ struct strbuf all = {};

    for (;;) {
        char chunk[65536];
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        if (all.len + (size_t) n > PIPE_MAX_BYTES)
            return -EFBIG;
        strbuf_append_n(&all, chunk, (size_t) n);
    }
    ret->len = all.len;
    ret->text = strbuf_steal(&all);
    return ret->text ? 0 : -ENOMEM;
}

static int read_log(const char *name, struct log_text *ret)
{
    bool standard = str_equal(name, "-");
    _cleanup_close_ int opened = standard ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    int fd = standard ? STDIN_FILENO : opened;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!standard && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *map = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        if (map != MAP_FAILED) {
            *ret = (struct log_text){.text = map, .len = (size_t) st.st_size, .mapped = true};
            return 0;
        }
    }
    return read_stream(fd, ret);
}

/* What the diagnosis needs to know, kept for its life. */
struct knowledge {
    struct conf_paths paths;
    struct catalog *catalog;
    struct config **configs; /* one for each profile */
    struct offline_profile *profiles;
    size_t n_profiles;
};

static void knowledge_release(struct knowledge *k)
{
    for (size_t i = 0; i < k->n_profiles; i++)
        config_free(k->configs[i]);
    free(k->configs);
    free(k->profiles);
    catalog_free(k->catalog);
    conf_paths_release(&k->paths);
}

/* A profile alone, of no instance. */
static int load_profile(struct knowledge *k, const char *name, char ***ret_errors)
{
    char program[] = "true", *const command[] = {program, NULL};
    struct conf_request request = {.instance = "diagnose", .profile = name, .url = "http://127.0.0.1:1",
                                   .command = command};
    struct config *config = NULL;
    int r = conf_load(&k->paths, &request, &config, ret_errors);

    if (r < 0)
        return r;
    k->configs[k->n_profiles] = config;
    k->profiles[k->n_profiles++] = (struct offline_profile){
        .name = config->server.profile, .phases = config->phases, .n_phases = config->n_phases,
    };
    return 0;
}

/* The engine's own profile, or all where it is not known. */
static int load_profiles(struct knowledge *k, const char *engine, char ***ret_errors)
{
    _cleanup_free_ char *dir = str_format("%s/profiles", k->paths.data_dir);
    _cleanup_strv_ char **names = NULL;
    size_t n;
    int r = dir ? conf_list_dir(dir, &names) : -ENOMEM;

    if (r < 0)
        return r;
    n = strv_length(names);
    k->configs = calloc(n + 1, sizeof(struct config *));
    k->profiles = calloc(n + 1, sizeof(*k->profiles));
    if (!k->configs || !k->profiles)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (!engine || str_equal(engine, names[i]))
            r = load_profile(k, names[i], ret_errors);
    }
    return r;
}

static int load_knowledge(struct knowledge *k, const char *engine, char ***ret_errors)
{
    int r = conf_paths_find(geteuid() != 0, &k->paths);

    if (r == 0)
        r = conf_load_catalog(&k->paths, &k->catalog, ret_errors);
    return r == 0 ? load_profiles(k, engine, ret_errors) : r;
}

/* One line of the log, with what must not be shown left out, cut to what a terminal has room for. */
static void print_line(const char *mark, const char *line)
{
    _cleanup_free_ char *shown = build_presentable(line);
    size_t n = shown ? strlen(shown) : 0, kept = utf8_cut(str_or_empty(shown), n, SHOWN_LINE_BYTES);

    if (!shown)
        return;
    shown[kept] = '\0';
    (void) fputs(mark, stdout);
    term_print(shown);
    (void) puts(kept < n ? "..." : "");
}

static void print_lines(const char *mark, char *const *lines)
{
    for (size_t i = 0; lines && lines[i]; i++)
        print_line(mark, lines[i]);
}

static void print_labelled(const char *label, const char *text)
{
    _cleanup_free_ char *shown = text ? build_presentable(text) : NULL;

    if (!shown)
        return;
    (void) fputs(label, stdout);
    term_print(shown);
    (void) putchar('\n');
}

static const char *retry_text(const struct root_cause *c)
{
    switch (c->policy.retry) {
    case RETRY_NEVER:
        return "a restart without a change will fail again";
    case RETRY_BACKOFF:
        return "may mend it";
    case RETRY_SLOW:
        return "may mend it, later";
    case RETRY_AFTER_CLEANUP:
        return "may mend it after a cleanup";
    case N_RETRIES:
        break;
    }
    return "";
}

static void print_cause(const struct offline *o, const struct root_cause *c)
{
    (void) printf("%s", term_colour(COLOUR_BAD));
    print_labelled("", c->summary);
    (void) printf("%s", term_colour(COLOUR_NONE));
    if (offline_phase(o))
        print_labelled("Last step of loading: ", offline_phase(o));
    print_lines("    ", c->before);
    (void) printf("%s%6" PRIu64 ": ", term_colour(COLOUR_BOLD), c->line_number);
    print_line("", c->line);
    (void) printf("%s", term_colour(COLOUR_NONE));
    print_lines("    ", c->after);
    print_labelled("What to do: ", c->hint);
    (void) printf("Restart: %s.\n", retry_text(c));
}

static void print_nothing(const struct offline *o, const struct root_cause *c)
{
    char *const *likeliest = offline_likeliest(o);

    (void) puts("Nothing in this log is known to be the cause of a failure.");
    if (c->signature)
        print_labelled("What looks bad is not: ", c->summary);
    if (offline_phase(o))
        print_labelled("Last step of loading: ", offline_phase(o));
    if (likeliest[0])
        (void) puts("If the server did fail, these lines are the likeliest:");
    print_lines("    ", likeliest);
}

static int show_text(const struct offline *o)
{
    struct root_cause cause = {};
    bool found;
    int r = offline_root_cause(o, &cause);

    if (r < 0)
        return r;
    found = cause.fatal;
    if (found)
        print_cause(o, &cause);
    else
        print_nothing(o, &cause);
    root_cause_release(&cause);
    return found ? DIAGNOSE_FOUND : DIAGNOSE_NOTHING;
}

static int show_json(const struct offline *o)
{
    json_t *json = NULL;
    bool found;
    int r = offline_json(o, &json);

    if (r < 0)
        return r;
    found = json_is_true(json_object_get(json, "fatal"));
    if (json_dumpf(json, stdout, JSON_INDENT(2)) < 0 || putchar('\n') < 0)
        r = -EIO;
    json_decref(json);
    if (r < 0)
        return r;
    return found ? DIAGNOSE_FOUND : DIAGNOSE_NOTHING;
}

static int diagnose(const struct knowledge *k, const char *engine, const struct log_text *log, bool json,
                    char ***ret_errors)
{
    _cleanup_(offline_freep) struct offline *o = NULL;
    int r = offline_new(k->catalog, engine, k->profiles, k->n_profiles, &o, ret_errors);

    if (r == 0)
        r = offline_read(o, log->text, log->len);
    if (r < 0)
        return r;
    return json ? show_json(o) : show_text(o);
}

static int fail(int error, char *const *errors)
{
    for (size_t i = 0; errors && errors[i]; i++)
        (void) fprintf(stderr, "%s\n", errors[i]);
    return errors ? EXIT_BAD_CONFIG : ctl_fail(EXIT_INTERNAL, "diagnose: %s", strerror(-error));
}

static int run(const char *name, const char *engine, bool json)
{
    _cleanup_strv_ char **errors = NULL;
    struct knowledge knowledge = {};
    struct log_text log = {};
    int r = read_log(name, &log);

    if (r < 0)
        return ctl_fail(DIAGNOSE_UNREADABLE, "%s: %s", name, strerror(-r));
    r = load_knowledge(&knowledge, engine, &errors);
    if (r == 0)
        r = diagnose(&knowledge, engine, &log, json, &errors);
    log_text_release(&log);
    knowledge_release(&knowledge);
    return r < 0 ? fail(r, errors) : r;
}

int ctl_diagnose(int argc, char **argv)
{
    const char *engine = NULL;
    bool json = false;
    const struct ctl_option options[] = {
        { .name = "json", .flag = &json },
        { .name = "engine", .value = &engine },
    };
    int words = ctl_parse(argc, argv, options, ARRAY_SIZE(options), 0, 1);

    if (words < 0)
        return CTL_USAGE;
    return run(words > 0 ? argv[optind] : "-", engine, json);
}
