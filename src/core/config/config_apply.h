/* SPDX-License-Identifier: MIT */
#pragma once

/* From what unit files say to the values of a struct config. */

#include "core/config/config_origin.h"
#include "core/config/unitfile.h"
#include "core/config/words.h"

struct config_application {
    struct config *config; /* with defaults everywhere */
    struct problems *problems;
    struct specifiers specifiers;
    size_t n_assignments; /* so far, over all layers */
    bool partial;         /* assignments were passed over, for want of a section to put them in */
};

/* Applies one layer on top of those before; mistakes are added to the problems. -ENOMEM only. */
must_check int config_apply(struct config_application *a, enum config_layer layer, const struct unitfile *u);
