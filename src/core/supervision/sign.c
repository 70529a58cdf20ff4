/* SPDX-License-Identifier: MIT */
#include "core/supervision/sign.h"

#define X(constant, text) [constant] = text,
static const char *const texts[] = {SIGNS(X)};
#undef X

const char *sign_text(enum sign s)
{
    return texts[s];
}
