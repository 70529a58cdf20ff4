/* SPDX-License-Identifier: MIT */
#include "ctl/target.h"

#include <errno.h>
#include <stdio.h>

#include "base/str.h"
#include "core/supervision/phase.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "port/conf_files.h"

#define USUAL_PROFILE "openai"

static int load(const struct conf_request *request, struct config **ret, char ***ret_errors)
{
    _cleanup_conf_paths_ struct conf_paths paths = {};
    int r = conf_paths_init(&paths, getenv("COALMINE_CONFIG_DIR"), getenv("COALMINE_DATA_DIR"));

    return r < 0 ? r : conf_load(&paths, request, ret, ret_errors);
}

/* A server that is there already needs no command, but a configuration does. */
static int load_address(const char *url, const char *profile, char *const *settings, struct config **ret,
                        char ***ret_errors)
{
    static char word[] = "true";
    static char *const no_command[] = { word, NULL };
    const struct conf_request request = {
        .instance = "address",
        .url = url,
        .profile = str_empty(profile) ? USUAL_PROFILE : profile,
        .settings = settings,
        .command = no_command,
    };

    return load(&request, ret, ret_errors);
}

static int load_instance(const struct target *t, struct config **ret, char ***ret_errors)
{
    _cleanup_(instance_release) struct instance i = {};
    _cleanup_free_ char *name = NULL;
    _cleanup_strv_ char **none = NULL;
    int r = instance_name(t->name, &name);

    if (r == 0)
        r = load(&(struct conf_request){ .instance = name, .settings = t->settings }, ret, ret_errors);
    if (r != -EINVAL || instance_read(t->name, &i) < 0 || str_empty(instance_get(&i, "url")))
        return r;
    r = load_address(instance_get(&i, "url"), instance_get(&i, "profile"), t->settings, ret, &none);
    if (r == 0)
        strv_free(steal_pointer(ret_errors));
    return r;
}

int target_load(const struct target *t, struct config **ret)
{
    _cleanup_strv_ char **errors = NULL;
    int r = t->url ? load_address(t->url, t->profile, t->settings, ret, &errors)
                   : load_instance(t, ret, &errors);

    if (r == 0)
        return CTL_OK;
    for (size_t i = 0; errors && errors[i]; i++)
        (void) fprintf(stderr, "%s\n", errors[i]);
    if (errors)
        return EXIT_BAD_CONFIG;
    if (r == -EINVAL)
        return ctl_fail(CTL_USAGE, "%s: not a name of an instance", str_or_empty(t->name));
    return ctl_fail(EXIT_INTERNAL, "%s: %s", t->url ? t->url : t->name, strerrordesc_np(-r));
}
