/* SPDX-License-Identifier: MIT */
#pragma once

/* Files in unit-file syntax, read whole. What cannot be read becomes a problem for people. */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "core/config/problems.h"

/* More files in one directory than these are a mistake. */
#define CONF_MAX_FILES 1000

struct conf_text {
    char *path;
    char *text; /* may contain NUL bytes: `len` is its length */
    size_t len;
};

/* Zero-initialise; free with conf_texts_release(). */
struct conf_texts {
    struct conf_text *items;
    size_t n;
};

/* Appends the file at path. `expected` is what the message says should be there. 1: read; 0: it could not
 * be, and p says why. -ENOMEM. */
must_check int conf_read_file(const char *path, const char *expected, struct conf_texts *t,
                              struct problems *p);
/* Appends *.conf of all directories, in the order of the directories and of the names within each. A
 * file is passed over where a later directory has one of its name, or where it is a link to /dev/null. A
 * directory that is absent has no files. -ENOMEM only. */
must_check int conf_read_dirs(const char *const *dirs, size_t n_dirs, struct conf_texts *t,
                              struct problems *p);
/* The names of a directory's *.conf files without the suffix, sorted. -ENOMEM, and what opendir() says. */
must_check int conf_list_dir(const char *dir, char ***ret);
void conf_texts_release(struct conf_texts *t);
#define _cleanup_conf_texts_ _cleanup_(conf_texts_release)
