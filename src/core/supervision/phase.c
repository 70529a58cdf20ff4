/* SPDX-License-Identifier: MIT */
#include "core/supervision/phase.h"

#define X(constant, name, text) [constant] = name,
static const char *const phase_names[] = {PHASES(X)};
#undef X
#define X(constant, name, text) [constant] = text,
static const char *const phase_texts[] = {PHASES(X)};
#undef X
#define X(constant, name) [constant] = name,
static const char *const unit_state_names[] = {UNIT_STATES(X)};
#undef X

const char *phase_name(enum phase p)
{
    return phase_names[p];
}

const char *phase_text(enum phase p)
{
    return phase_texts[p];
}

const char *unit_state_name(enum unit_state s)
{
    return unit_state_names[s];
}

const char *exit_code_text(int code)
{
    switch (code) {
#define X(constant, value, text) \
    case value:                  \
        return text;
        EXIT_CODES(X)
#undef X
    default:
        return "unknown exit code";
    }
}
