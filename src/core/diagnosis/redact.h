/* SPDX-License-Identifier: MIT */
#pragma once

/* Secrets never leave: tokens, keys, passwords, credentials in URLs. Copies with each secret's value
 * replaced by "[redacted]"; the caller owns them; NULL when memory is out. */

#include "base/cleanup.h"
#include "base/macro.h"

/* Any text: a log line, a message of a server. */
must_check char *redact_text(const char *text);
/* One VAR=VALUE: by the variable's name, and by the value's own look. */
must_check char *redact_environment(const char *assignment);
/* A command line, word by word: `--api-key X`, `--token=X`, and what redact_text() finds. -ENOMEM. */
must_check int redact_command(char *const *argv, char ***ret);
