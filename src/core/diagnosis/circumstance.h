/* SPDX-License-Identifier: MIT */
#pragma once

/* What the circumstances of an epoch's end say by themselves. */

#include "core/diagnosis/evidence.h"

/* Explanations in the order in which they are believed: those of lines by their rank, and among them
 * those of circumstances. */
enum weight {
    WEIGHT_FACT,        /* circumstances that no line can better: the wrong model answers */
    WEIGHT_CAUSE,       /* line */
    WEIGHT_KILLED,      /* the kernel took it for memory, a stranger has its port */
    WEIGHT_SUSPECT,     /* line */
    WEIGHT_OLD_CAUSE,   /* line of an earlier phase, where the last one has nothing but echoes */
    WEIGHT_CRASHED,     /* a fatal signal, or nothing but silence */
    WEIGHT_WRAPPER,     /* line */
    WEIGHT_ANSWERED,    /* the canary's verdict, which only describes */
    WEIGHT_SECONDARY,   /* line */
    WEIGHT_ENDED,       /* it is gone, and that is all */
    WEIGHT_BENIGN,      /* line; names what is harmless, where nothing at all happened */
    WEIGHT_NOTHING,
};

struct circumstance {
    enum weight weight;
    const char *class_name;
};

struct circumstance circumstance_judge(const struct circumstances *c);
/* Whether they alone say that the server lives and does not do its work. */
bool circumstance_is_hang(const struct circumstances *c);
/* What happened, in plain words: "killed by SIGSEGV, core dumped, while loading"; "" for ENDING_NONE.
 * Owned; NULL when memory is out. */
must_check char *circumstance_describe(const struct circumstances *c);
