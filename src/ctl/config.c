/* SPDX-License-Identifier: MIT */

/* coalminectl check and cat-config: 0 fine, 78 not usable, as coalmined itself would exit. */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "core/config/config_dump.h"
#include "core/diagnosis/matcher.h"
#include "core/supervision/phase.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "ctl/verb.h"
#include "port/conf_files.h"

/* A word with a slash, or one that ends in ".conf", is a file; anything else names an instance. */
static int load(const struct conf_paths *p, const char *word, struct config **ret, char ***ret_errors)
{
    bool file = strchr(word, '/') || str_ends_with(word, ".conf");
    _cleanup_free_ char *name = NULL;
    struct conf_request request = { .file = file ? word : NULL };
    int r = file ? 0 : instance_name(word, &name);

    *ret_errors = NULL;
    if (r < 0)
        return r;
    request.instance = name;
    return conf_load(p, &request, ret, ret_errors);
}

static int refuse(const char *word, int error, char *const *errors)
{
    if (error != -EINVAL)
        return ctl_fail(EXIT_INTERNAL, "%s: %s", word, strerror(-error));
    if (!errors)
        return ctl_fail(CTL_USAGE, "%s: not a name of an instance", word);
    for (size_t i = 0; errors[i]; i++)
        (void) fprintf(stderr, "%s\n", errors[i]);
    return EXIT_BAD_CONFIG;
}

/* The catalog with everybody's signatures, and the phases of one configuration (NULL: none). */
static int check_patterns(const struct conf_paths *p, const struct config *config, char ***ret_errors)
{
    _cleanup_(catalog_freep) struct catalog *catalog = NULL;
    _cleanup_(matcher_freep) struct matcher *matcher = NULL;
    int r = conf_load_catalog(p, &catalog, ret_errors);

    if (r < 0)
        return r;
    return matcher_new(catalog, NULL, config ? config->phases : NULL, config ? config->n_phases : 0, &matcher,
                       ret_errors);
}

static int check(const struct conf_paths *p, const char *word)
{
    _cleanup_(config_freep) struct config *config = NULL;
    _cleanup_strv_ char **errors = NULL;
    int r = word ? load(p, word, &config, &errors) : 0;

    if (r == 0)
        r = check_patterns(p, config, &errors);
    if (r < 0)
        return refuse(word ? word : "catalog", r, errors);
    (void) printf("%s: fine\n", word ? word : "catalog");
    return CTL_OK;
}

int ctl_check(int argc, char **argv)
{
    _cleanup_conf_paths_ struct conf_paths paths = {};
    int words = ctl_parse(argc, argv, NULL, 0, 0, argc), worst = CTL_OK;

    if (words < 0)
        return CTL_USAGE;
    if (conf_paths_find(geteuid() != 0, &paths) < 0)
        return EXIT_INTERNAL;
    if (words == 0)
        return check(&paths, NULL);
    for (int i = optind; i < argc; i++) {
        int r = check(&paths, argv[i]);

        worst = MAX(worst, r);
    }
    return worst;
}

static int print_config(const struct config *config, bool json)
{
    _cleanup_free_ char *text = NULL;
    json_t *root = NULL;
    int r;

    if (!json) {
        r = config_dump(config, &text);
        if (r == 0)
            (void) fputs(text, stdout);
        return r;
    }
    r = config_dump_json(config, &root);
    if (r == 0) {
        (void) json_dumpf(root, stdout, JSON_INDENT(2));
        (void) putchar('\n');
    }
    json_decref(root);
    return r;
}

int ctl_cat_config(int argc, char **argv)
{
    bool json = false;
    const struct ctl_option options[] = { { .name = "json", .flag = &json } };
    _cleanup_conf_paths_ struct conf_paths paths = {};
    _cleanup_(config_freep) struct config *config = NULL;
    _cleanup_strv_ char **errors = NULL;
    int r;

    if (ctl_parse(argc, argv, options, ARRAY_SIZE(options), 1, 1) < 0)
        return CTL_USAGE;
    r = conf_paths_find(geteuid() != 0, &paths);
    if (r == 0)
        r = load(&paths, argv[optind], &config, &errors);
    if (r == 0)
        r = print_config(config, json);
    return r < 0 ? refuse(argv[optind], r, errors) : CTL_OK;
}
