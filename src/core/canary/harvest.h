/* SPDX-License-Identifier: MIT */
#pragma once

/* What answers carry: generated text, counts, names, numbers; the same picture for every API. */

#include <jansson.h>

#include "base/str.h"
#include "core/config/config.h"

/* So much of the text is kept, of answer and thoughts each. */
#define HARVEST_TEXT_MAX ((size_t) 16 * 1024)

/* Zero-initialise; free with harvest_release(). */
struct harvest {
    struct strbuf text;     /* of the answer: its beginning */
    struct strbuf thoughts; /* of a reasoning model: their beginning */
    size_t text_bytes;      /* of both, kept or not */
    uint64_t pieces;        /* parts of the answer that had text in them */
    uint64_t counted;       /* generated tokens as the server counts them; 0: it does not say */
    uint64_t results;       /* vectors, scores, outputs: of APIs that generate no text */
    char *model;            /* that the answer names; NULL */
    char *finish;           /* the server's reason for the end; NULL */
    size_t taken;           /* bytes of a text that comes from its beginning each time */
    bool recognised;        /* it had the shape that the API promises */
    bool finished;          /* a stream has said that this was its end */
    bool hidden;            /* tokens were generated that the server does not show */
    bool not_finite;        /* log-probability, vector or score that is no number */
    bool zeros;             /* a vector of zeros */
};

/* Adds what a whole answer, or an event of a streamed one, holds. -ENOMEM only. */
must_check int harvest_add(struct harvest *h, enum canary_kind kind, bool streamed, const json_t *root);
/* Adds text as it stands. -ENOMEM only. */
must_check int harvest_add_text(struct harvest *h, const char *text, size_t n);
void harvest_release(struct harvest *h);
