/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes a struct config out of texts and command-line options. Mistakes in them are collected, not
 * returned, so that one run tells them all; only -ENOMEM comes back from the add functions.
 *
 *   config_builder_new()
 *   config_builder_add_text()       NAME.conf, then its drop-ins, in order
 *   config_builder_add_assignment(), _add_value(), _add_command()   the command line
 *   config_builder_profile()        which profile is asked for; if any, the caller fetches its text:
 *   config_builder_add_profile()
 *   config_builder_finish()                                                                        */

#include "core/config/config.h"
#include "core/config/unitfile.h"

/* How places on the command line are called in messages and by config_dump(). */
#define CONFIG_COMMAND_LINE "command line"
/* The profile that is found from the command. */
#define CONFIG_PROFILE_AUTO "auto"

/* Bounds on what one instance may have. */
#define CONFIG_MAX_ASSIGNMENTS 10000 /* in all files and options together */
#define CONFIG_MAX_NAMED 256         /* sections of one kind, as [Canary NAME] */
#define CONFIG_MAX_ITEMS 1024        /* in a list */

struct config_builder;

/* `name` stands for the whole configuration in messages about what is missing: the main file's path or
 * CONFIG_COMMAND_LINE. `instance` and `data_dir` are what %i and %D stand for. All are copied. */
must_check int config_builder_new(const char *name, const char *instance, const char *data_dir,
                                  struct config_builder **ret);
/* What %d stands for; without it there is no such specifier. Copied. */
must_check int config_builder_set_credentials(struct config_builder *b, const char *dir);
void config_builder_free(struct config_builder *b);
DEFINE_CLEANUP(struct config_builder *, config_builder_free);

/* A file's content; later ones win. `file` is copied. */
must_check int config_builder_add_text(struct config_builder *b, const char *file, const char *text,
                                       size_t n);
/* --set: "Section.Key=Value" or "Canary sampled.MaxTokens=4". */
must_check int config_builder_add_assignment(struct config_builder *b, const char *assignment);
/* --url, --profile: a value as it would stand behind `=`. `section` and `key` must exist. */
must_check int config_builder_add_value(struct config_builder *b, const char *section, const char *key,
                                        const char *value);
/* What stands behind `--`: Server.Command, word by word, nothing in it interpreted. */
must_check int config_builder_add_command(struct config_builder *b, char *const *argv);
/* For what the caller could not do, such as reading a file. What is missing is not told after it, since it
 * may stand in what was not read. Borrowed. */
struct problems *config_builder_problems(struct config_builder *b);

/* The assignment that Server.Profile owes its value to by now; NULL: none, or one that is no usable name
 * (no slash, no dot in front). Borrowed until the next call. */
const struct unit_entry *config_builder_profile(const struct config_builder *b);
/* With Profile=auto: does the text of a profile say that the command is its own? 1, 0, -ENOMEM. */
must_check int config_builder_claims(const struct config_builder *b, const char *text, size_t n);
/* The name that Profile=auto has come to. -ENOMEM only. */
must_check int config_builder_settle_profile(struct config_builder *b, const char *name);
/* The profile's text; it goes under everything that was added with the functions above. */
must_check int config_builder_add_profile(struct config_builder *b, const char *file, const char *text,
                                          size_t n);

/* *ret is the configuration; or -EINVAL, and *ret_errors is one line for each mistake. The builder can
 * only be freed afterwards. */
must_check int config_builder_finish(struct config_builder *b, struct config **ret, char ***ret_errors);
