/* SPDX-License-Identifier: MIT */
#pragma once

/* The models that a server says it has. */

#include "core/canary/answer.h"

/* From the answer of ModelsPath: the model to ask for, which is `wanted` when the list has it, or the first
 * of the list when `wanted` is NULL. Verdicts: GENERATED when it is found, and then only *ret is set, owned;
 * WRONG_MODEL when `wanted` is not in the list; NOT_READY while the list is empty, or names the model as not
 * loaded; otherwise why there is none. A server that has no list (http-4xx) is believed to have what is wanted. -ENOMEM only. */
must_check int canary_pick_model(const char *wanted, const struct http_answer *answer, char **ret,
                                 enum verdict *ret_verdict);
