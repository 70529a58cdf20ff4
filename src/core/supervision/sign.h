/* SPDX-License-Identifier: MIT */
#pragma once

/* Signs of work of a starting server. */

#include "base/macro.h"

/* X(constant, in words) */
#define SIGNS(X)                                       \
    X(SIGN_NONE, "none")                               \
    X(SIGN_PROBE, "a probe that passed")               \
    X(SIGN_OUTPUT, "output")                           \
    X(SIGN_BYTES, "bytes read or written")             \
    X(SIGN_PROCESSES, "processes that come and go")    \
    X(SIGN_COMPILER, "a compiler at work")             \
    X(SIGN_CACHE, "a directory that grows")            \
    X(SIGN_GPU, "GPU memory that grows")

#define X(constant, text) constant,
enum sign { SIGNS(X) N_SIGNS };
#undef X

const char *sign_text(enum sign s);
