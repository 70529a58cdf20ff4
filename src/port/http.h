/* SPDX-License-Identifier: MIT */
#pragma once

/* HTTP client: curl multi on the loop. */

#include "core/canary/answer.h"
#include "port/loop.h"

struct http;
struct http_transfer;

/* What becomes of a transfer after a piece of its body. */
enum http_want {
    HTTP_MORE,
    HTTP_ENOUGH,   /* it ends as HTTP_COMPLETE, whatever the server would still send */
    HTTP_OVERFLOW, /* it ends as HTTP_TOO_LARGE */
};

typedef void (*http_fn)(const struct http_answer *answer, void *userdata);
/* A piece of the body of an answer with a good status (2xx), which then is not in the answer itself, and the
 * monotonic time of its arrival. It must not call functions of this header. */
typedef enum http_want (*http_chunk_fn)(const char *data, size_t n, usec_t at, void *userdata);

/* Zero-initialise what is not wanted. */
struct http_request {
    const char *base;        /* http://HOST:PORT, https://HOST:PORT or unix:/PATH */
    const char *path;        /* with a leading slash */
    const char *method;      /* NULL: GET, with a body POST */
    const char *body;        /* NULL: none; application/json unless a header says otherwise */
    size_t body_len;
    char *const *headers;    /* "Name: value" */
    const char *bearer;
    const char *ca_file;     /* NULL: the system's */
    usec_t timeout_usec;     /* for the whole transfer */
    size_t max_bytes;        /* of headers and of what is gathered of the body; beyond: HTTP_TOO_LARGE */
    http_chunk_fn chunk;     /* NULL: the whole body is gathered in the answer */
};

must_check int http_new(struct loop *l, struct http **ret);
/* Not from a callback; every transfer must have ended or been cancelled. */
void http_free(struct http *h);
DEFINE_CLEANUP(struct http *, http_free);

/* Starts a transfer on a connection of its own, which is closed at its end: no redirect, no cookie, no
 * compression, no proxy. `fn` is called exactly once from the loop, unless http_cancel() comes first; it may
 * start and cancel others. -EINVAL: a key or a header with a control character in it. */
must_check int http_start(struct http *h, const struct http_request *r, http_fn fn, void *userdata,
                          struct http_transfer **ret);
/* Closes the connection; `fn` is not called. NULL is fine. Not for a transfer whose `fn` was called. */
void http_cancel(struct http_transfer *t);

/* Host (without brackets) and port of a URL, the scheme's own port where it names none. The host is owned
 * by the caller. -EINVAL: not such a URL, or that of a unix socket. */
must_check int http_endpoint(const char *url, char **ret_host, uint16_t *ret_port);

/* A look whether something accepts connections at http_request.base: connects and closes at once. `fn` gets 0 or
 * a negative errno (-ECONNREFUSED, -ETIMEDOUT, -ENETUNREACH ...), exactly once from the loop unless
 * http_knock_free() comes first, which `fn` itself may call. */
struct http_knock;
typedef void (*http_knock_fn)(int error, void *userdata);
must_check int http_knock(struct http *h, const char *base, usec_t timeout_usec, http_knock_fn fn,
                          void *userdata, struct http_knock **ret);
void http_knock_free(struct http_knock *k);
