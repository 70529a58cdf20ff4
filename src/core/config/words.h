/* SPDX-License-Identifier: MIT */
#pragma once

/* Command lines and lists as ExecStart= writes them: words between blanks, single and double quotes,
 * C escapes, no shell. And the specifiers (%i) inside them. */

#include "base/cleanup.h"
#include "base/macro.h"

#define WORDS_MAX 65536

/* Splits s. Quotes may begin anywhere in a word and are removed; in and outside of them \a \b \f \n \r
 * \t \v \\ \" \' \s (blank), \xHH, \NNN (octal), \uNNNN and \UNNNNNNNN stand for one character. `$`
 * means nothing. -EINVAL: *ret_why says what is wrong (static text). */
must_check int words_split(const char *s, char ***ret, const char **ret_why);
/* The opposite: text that words_split() and specifiers_expand() turn back into v. NULL when memory is
 * out. */
must_check char *words_join(char *const *v);

/* What %-specifiers stand for; a NULL one is unknown here. Borrowed. */
struct specifiers {
    const char *instance; /* %i */
    const char *data_dir; /* %D: profiles, signatures and probes that came with coalmine */
    const char *program;  /* %p: the first word of the server's command */
    const char *credentials; /* %d: where systemd has put the unit's credentials */
};

/* A copy of s with its specifiers replaced, owned by the caller; %% is one percent sign. -EINVAL: an
 * unknown specifier; *ret_bad is its letter ('\0' for a % at the end). */
must_check int specifiers_expand(const char *s, const struct specifiers *sp, char **ret, char *ret_bad);
/* The same for every word, in place. */
must_check int specifiers_expand_words(char **v, const struct specifiers *sp, char *ret_bad);
