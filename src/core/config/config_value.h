/* SPDX-License-Identifier: MIT */
#pragma once

/* One value: from text into the member of a struct that a row of the table names, and back. */

#include "base/str.h"
#include "core/config/config_key.h"
#include "core/config/words.h"

struct config_input {
    const struct config_key *key;
    const char *text;
    char *const *words; /* literal words in place of `text` (COMMAND only), or NULL */
    const struct specifiers *specifiers;
    struct strbuf *why; /* gets what is wrong with the value, where there is more to say than what is
                         * expected */
};

/* Sets *field to the key's default. -ENOMEM only. */
must_check int config_value_default(const struct config_key *k, void *field);
/* Lists become empty, everything else gets its default. -ENOMEM only. */
must_check int config_value_reset(const struct config_key *k, void *field);
/* Parses in->text: a list gets longer, everything else is replaced; an empty text resets. -EINVAL: not
 * such a value; -ERANGE: out of the key's range; *field is then as it was. -ENOMEM. */
must_check int config_value_set(const struct config_input *in, void *field);
/* *to, which owns nothing, becomes a copy of *from. -ENOMEM leaves it as it was. */
must_check int config_value_copy(const struct config_key *k, const void *from, void *to);
/* Frees what *field owns. */
void config_value_release(const struct config_key *k, void *field);
/* NULL, an empty list, a REAL below 0: nothing is set. */
bool config_value_is_set(const struct config_key *k, const void *field);

/* The parsers of single types, with the contract of config_value_set(). */
must_check int config_parse_url(const struct config_input *in, char **field);
must_check int config_parse_url_path(const struct config_input *in, char **field);
must_check int config_parse_listen(const struct config_input *in, char **field);
must_check int config_parse_command(const struct config_input *in, char ***field);
must_check int config_parse_environment(const struct config_input *in, char ***field);
must_check int config_parse_names(const struct config_input *in, char ***field);
must_check int config_parse_pattern(const struct config_input *in, char ***field);
must_check int config_parse_header(const struct config_input *in, char ***field);
must_check int config_parse_metrics(const struct config_input *in, char ***field);
must_check int config_parse_directories(const struct config_input *in, char ***field);
must_check int config_parse_programs(const struct config_input *in, char ***field);

/* Letters, digits, "_", "-" and ".", at most 64, no "." in front. */
bool config_is_name(const char *s);
/* in->text with its specifiers replaced, owned by the caller. */
must_check int config_expand(const struct config_input *in, char **ret);
/* Writes to *why that letter is no specifier. */
void config_explain_specifier(struct strbuf *why, char letter);
