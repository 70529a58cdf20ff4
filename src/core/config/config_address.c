/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>

#include "base/parse.h"
#include "core/config/config_value.h"

#define HOST_MAX_BYTES 253
#define SOCKET_PATH_MAX 108 /* sun_path of unix(7) */

static int explain(const struct config_input *in, const char *what)
{
    strbuf_append(in->why, what);
    return -EINVAL;
}

static int parse_port(const char *s, uint64_t *ret)
{
    uint64_t port;
    size_t n = strlen(s);

    if (n == 0 || n > 5 || strspn(s, "0123456789") != n)
        return -EINVAL;
    if (parse_u64(s, &port) < 0 || port < 1 || port > 65535)
        return -EINVAL;
    *ret = port;
    return 0;
}

static bool is_host_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");

    return n > 0 && n <= HOST_MAX_BYTES && s[n] == '\0';
}

static bool is_ipv6(const char *s)
{
    unsigned char address[16];

    return inet_pton(AF_INET6, s, address) == 1;
}

static bool is_ipv4(const char *s)
{
    unsigned char address[4];

    return inet_pton(AF_INET, s, address) == 1;
}

/* Splits "HOST", "HOST:PORT", "[IPV6]:PORT" in place; *ret_port is NULL without a port. */
static int split_authority(const struct config_input *in, char *s, char **ret_host, char **ret_port)
{
    char *colon, *bracket;

    if (*s == '[') {
        bracket = strchr(s, ']');
        if (!bracket || (bracket[1] != '\0' && bracket[1] != ':'))
            return explain(in, "the bracket is not closed in front of the port");
        *bracket = '\0';
        if (!is_ipv6(s + 1))
            return explain(in, "no IPv6 address between the brackets");
        *ret_host = s + 1;
        *ret_port = bracket[1] == ':' ? bracket + 2 : NULL;
        return 0;
    }
    colon = strchr(s, ':');
    if (colon && strchr(colon + 1, ':'))
        return explain(in, "an IPv6 address needs brackets around it");
    if (colon)
        *colon = '\0';
    *ret_host = s;
    *ret_port = colon ? colon + 1 : NULL;
    return 0;
}

static int join_authority(const char *prefix, const char *host, uint64_t port, char **field)
{
    const char *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";
    char *joined = str_format("%s%s%s%s:%u", prefix, open, host, close, (unsigned) port);

    if (!joined)
        return -ENOMEM;
    free(*field);
    *field = joined;
    return 0;
}

/* Always with a port, so that everybody who needs one finds it: scheme://host:port. */
static int parse_authority(const struct config_input *in, const char *scheme, char *authority,
                           uint64_t port, char **field)
{
    char *host, *port_text;
    size_t n = strcspn(authority, "/?#");
    int r;

    if (strchr(authority, '@'))
        return explain(in, "credentials do not belong here, Server.APIKeyFile= names a file with the key");
    if (authority[n] != '\0' && !str_equal(authority + n, "/"))
        return explain(in, "a path does not belong here, canaries have a Path= of their own");
    authority[n] = '\0';
    r = split_authority(in, authority, &host, &port_text);
    if (r < 0)
        return r;
    if (!is_host_name(host) && !is_ipv6(host))
        return explain(in, "no host");
    if (port_text && parse_port(port_text, &port) < 0)
        return explain(in, "the port is no number from 1 to 65535");
    return join_authority(scheme, host, port, field);
}

static int parse_socket(const struct config_input *in, const char *path, char **field)
{
    if (path[0] != '/')
        return explain(in, "no absolute path of a socket");
    if (strlen(path) >= SOCKET_PATH_MAX)
        return explain(in, "the socket's path is too long");
    return str_replace(field, in->text);
}

int config_parse_url(const struct config_input *in, char **field)
{
    const char *http = str_after(in->text, "http://"), *https = str_after(in->text, "https://");
    const char *path = str_after(in->text, "unix:");
    _cleanup_free_ char *authority = NULL;

    if (path)
        return parse_socket(in, path, field);
    if (!http && !https)
        return explain(in, "neither http:// nor https:// nor unix:");
    authority = strdup(http ? http : https);
    if (!authority)
        return -ENOMEM;
    return parse_authority(in, http ? "http://" : "https://", authority, http ? 80 : 443, field);
}

int config_parse_url_path(const struct config_input *in, char **field)
{
    if (in->text[0] != '/')
        return -EINVAL;
    for (const char *c = in->text; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~' || *c == '#')
            return explain(in, "it has characters that a URL cannot have, which must be written as %XX");
    }
    return str_replace(field, in->text);
}

int config_parse_listen(const struct config_input *in, char **field)
{
    _cleanup_free_ char *copy = strdup(in->text);
    char *host, *port_text;
    uint64_t port;
    int r;

    if (!copy)
        return -ENOMEM;
    r = split_authority(in, copy, &host, &port_text);
    if (r < 0)
        return r;
    if (!is_ipv4(host) && !is_ipv6(host))
        return explain(in, "no numeric address");
    if (!port_text || parse_port(port_text, &port) < 0)
        return explain(in, "the port is no number from 1 to 65535");
    return join_authority("", host, port, field);
}
