/* SPDX-License-Identifier: MIT */

/* The supervisor's main: command line, configuration, and one supervisor on one loop. */

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/str.h"
#include "daemon/supervisor.h"
#include "port/conf_files.h"
#include "port/notify.h"

struct options {
    const char *instance;
    const char *config;
    const char *profile;
    const char *url;
    char **settings;
    char *const *command;
};

/* Everything that lives as long as the process. */
struct program {
    struct options options;
    struct identity identity;
    struct conf_paths conf_paths;
    struct conf_request request;
    struct generation_source source;
    struct paths paths;
    struct loop *loop;
    struct supervisor *supervisor;
};

enum option_code { OPTION_INSTANCE = 256, OPTION_CONFIG, OPTION_PROFILE, OPTION_URL, OPTION_SET };

static const struct option long_options[] = {
    { "instance", required_argument, NULL, OPTION_INSTANCE },
    { "config", required_argument, NULL, OPTION_CONFIG },
    { "profile", required_argument, NULL, OPTION_PROFILE },
    { "url", required_argument, NULL, OPTION_URL },
    { "set", required_argument, NULL, OPTION_SET },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    {},
};

static const char help_text[] =
    "Usage: coalmined [OPTIONS] [-- COMMAND [ARGUMENT...]]\n"
    "\n"
    "Runs a GPU model server, tells systemd READY=1 only after the server has really generated\n"
    "tokens, says why it failed, and restarts only what a restart can mend.\n"
    "\n"
    "  --instance=NAME            Instance, and so /etc/coalmine/NAME.conf; default: the unit's name,\n"
    "                             else that of --config's FILE\n"
    "  --config=FILE              Another file than /etc/coalmine/NAME.conf\n"
    "  --profile=NAME             Engine: auto (found from the command), sglang, vllm, llama-server, tgi,\n"
    "                             trtllm, ollama, triton, openai or one of your own\n"
    "  --url=URL                  Where the server answers, e.g. http://127.0.0.1:30001\n"
    "  --set=SECTION.KEY=VALUE    Any key of coalmine.conf(5); may be given several times\n"
    "  -h, --help                 This text\n"
    "  -V, --version              The version\n"
    "\n"
    "Exit codes: 0 stopped as asked, 70 internal error, 75 failed and left to systemd\n"
    "(Restart.Mode=exit), 78 configuration, 81 failure that a restart cannot mend, 82 restart budget\n"
    "used up, 83 the server's processes could not be removed.\n"
    "See coalmined(8), coalmine.conf(5), coalminectl(1).\n";

/* >= 0: leave with that exit code. -EAGAIN: go on. */
static int take_option(struct options *o, int option)
{
    switch (option) {
    case OPTION_INSTANCE:
        o->instance = optarg;
        return -EAGAIN;
    case OPTION_CONFIG:
        o->config = optarg;
        return -EAGAIN;
    case OPTION_PROFILE:
        o->profile = optarg;
        return -EAGAIN;
    case OPTION_URL:
        o->url = optarg;
        return -EAGAIN;
    case OPTION_SET:
        return strv_push(&o->settings, optarg) < 0 ? EXIT_INTERNAL : -EAGAIN;
    case 'h':
        (void) fputs(help_text, stdout);
        return EXIT_STOPPED;
    case 'V':
        (void) puts("coalmined " COALMINE_VERSION);
        return EXIT_STOPPED;
    default:
        (void) fputs("coalmined: see coalmined --help\n", stderr);
        return EXIT_BAD_CONFIG;
    }
}

static int parse_options(struct options *o, int argc, char **argv)
{
    int option, r;

    while ((option = getopt_long(argc, argv, "+hV", long_options, NULL)) != -1) {
        r = take_option(o, option);
        if (r >= 0)
            return r;
    }
    if (optind < argc)
        o->command = argv + optind;
    return -EAGAIN;
}

/* Says what is wrong, a line each, and hands systemd the first. Returns the exit code. */
static int refuse(int error, char *const *errors)
{
    if (error == -EBUSY) {
        (void) fputs("coalmined: another coalmined supervises this instance\n", stderr);
        return EXIT_BAD_CONFIG;
    }
    if (error == -ETIMEDOUT) {
        (void) fputs("coalmined: processes of an earlier server of this unit cannot be killed; nothing is started"
                     " beside them\n", stderr);
        return EXIT_UNKILLABLE;
    }
    if (error != -EINVAL || !errors || !errors[0]) {
        (void) fprintf(stderr, "coalmined: %s\n", strerror(-error));
        return EXIT_INTERNAL;
    }
    for (size_t i = 0; errors[i]; i++)
        (void) fprintf(stderr, "coalmined: %s\n", errors[i]);
    (void) notify_send("STATUS=configuration: %s", errors[0]);
    return EXIT_BAD_CONFIG;
}

/* A system unit may have a User= that is not root; its files are the system's all the same. */
static bool is_users(const struct identity *i)
{
    return i->unit ? i->user : geteuid() != 0;
}

/* Where all that is read comes from. */
static int find_places(struct program *p)
{
    int r;

    p->request = (struct conf_request){
        .instance = p->identity.instance,
        .file = p->options.config,
        .profile = p->options.profile,
        .url = p->options.url,
        .settings = p->options.settings,
        .command = p->options.command,
    };
    p->source = (struct generation_source){ .paths = &p->conf_paths, .request = &p->request };
    r = conf_paths_find(is_users(&p->identity), &p->conf_paths);
    if (r < 0)
        return r;
    return is_users(&p->identity) ? paths_find(&p->paths) : paths_system(&p->paths);
}

static int set_up(struct program *p, char ***ret_errors)
{
    int r = identity_find(p->options.instance, p->options.config, &p->identity);

    if (r == -EINVAL || (r == 0 && !conf_instance_valid(p->identity.instance))) {
        r = strv_push(ret_errors, "no usable instance name: give --instance=NAME, without slashes");
        return r < 0 ? r : -EINVAL;
    }
    if (r == 0)
        r = find_places(p);
    if (r == 0)
        r = loop_new(&p->loop);
    if (r == 0)
        r = supervisor_new(p->loop, &p->source, &p->identity, &p->paths, &p->supervisor, ret_errors);
    return r;
}

static void program_release(struct program *p)
{
    supervisor_free(p->supervisor);
    loop_free(p->loop);
    paths_release(&p->paths);
    conf_paths_release(&p->conf_paths);
    identity_release(&p->identity);
    strv_free(p->options.settings);
}

int main(int argc, char **argv)
{
    _cleanup_(program_release) struct program p = {};
    _cleanup_strv_ char **errors = NULL;
    int r;

    signals_prepare();
    r = parse_options(&p.options, argc, argv);
    if (r >= 0)
        return r;
    r = set_up(&p, &errors);
    if (r < 0)
        return refuse(r, errors);
    supervisor_start(p.supervisor);
    loop_run(p.loop);
    return supervisor_exit_code(p.supervisor);
}
