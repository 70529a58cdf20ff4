/* SPDX-License-Identifier: MIT */
#include "client/models.h"

#include <errno.h>

#include "base/str.h"
#include "core/canary/models.h"

/* A list is no inference: a server that generates sends it at once. */
#define TIMEOUT_USEC (10 * USEC_PER_SEC)
#define MAX_BYTES ((size_t) 256 * 1024)
#define INDEX_PATH "/v2/repository/index"

struct models {
    struct client *client;
    struct http_transfer *transfer;
    models_fn fn;
    void *userdata;
};

static char *describe(struct client *c, const struct http_answer *a)
{
    _cleanup_(answer_release) struct answer answer = {};
    const char *path = client_config(c)->server.models_path;

    if (answer_open(a, &answer) < 0 || !answer.detail)
        return strdup(path);
    return str_format("%s: %s", path, answer.detail);
}

static void finish(struct models *m, const struct http_answer *a, enum verdict verdict)
{
    models_fn fn = m->fn;
    void *userdata = m->userdata;
    _cleanup_free_ char *detail = verdict == VERDICT_GENERATED ? NULL : describe(m->client, a);

    free(m);
    fn(verdict, detail, userdata);
}

/* A server without such a list is asked for no model in particular. */
static void on_answer(const struct http_answer *a, void *userdata)
{
    struct models *m = userdata;
    _cleanup_free_ char *model = NULL;
    enum verdict verdict = VERDICT_NONE;

    if (canary_pick_model(client_config(m->client)->server.model, a, &model, &verdict) < 0)
        verdict = VERDICT_NONE;
    else if (verdict == VERDICT_HTTP_4XX)
        verdict = VERDICT_GENERATED;
    if (verdict == VERDICT_GENERATED && model && client_set_model(m->client, model) < 0)
        verdict = VERDICT_NONE;
    finish(m, a, verdict);
}

int models_find(struct client *c, models_fn fn, void *userdata, struct models **ret, const char **ret_why)
{
    const char *path = client_config(c)->server.models_path;
    bool index = str_ends_with(path, INDEX_PATH);
    struct http_request request = {
        .path = path,
        .body = index ? "{}" : NULL,
        .body_len = index ? strlen("{}") : 0,
        .timeout_usec = TIMEOUT_USEC,
        .max_bytes = MAX_BYTES,
    };
    struct models *m = calloc(1, sizeof *m);
    int r;

    if (!m)
        return -ENOMEM;
    *m = (struct models){ .client = c, .fn = fn, .userdata = userdata };
    r = client_start(c, NULL, &request, on_answer, m, &m->transfer, ret_why);
    if (r < 0)
        free(m);
    else
        *ret = m;
    return r;
}

void models_cancel(struct models *m)
{
    if (!m)
        return;
    http_cancel(m->transfer);
    free(m);
}
