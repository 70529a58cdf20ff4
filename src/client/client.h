/* SPDX-License-Identifier: MIT */
#pragma once

/* A model server as its users reach it, and what is known of it: its address, the key, its model. */

#include "core/canary/answer.h"
#include "core/config/config.h"
#include "port/http.h"
#include "port/loop.h"

struct client;

/* The configuration is borrowed until client_reconfigure(). */
must_check int client_new(struct loop *l, const struct config *config, struct client **ret);
/* Everything that was started with it must be cancelled or over. */
void client_free(struct client *c);
DEFINE_CLEANUP(struct client *, client_free);

/* Another configuration of the same server, whose address stays what it was. */
void client_reconfigure(struct client *c, const struct config *config);
/* Another server: its address is that of the configuration at hand, its model is not known, nor are the
 * names that it answers under. -ENOMEM leaves all as it was. */
must_check int client_renew(struct client *c);

const struct config *client_config(const struct client *c);
struct loop *client_loop(const struct client *c);
/* The server's address, as Server.URL has it. */
const char *client_base(const struct client *c);
/* The model's name in requests; NULL while it is not known, or when none is wanted. */
const char *client_model(const struct client *c);
/* -ENOMEM leaves it as it was. */
must_check int client_set_model(struct client *c, const char *model);

/* The name that answers to the canary have carried so far, or NULL; and one to keep. */
const char *client_known_model(const struct client *c, const char *canary);
must_check int client_know_model(struct client *c, const char *canary, const char *model);

/* Starts a transfer to the server, or to another base (NULL: the server's), with its key and its
 * certificates: base, bearer and ca_file of the request are filled in. *ret_why, static, says what is wrong
 * with -EINVAL; other errors as errno has them. */
must_check int client_start(struct client *c, const char *base, const struct http_request *request, http_fn fn,
                            void *userdata, struct http_transfer **ret, const char **ret_why);
/* A look whether anything accepts connections at its address. */
must_check int client_knock(struct client *c, usec_t timeout_usec, http_knock_fn fn, void *userdata,
                            struct http_knock **ret);
