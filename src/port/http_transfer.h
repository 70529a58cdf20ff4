/* SPDX-License-Identifier: MIT */
#pragma once

/* Between the files of the HTTP client: one transfer, from its request to its answer. */

#include <curl/curl.h>

#include "base/str.h"
#include "port/http.h"

struct http_transfer {
    struct http *http;
    CURL *easy;
    struct curl_slist *headers;
    struct strbuf body;
    size_t received; /* headers and body */
    size_t max_bytes;
    bool too_large;
    bool enough;
    http_chunk_fn chunk;
    char error[CURL_ERROR_SIZE];
    http_fn fn;
    void *userdata;
};

/* One option of the transfer's handle; false when the library refuses it. */
#define HTTP_SET(t, option, value) (curl_easy_setopt((t)->easy, (option), (value)) == CURLE_OK)

/* Makes the handle and sets what the request asks for. -EINVAL: a key or a header that is no line. */
must_check int http_transfer_set_up(struct http_transfer *t, const struct http_request *r);
/* What the library's code for the transfer's end means. */
enum http_outcome http_transfer_outcome(const struct http_transfer *t, CURLcode code);
/* As http_start(); a transfer that only connects ends with its connection. */
must_check int http_transfer_start(struct http *h, const struct http_request *r, bool connect_only, http_fn fn,
                                   void *userdata, struct http_transfer **ret);
