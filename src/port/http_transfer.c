/* SPDX-License-Identifier: MIT */
#include "port/http_transfer.h"

#include <errno.h>
#include <limits.h>

#define SET(option, value) HTTP_SET(t, option, value)

/* Not what would go on in another line: a key comes from a file, and may be anything. */
static bool is_line(const char *s)
{
    for (; *s; s++) {
        if (((unsigned char) *s < 0x20 && *s != '\t') || *s == 0x7f)
            return false;
    }
    return true;
}

static int add_header(struct http_transfer *t, const char *header)
{
    struct curl_slist *more;

    if (header && !is_line(header))
        return -EINVAL;
    more = header ? curl_slist_append(t->headers, header) : NULL;
    if (!more)
        return -ENOMEM;
    t->headers = more;
    return 0;
}

static bool names(const char *header, const char *name)
{
    size_t n = strlen(name);

    return strncasecmp(header, name, n) == 0 && header[n] == ':';
}

static int add_own_headers(struct http_transfer *t, const struct http_request *r, bool *ret_typed)
{
    int error = 0;

    for (size_t i = 0; error == 0 && r->headers && r->headers[i]; i++) {
        *ret_typed = *ret_typed || names(r->headers[i], "Content-Type");
        error = add_header(t, r->headers[i]);
    }
    return error;
}

static int add_headers(struct http_transfer *t, const struct http_request *r)
{
    _cleanup_free_ char *bearer = NULL;
    bool typed = false;
    int error = add_own_headers(t, r, &typed);

    if (error == 0)
        error = add_header(t, "Accept: application/json, */*");
    if (error == 0 && r->body && !typed)
        error = add_header(t, "Content-Type: application/json");
    if (error == 0 && r->body)
        error = add_header(t, "Expect:"); /* no 100-continue: servers of this kind answer it late or never */
    if (error == 0 && r->bearer) {
        bearer = str_format("Authorization: Bearer %s", r->bearer);
        error = add_header(t, bearer);
    }
    return error;
}

/* Nothing of the environment has a say, and each transfer has a connection of its own. A name's slow lookup,
 * which is done in a thread, is not waited for when the transfer ends (CURLOPT_QUICK_EXIT). */
static bool set_manners(struct http_transfer *t)
{
    return SET(CURLOPT_NOSIGNAL, 1L) && SET(CURLOPT_QUICK_EXIT, 1L) && SET(CURLOPT_PROXY, "") &&
           SET(CURLOPT_NOPROXY, "*") && SET(CURLOPT_PROTOCOLS_STR, "http,https") &&
           SET(CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1) && SET(CURLOPT_FRESH_CONNECT, 1L) &&
           SET(CURLOPT_FORBID_REUSE, 1L) && SET(CURLOPT_FOLLOWLOCATION, 0L) &&
           SET(CURLOPT_HTTP_CONTENT_DECODING, 0L) && SET(CURLOPT_USERAGENT, "coalmine/" COALMINE_VERSION);
}

/* "unix:/run/x.sock" with "/v1" is http://localhost/v1 over that socket. */
static bool set_url(struct http_transfer *t, const struct http_request *r)
{
    const char *socket = str_after(r->base, "unix:");
    _cleanup_free_ char *url = str_format("%s%s", socket ? "http://localhost" : r->base, r->path);

    return url && SET(CURLOPT_URL, url) && (!socket || SET(CURLOPT_UNIX_SOCKET_PATH, socket));
}

/* Without a body, but with what kind of request it is. */
static bool set_method(struct http_transfer *t, const struct http_request *r)
{
    const char *usual = r->body ? "POST" : "GET";

    if (r->body && (!SET(CURLOPT_POST, 1L) || !SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) r->body_len) ||
                    !SET(CURLOPT_COPYPOSTFIELDS, r->body)))
        return false;
    if (str_equal(r->method, "HEAD"))
        return SET(CURLOPT_NOBODY, 1L);
    return !r->method || str_equal(r->method, usual) || SET(CURLOPT_CUSTOMREQUEST, r->method);
}

/* The operator's certificates instead of the system's, not beside them. */
static bool set_trust(struct http_transfer *t, const struct http_request *r)
{
    return !r->ca_file || (SET(CURLOPT_CAINFO, r->ca_file) && SET(CURLOPT_CAPATH, (char *) NULL));
}

/* Rounded up, and no more than the library can count. */
static long milliseconds(usec_t span)
{
    usec_t msec = span / USEC_PER_MSEC + (span % USEC_PER_MSEC > 0);

    return (long) MIN(MAX(msec, (usec_t) 1), (usec_t) INT_MAX);
}

/* A length that is announced can be refused before anything of it has come. */
static bool set_limits(struct http_transfer *t, const struct http_request *r)
{
    long msec = milliseconds(r->timeout_usec);

    return SET(CURLOPT_TIMEOUT_MS, msec) && SET(CURLOPT_CONNECTTIMEOUT_MS, msec) &&
           (r->chunk || SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t) r->max_bytes));
}

int http_transfer_set_up(struct http_transfer *t, const struct http_request *r)
{
    int error = add_headers(t, r);

    if (error < 0)
        return error;
    t->easy = curl_easy_init();
    if (!t->easy || !set_manners(t) || !set_limits(t, r) || !set_url(t, r) || !set_method(t, r) ||
        !set_trust(t, r) || !SET(CURLOPT_HTTPHEADER, t->headers))
        return -ENOMEM;
    return 0;
}
