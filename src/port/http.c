/* SPDX-License-Identifier: MIT */
#include "port/http.h"

#include <errno.h>

#include "port/http_transfer.h"

/* One descriptor that curl wants to be watched. */
struct watch {
    struct http *http;
    struct loop_io *io;
};

struct http {
    struct loop *loop;
    CURLM *multi;
    struct loop_timer *timer;
};

static void transfer_free(struct http_transfer *t)
{
    if (!t)
        return;
    if (t->easy)
        (void) curl_multi_remove_handle(t->http->multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    strbuf_release(&t->body);
    free(t);
}
DEFINE_CLEANUP(struct http_transfer *, transfer_free);

/* How it ended */

static usec_t duration_of(CURL *easy)
{
    curl_off_t usec = 0;

    (void) curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &usec);
    return usec > 0 ? (usec_t) usec : 0;
}

/* What we have cut off ourselves needs no words of the library. */
static const char *detail_of(const struct http_transfer *t, CURLcode code)
{
    if (code == CURLE_OK || t->enough || t->too_large)
        return NULL;
    return t->error[0] ? t->error : curl_easy_strerror(code);
}

/* Tells and frees. The owner may start and cancel others meanwhile. */
static void finish(struct http_transfer *done, CURLcode code)
{
    _cleanup_(transfer_freep) struct http_transfer *t = done;
    struct http_answer answer = {
        .outcome = http_transfer_outcome(t, code),
        .body = str_or_empty(t->body.data),
        .body_len = t->body.len,
        .total_usec = duration_of(t->easy),
        .detail = detail_of(t, code),
    };

    (void) curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &answer.status);
    t->fn(&answer, t->userdata);
}

static void collect_finished(struct http *h)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(h->multi, &left))) {
        struct http_transfer *t = NULL;

        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **) &t) == CURLE_OK && t)
            finish(t, message->data.result);
    }
}

/* curl on the loop */

static void on_io(int fd, int events, void *userdata)
{
    struct watch *w = userdata;
    struct http *h = w->http; /* the watch may be gone after the call */
    int running, bits = (events & LOOP_READ ? CURL_CSELECT_IN : 0) | (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0);

    (void) curl_multi_socket_action(h->multi, fd, bits, &running);
    collect_finished(h);
}

static void on_timer(void *userdata)
{
    struct http *h = userdata;
    int running;

    (void) curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    collect_finished(h);
}

static void watch_free(struct watch *w)
{
    if (!w)
        return;
    loop_io_free(w->io);
    free(w);
}

static struct watch *watch_new(struct http *h, curl_socket_t fd)
{
    struct watch *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->http = h;
    if (loop_io_new(h->loop, fd, 0, on_io, w, &w->io) == 0 && curl_multi_assign(h->multi, fd, w) == CURLM_OK)
        return w;
    watch_free(w);
    return NULL;
}

static int on_socket(CURL *easy unused, curl_socket_t fd, int what, void *userdata, void *socket_data)
{
    struct http *h = userdata;
    struct watch *w = socket_data;

    if (what == CURL_POLL_REMOVE) {
        watch_free(w);
        (void) curl_multi_assign(h->multi, fd, NULL);
        return 0;
    }
    if (!w)
        w = watch_new(h, fd);
    if (!w)
        return 0; /* left to the time-out: an error would end all transfers, and the multi handle for good */
    loop_io_set(w->io, (what & CURL_POLL_IN ? LOOP_READ : 0) | (what & CURL_POLL_OUT ? LOOP_WRITE : 0));
    return 0;
}

static int on_timeout_wanted(CURLM *multi unused, long msec, void *userdata)
{
    struct http *h = userdata;

    loop_timer_set(h->timer,
                   msec < 0 ? USEC_INFINITY : usec_add(loop_now().monotonic, (usec_t) msec * USEC_PER_MSEC));
    return 0;
}

/* The library is initialised once in a process's life; it has no way to be told that it is no longer needed. */
static int init_library(void)
{
    static bool done;

    if (!done && curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK)
        return -ENOMEM;
    done = true;
    return 0;
}

int http_new(struct loop *l, struct http **ret)
{
    _cleanup_(http_freep) struct http *h = calloc(1, sizeof *h);
    int r = init_library();

    if (!h || r < 0)
        return -ENOMEM;
    h->loop = l;
    h->multi = curl_multi_init();
    r = h->multi ? loop_timer_new(l, on_timer, h, &h->timer) : -ENOMEM;
    if (r < 0)
        return r;
    if (curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
        curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h) != CURLM_OK ||
        curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted) != CURLM_OK ||
        curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h) != CURLM_OK)
        return -EINVAL;
    *ret = steal_pointer(&h);
    return 0;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    if (h->multi)
        (void) curl_multi_cleanup(h->multi);
    loop_timer_free(h->timer);
    free(h);
}

/* A transfer */

/* Counts what has come; false once it is more than any honest answer. */
static bool admit(struct http_transfer *t, size_t n)
{
    t->received += n;
    t->too_large = t->received > t->max_bytes;
    return !t->too_large;
}

static size_t on_header(char *data unused, size_t size, size_t n, void *userdata)
{
    return admit(userdata, size * n) ? size * n : 0;
}

static bool status_is_good(CURL *easy)
{
    long status = 0;

    (void) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300;
}

/* Hands the piece on; 0 ends the transfer. */
static size_t pass_on(struct http_transfer *t, const char *data, size_t n)
{
    switch (t->chunk(data, n, loop_now().monotonic, t->userdata)) {
    case HTTP_MORE:
        return n;
    case HTTP_ENOUGH:
        t->enough = true;
        break;
    case HTTP_OVERFLOW:
        t->too_large = true;
        break;
    }
    return 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *userdata)
{
    struct http_transfer *t = userdata;

    if (t->chunk && status_is_good(t->easy))
        return pass_on(t, data, size * n);
    if (!admit(t, size * n))
        return 0;
    strbuf_append_n(&t->body, data, size * n);
    return t->body.failed ? 0 : size * n;
}

static bool set_callbacks(struct http_transfer *t)
{
    return HTTP_SET(t, CURLOPT_PRIVATE, t) && HTTP_SET(t, CURLOPT_ERRORBUFFER, t->error) &&
           HTTP_SET(t, CURLOPT_HEADERFUNCTION, on_header) && HTTP_SET(t, CURLOPT_HEADERDATA, t) &&
           HTTP_SET(t, CURLOPT_WRITEFUNCTION, on_body) && HTTP_SET(t, CURLOPT_WRITEDATA, t);
}

int http_transfer_start(struct http *h, const struct http_request *r, bool connect_only, http_fn fn,
                        void *userdata, struct http_transfer **ret)
{
    _cleanup_(transfer_freep) struct http_transfer *t = calloc(1, sizeof *t);
    int error;

    if (!t)
        return -ENOMEM;
    *t = (struct http_transfer){
        .http = h,
        .max_bytes = r->max_bytes,
        .chunk = r->chunk,
        .fn = fn,
        .userdata = userdata,
    };
    error = http_transfer_set_up(t, r);
    if (error < 0)
        return error;
    if (!set_callbacks(t) || !HTTP_SET(t, CURLOPT_CONNECT_ONLY, connect_only ? 1L : 0L) ||
        curl_multi_add_handle(h->multi, t->easy) != CURLM_OK)
        return -ENOMEM;
    *ret = steal_pointer(&t);
    return 0;
}

int http_start(struct http *h, const struct http_request *r, http_fn fn, void *userdata,
               struct http_transfer **ret)
{
    return http_transfer_start(h, r, false, fn, userdata, ret);
}

void http_cancel(struct http_transfer *t)
{
    transfer_free(t);
}

