/* SPDX-License-Identifier: MIT */
#pragma once

/* Configuration, profiles and catalog from disk: where the files lie, which of them count, and what they
 * say. The one way in which both programs come to a struct config and a struct catalog. */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "core/config/config.h"
#include "core/diagnosis/catalog.h"

/* Owned, absolute. Zero-initialise; free with conf_paths_release(). */
struct conf_paths {
    char *config_dir; /* /etc/coalmine */
    char *user_dir;   /* ~/.config/coalmine, which goes before config_dir; NULL: none */
    char *data_dir;   /* /usr/share/coalmine; %D */
};

/* Overrides (NULL: none) go before what was compiled in; a program that runs out of its source tree takes
 * that tree's conf/ as data_dir. -ENOMEM only. */
must_check int conf_paths_init(struct conf_paths *p, const char *config_dir, const char *data_dir);
/* Those that the environment names (COALMINE_CONFIG_DIR, COALMINE_DATA_DIR), else the usual ones. `user` adds
 * what whoever runs this program has, $XDG_CONFIG_HOME/coalmine (~/.config/coalmine by default), unless the
 * environment names another. -ENOMEM only. */
must_check int conf_paths_find(bool user, struct conf_paths *p);
void conf_paths_release(struct conf_paths *p);
#define _cleanup_conf_paths_ _cleanup_(conf_paths_release)

/* UTF-8, 1 to 128 bytes, no slash, no control character, no dot in front. */
bool conf_instance_valid(const char *name);

/* What an instance, or a profile, of that file is called: its name without directories and ".conf". Owned;
 * NULL: memory. */
must_check char *conf_name_of_file(const char *file);

/* What the command line said; NULL where it said nothing. All borrowed. */
struct conf_request {
    const char *instance;   /* NULL: the file's name without ".conf" */
    const char *file;       /* --config; NULL: INSTANCE.conf of user_dir, or else of config_dir.
                             * FILE.d/ has its drop-ins */
    const char *profile;    /* --profile */
    const char *url;        /* --url */
    char *const *settings;  /* --set Section.Key=Value */
    char *const *command;   /* what stands behind `--` */
};

/* Reads NAME.conf (which may be missing when the request has a command and names no file), its drop-ins
 * and the profile. *ret is the configuration; or -EINVAL, and *ret_errors is one line for each mistake,
 * files that cannot be read included. -ENOMEM. */
must_check int conf_load(const struct conf_paths *p, const struct conf_request *req, struct config **ret,
                         char ***ret_errors);

/* classes.conf and signatures/ *.conf of data_dir, then of config_dir and user_dir, where a signature file
 * replaces an earlier one of its name. Returns as conf_load() does. */
must_check int conf_load_catalog(const struct conf_paths *p, struct catalog **ret, char ***ret_errors);
