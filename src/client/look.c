/* SPDX-License-Identifier: MIT */
#include "client/look.h"

#include <errno.h>

/* An engine whose loop hangs may answer this no more than anything else. */
#define TIMEOUT_USEC (5 * USEC_PER_SEC)
#define HEADERS_MAX_BYTES ((size_t) 64 * 1024)

struct look {
    struct http_transfer *transfer;
    struct activity_reader *reader;
    look_fn fn;
    void *userdata;
};

static void look_free(struct look *l)
{
    if (!l)
        return;
    activity_reader_free(l->reader);
    free(l);
}
DEFINE_CLEANUP(struct look *, look_free);

static bool is_good(const struct http_answer *a)
{
    return a->outcome == HTTP_COMPLETE && answer_status_verdict(a->status) == VERDICT_GENERATED;
}

static void on_answer(const struct http_answer *a, void *userdata)
{
    _cleanup_(look_freep) struct look *l = userdata;
    struct activity activity = {};

    if (is_good(a) && activity_reader_end(l->reader, &activity) < 0)
        activity = (struct activity){};
    l->fn(&activity, l->userdata);
}

static enum http_want on_chunk(const char *data, size_t n, usec_t at unused, void *userdata)
{
    struct look *l = userdata;

    return activity_reader_feed(l->reader, data, n) < 0 ? HTTP_OVERFLOW : HTTP_MORE;
}

bool look_possible(const struct client *c)
{
    return client_config(c)->live.metrics_path != NULL;
}

int look_start(struct client *c, look_fn fn, void *userdata, struct look **ret)
{
    const struct live_config *live = &client_config(c)->live;
    _cleanup_(look_freep) struct look *l = calloc(1, sizeof *l);
    struct http_request request = {
        .path = live->metrics_path,
        .timeout_usec = TIMEOUT_USEC,
        .max_bytes = HEADERS_MAX_BYTES,
        .chunk = on_chunk,
    };
    const char *why;
    int r;

    if (!l)
        return -ENOMEM;
    l->fn = fn;
    l->userdata = userdata;
    r = activity_reader_new(live, &l->reader);
    if (r == 0)
        r = client_start(c, live->metrics_url, &request, on_answer, l, &l->transfer, &why);
    if (r < 0)
        return r;
    *ret = steal_pointer(&l);
    return 0;
}

void look_cancel(struct look *l)
{
    if (!l)
        return;
    http_cancel(l->transfer);
    look_free(l);
}
