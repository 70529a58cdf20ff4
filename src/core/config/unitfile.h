/* SPDX-License-Identifier: MIT */
#pragma once

/* The syntax of unit files, as systemd.syntax(7) has it: sections, `Key=Value`, comments (# and ;),
 * lines continued by a backslash, with comments in between. What sections and keys mean is not known
 * here; configuration, profiles, signatures and classes are all read by this one parser. */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "core/config/problems.h"

#define UNITFILE_MAX_BYTES ((size_t) 4 << 20)
/* Of one line, and of one value with its continuations. */
#define UNITFILE_MAX_LINE ((size_t) 1 << 20)
/* Of a section's header and of a key. */
#define UNITFILE_MAX_NAME ((size_t) 255)

/* A section's header (key NULL) or an assignment below it. */
struct unit_entry {
    char *section;    /* "Canary" of [Canary sampled] */
    char *argument;   /* "sampled", NULL where there is none; may have been quoted */
    char *key;        /* NULL: the header, so that a section without assignments exists too */
    char *value;      /* without blanks around it; "" for `Key=` */
    char **words;     /* taken literally in place of `value`; never from a file */
    const char *file; /* borrowed from the caller */
    unsigned line;    /* where the entry begins; 0 when it stands in no file */
};

/* Zero-initialise; free with unitfile_release(). Entries own their key and value; section and argument
 * are shared by all entries below a header. */
struct unitfile {
    struct unit_entry *entries;
    size_t n;
    size_t allocated;
};

/* Appends what `text` (n bytes, no NUL needed behind it) says to u and what is wrong with it to p.
 * `file` is borrowed by the entries. -ENOMEM only, u and p then being incomplete but releasable. */
must_check int unitfile_parse(const char *file, const char *text, size_t n, struct unitfile *u,
                              struct problems *p);
/* Appends the header `Section [argument]` as it would stand between brackets; a problem is added where it
 * is none. -ENOMEM only. */
must_check int unitfile_add_section(struct unitfile *u, const char *header, const char *file,
                                    unsigned line, struct problems *p);
/* Appends an assignment below the last header, of which there must be one. -ENOMEM only. */
must_check int unitfile_add(struct unitfile *u, const char *key, const char *value, const char *file,
                            unsigned line);
void unitfile_release(struct unitfile *u);
#define _cleanup_unitfile_ _cleanup_(unitfile_release)
