/* SPDX-License-Identifier: MIT */
#include "daemon/health_http.h"

#include <errno.h>

#include "base/str.h"
#include "daemon/metrics.h"
#include "daemon/supervisor.h"
#include "port/http_server.h"

#define RETRY_USEC (5 * USEC_PER_SEC)
#define CLIENT_USEC (10 * USEC_PER_SEC)

enum { HTTP_OK = 200, HTTP_NOT_FOUND = 404, HTTP_UNAVAILABLE = 503 };

struct health_http {
    const struct supervisor *supervisor;
    struct http_server *server; /* NULL while the address cannot be had */
    struct loop_timer *retry;
    bool complained;
};

static char *with_newline(char *text)
{
    char *line = text ? str_format("%s\n", text) : NULL;

    free(text);
    return line;
}

static void answer_ready(const struct status *s, struct http_reply *reply)
{
    if (status_ready(s)) {
        reply->body = strdup("ok\n");
        return;
    }
    reply->status = HTTP_UNAVAILABLE;
    reply->body = with_newline(status_line(s));
}

/* That it answers is the answer: the loop turns. A server that fails is no reason to kill its supervisor. */
static void answer_live(const struct status *s unused, struct http_reply *reply)
{
    reply->body = strdup("ok\n");
}

static void answer_metrics(const struct status *s, struct http_reply *reply)
{
    reply->type = METRICS_TYPE;
    reply->body = metrics_text(s);
}

static void answer_status(const struct status *s, struct http_reply *reply)
{
    json_t *json = NULL;

    reply->type = "application/json";
    if (status_json(s, &json) < 0)
        return;
    reply->body = with_newline(json_dumps(json, JSON_INDENT(2)));
    json_decref(json);
}

static const struct page {
    const char *path;
    void (*answer)(const struct status *s, struct http_reply *reply);
} pages[] = {
    { "/readyz", answer_ready },
    { "/livez", answer_live },
    { "/metrics", answer_metrics },
    { "/status", answer_status },
};

static void on_request(const char *path, struct http_reply *reply, void *userdata)
{
    const struct health_http *h = userdata;
    struct status status = supervisor_status(h->supervisor);

    *reply = (struct http_reply){ .status = HTTP_OK, .type = "text/plain; charset=utf-8" };
    for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
        if (str_equal(path, pages[i].path)) {
            pages[i].answer(&status, reply);
            return;
        }
    }
    reply->status = HTTP_NOT_FOUND;
    reply->body = strdup("there are /readyz, /livez, /metrics and /status\n");
}

static void open_server(void *userdata)
{
    struct health_http *h = userdata;
    const struct supervisor *s = h->supervisor;
    const char *address = s->config->http.listen;
    int r = http_server_open(s->loop, address, CLIENT_USEC, on_request, h, &h->server);

    if (r == 0) {
        log_say(s->log, LOG_INFO, "Readiness and metrics on http://%s", address);
        return;
    }
    if (!h->complained)
        log_say(s->log, LOG_ERR, "No readiness and metrics on %s, trying again: %s", address, strerror(-r));
    h->complained = true;
    loop_timer_set(h->retry, usec_add(loop_now().monotonic, RETRY_USEC));
}

int health_http_new(const struct supervisor *s, struct health_http **ret)
{
    _cleanup_(health_http_freep) struct health_http *h = NULL;
    int r;

    if (!s->config->http.listen) {
        *ret = NULL;
        return 0;
    }
    h = calloc(1, sizeof *h);
    if (!h)
        return -ENOMEM;
    h->supervisor = s;
    r = loop_timer_new(s->loop, open_server, h, &h->retry);
    if (r < 0)
        return r;
    loop_timer_set(h->retry, 0);
    *ret = steal_pointer(&h);
    return 0;
}

void health_http_free(struct health_http *h)
{
    if (!h)
        return;
    http_server_free(h->server);
    loop_timer_free(h->retry);
    free(h);
}
