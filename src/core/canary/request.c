/* SPDX-License-Identifier: MIT */
#include "core/canary/request.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/str.h"

/* Digits that show a temperature as the operator wrote it: 0.6, not 0.59999999999999998. */
#define REAL_DIGITS 6

void canary_request_release(struct canary_request *r)
{
    free(r->path);
    free(r->body);
    *r = (struct canary_request){};
}

static const char *usual_path(enum canary_kind kind)
{
    switch (kind) {
    case CANARY_CHAT:
        return "/v1/chat/completions";
    case CANARY_COMPLETIONS:
        break;
    }
    return "/v1/completions";
}

/* NULL only when memory is out: JSON knows no invalid UTF-8, a configuration file may. */
static json_t *text(const char *s)
{
    _cleanup_free_ char *clean = utf8_sanitize(str_or_empty(s), strlen(str_or_empty(s)));

    return clean ? json_string(clean) : NULL;
}

static json_t *prompt_as_messages(const char *prompt)
{
    return json_pack("[{s:s, s:o}]", "role", "user", "content", text(prompt));
}

static int set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}

/* What is below 0 (or no number) is left to the server. */
static int set_real(json_t *object, const char *key, double value)
{
    return value >= 0 && isfinite(value) ? set(object, key, json_real(value)) : 0;
}

static int set_prompt(json_t *object, const struct canary_config *c)
{
    switch (c->kind) {
    case CANARY_CHAT:
        return set(object, "messages", prompt_as_messages(c->prompt));
    case CANARY_COMPLETIONS:
        break;
    }
    return set(object, "prompt", text(c->prompt));
}

static int fill_body(json_t *object, const struct canary_config *c, const char *model)
{
    int r = model ? set(object, "model", text(model)) : 0;

    if (r == 0)
        r = set_prompt(object, c);
    if (r == 0)
        r = set(object, "max_tokens",
                json_integer((json_int_t) MIN(c->max_tokens, (uint64_t) INT64_MAX)));
    if (r == 0)
        r = set_real(object, "temperature", c->temperature);
    if (r == 0)
        r = set_real(object, "top_p", c->top_p);
    if (r == 0)
        r = set(object, "stream", json_false());
    return r;
}

static int append(const char *bytes, size_t n, void *buffer)
{
    strbuf_append_n(buffer, bytes, n);
    return 0;
}

/* Not json_dumps(): where memory runs out on an object's key, it leaves the key out and goes on.
 * The buffer remembers. */
static char *write_out(const json_t *object)
{
    _cleanup_strbuf_ struct strbuf b = {};
    size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS);

    return json_dump_callback(object, append, &b, flags) < 0 ? NULL : strbuf_steal(&b);
}

int canary_build(const struct canary_config *c, const char *model, struct canary_request *ret)
{
    json_auto_t *object = json_object();
    _cleanup_free_ char *path = strdup(c->path ? c->path : usual_path(c->kind));
    _cleanup_free_ char *body = NULL;

    if (!object || !path || fill_body(object, c, model) < 0)
        return -ENOMEM;
    body = write_out(object);
    if (!body)
        return -ENOMEM;
    ret->path = steal_pointer(&path);
    ret->body = steal_pointer(&body);
    return 0;
}
