/* SPDX-License-Identifier: MIT */
#pragma once

/* A server's answer taken apart, as canary and list of models both need it: the transfer, the status, the
 * JSON, and the error that the server may tell of in it. */

#include <jansson.h>

#include "core/supervision/canary.h"

/* Longest detail, in bytes. */
#define ANSWER_DETAIL_MAX 200

struct answer {
    enum verdict verdict; /* GENERATED stands for: a JSON object that tells of no error */
    json_t *root;         /* that object, owned; otherwise NULL */
    char *detail;         /* one line, owned; NULL when the verdict says it all */
};

/* Whatever came gives a verdict. -ENOMEM only. */
must_check int answer_open(const struct http_answer *a, struct answer *ret);
void answer_release(struct answer *a);

/* `prefix` and n bytes of a stranger's text as one line of valid UTF-8: control characters and runs of
 * white space are one space each, what is longer than ANSWER_DETAIL_MAX is cut. NULL when memory is out. */
must_check char *answer_line(const char *prefix, const char *text, size_t n);
