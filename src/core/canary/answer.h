/* SPDX-License-Identifier: MIT */
#pragma once

/* A server's answer taken apart, as canary and list of models both need it: the transfer, the status, the
 * JSON, and the error that the server may tell of in it. */

#include <jansson.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/timeutil.h"
#include "core/canary/verdict.h"

/* How a transfer ended below HTTP. */
enum http_outcome {
    HTTP_COMPLETE, /* status, headers and the whole body came */
    HTTP_REFUSED,
    HTTP_RESET, /* closed, reset or malformed before the end */
    HTTP_TIMEOUT,
    HTTP_TOO_LARGE,
    HTTP_TLS,
    HTTP_UNREACHABLE, /* name, route, local error */
    HTTP_CANCELLED,
};

struct http_answer {
    enum http_outcome outcome;
    long status;     /* 0 when no status line came */
    const char *body; /* borrowed, not NUL-terminated; may hold any byte */
    size_t body_len;
    usec_t total_usec;
    const char *detail; /* the library's words for a failed transfer, or NULL; borrowed */
};

/* Longest detail, in bytes. */
#define ANSWER_DETAIL_MAX 200

struct answer {
    enum verdict verdict; /* GENERATED stands for: JSON that tells of no error */
    json_t *root;         /* that object or array, owned; otherwise NULL */
    bool not_finite;      /* a bare NaN stood in it */
    char *detail;         /* one line, owned; NULL when the verdict says it all */
};

/* Whatever came gives a verdict. -ENOMEM only. */
must_check int answer_open(const struct http_answer *a, struct answer *ret);
/* The same for a part of an answer with that status, such as one event of a stream. */
must_check int answer_open_text(const char *text, size_t n, long status, struct answer *ret);
void answer_release(struct answer *a);
/* What the end of a transfer says by itself; GENERATED for HTTP_COMPLETE. */
enum verdict answer_transfer_verdict(enum http_outcome outcome);
/* What a status says by itself; GENERATED for a good one. */
enum verdict answer_status_verdict(long status);

/* `prefix` and n bytes of a stranger's text as one line of valid UTF-8: control characters and runs of
 * white space are one space each, what is longer than ANSWER_DETAIL_MAX is cut. NULL when memory is out. */
must_check char *answer_line(const char *prefix, const char *text, size_t n);
