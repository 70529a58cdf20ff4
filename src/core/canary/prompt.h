/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macro.h"
#include "core/config/config.h"

/* What the model is told: the canary's prompt, behind a text of about PromptTokens= tokens if it asks for
 * one. Valid UTF-8, owned; NULL when memory is out. */
must_check char *canary_prompt(const struct canary_config *c);
