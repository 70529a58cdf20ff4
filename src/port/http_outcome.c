/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "port/http_transfer.h"

static enum http_outcome connect_outcome(CURL *easy)
{
    long os_error = 0;

    (void) curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
    switch (os_error) {
    case ECONNREFUSED:
        return HTTP_REFUSED;
    case ECONNRESET:
        return HTTP_RESET;
    case ETIMEDOUT:
        return HTTP_TIMEOUT;
    default:
        return HTTP_UNREACHABLE;
    }
}

/* The library calls a header that does not end a lack of memory. */
static enum http_outcome memory_outcome(CURL *easy)
{
    long connections = 0;

    (void) curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections);
    return connections > 0 ? HTTP_TOO_LARGE : HTTP_UNREACHABLE;
}

/* A server that went away meanwhile has not refused TLS: it may be loading, or be dying. Only the words tell:
 * OpenSSL's for an end that comes without a word, the system's for a reset. */
static enum http_outcome tls_outcome(const char *words)
{
    static const char *const broken_off[] = {"SSL_ERROR_SYSCALL", "unexpected eof", "reset by peer", "Broken pipe"};

    for (size_t i = 0; i < ARRAY_SIZE(broken_off); i++) {
        if (strstr(words, broken_off[i]))
            return HTTP_RESET;
    }
    return HTTP_TLS;
}

/* Whatever it is, once there was a connection it is the server's doing: it closed, or spoke no HTTP. */
static enum http_outcome other_outcome(CURL *easy)
{
    curl_off_t connected = 0;

    (void) curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected);
    return connected > 0 ? HTTP_RESET : HTTP_UNREACHABLE;
}

enum http_outcome http_transfer_outcome(const struct http_transfer *t, CURLcode code)
{
    if (t->too_large)
        return HTTP_TOO_LARGE;
    if (t->enough)
        return HTTP_COMPLETE;
    switch ((int) code) {
    case CURLE_OK:
        return HTTP_COMPLETE;
    case CURLE_COULDNT_CONNECT:
        return connect_outcome(t->easy);
    case CURLE_OPERATION_TIMEDOUT:
        return HTTP_TIMEOUT;
    case CURLE_FILESIZE_EXCEEDED:
        return HTTP_TOO_LARGE;
    case CURLE_OUT_OF_MEMORY:
        return memory_outcome(t->easy);
    case CURLE_SSL_CONNECT_ERROR:
        return tls_outcome(t->error);
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_PEER_FAILED_VERIFICATION:
        return HTTP_TLS;
    case CURLE_WRITE_ERROR: /* we could not keep it: there is no memory */
        return HTTP_UNREACHABLE;
    default:
        return other_outcome(t->easy);
    }
}
