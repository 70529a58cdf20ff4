/* SPDX-License-Identifier: MIT */
#pragma once

/* What a secret looks like, and what the names of secrets are. */

#include <stdbool.h>
#include <stddef.h>

enum secrecy {
    SECRECY_NONE,
    SECRECY_WEAK,   /* "token": its value is secret if it does not look like a word or a number */
    SECRECY_STRONG, /* "password", "api_key": whatever the value is */
};

/* How secret is what a name stands for, in any spelling: api-key, API_KEY, apiKey. */
enum secrecy secret_name(const char *name, size_t n);
/* The same for an environment variable, where any ..._KEY is one, and a ..._FILE or ..._PATH is none. */
bool secret_variable(const char *name, size_t n);
/* The length of a token at s that is recognised by its own shape (hf_..., sk-..., AKIA..., a JWT), 0 if
 * there is none. s stands where a word begins. */
size_t secret_token_length(const char *s);
/* Whether a value, given its name's secrecy, must not be shown: None, null, paths and placeholders may. */
bool secret_value(const char *value, size_t n, enum secrecy secrecy);
