/* SPDX-License-Identifier: MIT */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>

#include "base/str.h"
#include "port/store.h"

#define KEY_MAX_BYTES ((size_t) 64 * 1024)

/* Under which name a canary was answered. */
struct known {
    char *canary;
    char *model;
};

struct client {
    struct loop *loop;
    struct http *http;
    const struct config *config;
    char *base;
    char *model;
    struct known *known;
    size_t n_known;
};

int client_new(struct loop *l, const struct config *config, struct client **ret)
{
    _cleanup_(client_freep) struct client *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return -ENOMEM;
    c->loop = l;
    c->config = config;
    r = http_new(l, &c->http);
    if (r == 0)
        r = client_renew(c);
    if (r < 0)
        return r;
    *ret = steal_pointer(&c);
    return 0;
}

static void forget(struct client *c)
{
    for (size_t i = 0; i < c->n_known; i++) {
        free(c->known[i].canary);
        free(c->known[i].model);
    }
    free(c->known);
    free(c->model);
    c->known = NULL;
    c->n_known = 0;
    c->model = NULL;
}

void client_free(struct client *c)
{
    if (!c)
        return;
    forget(c);
    http_free(c->http);
    free(c->base);
    free(c);
}

void client_reconfigure(struct client *c, const struct config *config)
{
    c->config = config;
}

int client_renew(struct client *c)
{
    int r = str_replace(&c->base, c->config->server.url);

    if (r == 0)
        forget(c);
    return r;
}

const struct config *client_config(const struct client *c)
{
    return c->config;
}

struct loop *client_loop(const struct client *c)
{
    return c->loop;
}

const char *client_base(const struct client *c)
{
    return c->base;
}

const char *client_model(const struct client *c)
{
    return c->model;
}

int client_set_model(struct client *c, const char *model)
{
    return str_replace(&c->model, model);
}

/* The names that answers carry */

static struct known *find_known(const struct client *c, const char *canary)
{
    for (size_t i = 0; i < c->n_known; i++) {
        if (str_equal(c->known[i].canary, canary))
            return &c->known[i];
    }
    return NULL;
}

const char *client_known_model(const struct client *c, const char *canary)
{
    const struct known *k = find_known(c, canary);

    return k ? k->model : NULL;
}

int client_know_model(struct client *c, const char *canary, const char *model)
{
    struct known *k = find_known(c, canary), *more;

    if (k)
        return str_replace(&k->model, model);
    more = reallocarray(c->known, c->n_known + 1, sizeof *more);
    if (!more)
        return -ENOMEM;
    c->known = more;
    k = &more[c->n_known];
    *k = (struct known){ .canary = strdup(canary), .model = strdup(model) };
    if (!k->canary || !k->model) {
        free(k->canary);
        free(k->model);
        return -ENOMEM;
    }
    c->n_known++;
    return 0;
}

/* Requests */

/* It is read anew each time: it may be rotated while the server runs. */
static int read_key(const struct client *c, char **ret, const char **ret_why)
{
    const char *file = c->config->server.api_key_file;
    char *key = NULL, *stripped;
    int r;

    if (!file)
        return 0;
    r = store_read(AT_FDCWD, file, KEY_MAX_BYTES, &key, NULL);
    if (r < 0) {
        *ret_why = "the key in APIKeyFile= cannot be read";
        return r == -ENOMEM ? r : -EINVAL;
    }
    stripped = str_strip(key);
    memmove(key, stripped, strlen(stripped) + 1);
    *ret = key;
    return 0;
}

int client_start(struct client *c, const char *base, const struct http_request *request, http_fn fn,
                 void *userdata, struct http_transfer **ret, const char **ret_why)
{
    _cleanup_free_ char *key = NULL;
    struct http_request r = *request;
    int error = read_key(c, &key, ret_why);

    if (error < 0)
        return error;
    r.base = base ? base : c->base;
    r.bearer = key;
    r.ca_file = c->config->server.ca_file;
    return http_start(c->http, &r, fn, userdata, ret);
}

int client_knock(struct client *c, usec_t timeout_usec, http_knock_fn fn, void *userdata,
                 struct http_knock **ret)
{
    return http_knock(c->http, c->base, timeout_usec, fn, userdata, ret);
}
