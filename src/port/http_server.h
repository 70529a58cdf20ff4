/* SPDX-License-Identifier: MIT */
#pragma once

/* A small HTTP server (libmicrohttpd) on the loop, without threads: GET and HEAD, one request a connection, no
 * bodies, and little memory. A client beyond HTTP_SERVER_CLIENTS waits in the kernel until another has gone. */

#include "port/loop.h"

#define HTTP_SERVER_CLIENTS 32

struct http_reply {
    unsigned status;
    const char *type; /* Content-Type; static */
    char *body;       /* malloc()ed, becomes the server's; NULL: 500 */
};

/* Answers the request for `path` (decoded, without the query), from the loop. */
typedef void (*http_server_fn)(const char *path, struct http_reply *ret_reply, void *userdata);

struct http_server;

/* Listens on ADDRESS:PORT or [ADDRESS]:PORT, numeric. A connection is closed after life_usec at the latest,
 * however busy it looks: nobody can keep the others out for long. Other methods than GET and HEAD get 405.
 * -EADDRINUSE, -EADDRNOTAVAIL, -EACCES: not to be had; -EINVAL: no such address. */
must_check int http_server_open(struct loop *l, const char *address, usec_t life_usec, http_server_fn fn,
                                void *userdata, struct http_server **ret);
/* Closes all connections. Not from within `fn`. */
void http_server_free(struct http_server *s);
DEFINE_CLEANUP(struct http_server *, http_server_free);
