/* SPDX-License-Identifier: MIT */
#pragma once

/* HTTP client: curl multi on the loop. */

#include "core/canary/answer.h"
#include "port/loop.h"

struct http;
struct http_transfer;

struct http_request {
    const char *url;
    const char *body;        /* NULL: GET; otherwise POST, application/json */
    const char *bearer;      /* NULL: none */
    const char *ca_file;     /* NULL: the system's */
    usec_t timeout_usec;     /* for the whole transfer */
    size_t max_bytes;        /* of headers and body; beyond: HTTP_TOO_LARGE */
};

typedef void (*http_fn)(const struct http_answer *answer, void *userdata);

must_check int http_new(struct loop *l, struct http **ret);
void http_free(struct http *h);
DEFINE_CLEANUP(struct http *, http_free);

/* Starts a transfer on a connection of its own, which is closed at its end: no redirect, no cookie, no
 * compression, no proxy. `fn` is called exactly once from the loop, unless http_cancel() comes first. */
must_check int http_start(struct http *h, const struct http_request *r, http_fn fn, void *userdata,
                          struct http_transfer **ret);
/* Closes the connection; `fn` is not called. NULL is fine. Not for a transfer whose `fn` was called. */
void http_cancel(struct http_transfer *t);

/* Host (without brackets) and port of a URL, the scheme's own port where it names none. The host is owned
 * by the caller. -EINVAL: not such a URL. */
must_check int http_endpoint(const char *url, char **ret_host, uint16_t *ret_port);

/* A look whether the URL's port accepts connections: connects (TCP only) and closes at once. `fn` gets 0 or
 * a negative errno (-ECONNREFUSED, -ETIMEDOUT, -ENETUNREACH ...), exactly once from the loop unless
 * http_knock_free() comes first, which `fn` itself may call. */
struct http_knock;
typedef void (*http_knock_fn)(int error, void *userdata);
must_check int http_knock(struct http *h, const char *url, usec_t timeout_usec, http_knock_fn fn,
                          void *userdata, struct http_knock **ret);
void http_knock_free(struct http_knock *k);
