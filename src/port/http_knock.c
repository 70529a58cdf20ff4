/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "port/http_transfer.h"

static bool is_http(CURLU *parts)
{
    char *scheme = NULL;
    bool r = curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
             (str_equal(scheme, "http") || str_equal(scheme, "https"));

    curl_free(scheme);
    return r;
}

int http_endpoint(const char *url, char **ret_host, uint16_t *ret_port)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL, *copy = NULL;
    int r = -EINVAL;

    if (!parts)
        return -ENOMEM;
    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK && is_http(parts) &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        size_t len = strlen(host);
        bool bracketed = host[0] == '[' && len > 2;

        copy = bracketed ? strndup(host + 1, len - 2) : strdup(host);
        r = copy ? 0 : -ENOMEM;
    }
    if (r == 0) {
        *ret_host = copy;
        *ret_port = (uint16_t) strtoul(port, NULL, 10); /* the library has checked it */
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    return r;
}

/* A knock is a transfer that ends with its connection. */

struct http_knock {
    struct http_transfer *transfer;
    http_knock_fn fn;
    void *userdata;
};

static int knock_error(enum http_outcome outcome)
{
    switch (outcome) {
    case HTTP_COMPLETE:
        return 0;
    case HTTP_REFUSED:
        return -ECONNREFUSED;
    case HTTP_TIMEOUT:
        return -ETIMEDOUT;
    case HTTP_RESET:
    case HTTP_TOO_LARGE:
    case HTTP_TLS:
    case HTTP_UNREACHABLE:
    case HTTP_CANCELLED:
        break;
    }
    return -EHOSTUNREACH;
}

static void on_knocked(const struct http_answer *answer, void *userdata)
{
    struct http_knock *k = userdata;

    k->transfer = NULL;
    k->fn(knock_error(answer->outcome), k->userdata);
}

/* Without the scheme: of https only the TCP connection is wanted. */
static char *plain_base(const char *base)
{
    _cleanup_free_ char *host = NULL;
    uint16_t port;

    if (str_after(base, "unix:"))
        return strdup(base);
    if (http_endpoint(base, &host, &port) < 0)
        return NULL;
    return str_format(strchr(host, ':') ? "http://[%s]:%u" : "http://%s:%u", host, (unsigned) port);
}

int http_knock(struct http *h, const char *base, usec_t timeout_usec, http_knock_fn fn, void *userdata,
               struct http_knock **ret)
{
    _cleanup_free_ char *plain = plain_base(base);
    struct http_request request = { .base = plain, .path = "/", .timeout_usec = timeout_usec };
    struct http_knock *k = calloc(1, sizeof *k);
    int r;

    if (!k)
        return -ENOMEM;
    if (!plain) {
        free(k);
        return -EINVAL;
    }
    *k = (struct http_knock){ .fn = fn, .userdata = userdata };
    r = http_transfer_start(h, &request, true, on_knocked, k, &k->transfer);
    if (r < 0)
        free(k);
    else
        *ret = k;
    return r;
}

void http_knock_free(struct http_knock *k)
{
    if (!k)
        return;
    http_cancel(k->transfer);
    free(k);
}
