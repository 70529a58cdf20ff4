/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "core/diagnosis/build.h"
#include "core/diagnosis/offline.h"

/* To somebody with only a log, a slow retry is one with a pause like another. */
static const char *retry_word(enum retry r)
{
    return retry_name(r == RETRY_SLOW ? RETRY_BACKOFF : r);
}

static void add_class(struct build *b, const struct root_cause *c)
{
    bool known = c->signature;
    json_t *captures;

    build_set(b, b->root, "fatal", json_boolean(c->fatal));
    build_set(b, b->root, "class", known ? json_string(c->class_name) : json_null());
    build_set(b, b->root, "signature", known ? json_string(c->signature) : json_null());
    captures = build_add_object(b, b->root, "captures");
    for (size_t i = 0; !b->failed && i < c->n_captures; i++)
        build_set_text(b, captures, c->captures[i].name, c->captures[i].value);
    build_set(b, b->root, "retry", c->fatal ? json_string(retry_word(c->policy.retry)) : json_null());
    if (c->cleanup != CLEANUP_NONE)
        build_set(b, b->root, "cleanup", json_string(cleanup_name(c->cleanup)));
    if (c->fatal)
        build_set_text(b, b->root, "fingerprint", c->fingerprint);
}

static void add_line(struct build *b, const struct root_cause *c)
{
    if (c->line) {
        build_set_number(b, b->root, "line", c->line_number);
        build_set_text(b, b->root, "text", c->line);
    } else {
        build_set(b, b->root, "line", json_null());
        build_set(b, b->root, "text", json_null());
    }
    build_set_texts(b, b->root, "before", c->before);
    build_set_texts(b, b->root, "after", c->after);
    build_set_text(b, b->root, "summary", c->summary);
    build_set_text(b, b->root, "hint", c->hint);
}

struct listing {
    struct build *build;
    json_t *array;
};

static int add_finding(const struct finding *f, void *userdata)
{
    struct listing *l = userdata;
    const struct signature *s = f->signature;
    json_t *item = json_object();

    build_append(l->build, l->array, item);
    if (l->build->failed)
        return -ENOMEM;
    build_set_text(l->build, item, "signature", s->id);
    build_set_text(l->build, item, "class", s->class->name);
    build_set(l->build, item, "rank", json_string(rank_name(s->rank)));
    build_set_number(l->build, item, "line", f->line_number);
    build_set_text(l->build, item, "text", f->line);
    build_set_number(l->build, item, "seen", f->seen);
    build_set_text(l->build, item, "why", outcome_text(f->outcome));
    return 0;
}

int offline_json(const struct offline *o, json_t **ret)
{
    struct build b = {.root = json_object()};
    struct listing listing = {.build = &b};
    struct root_cause cause = {};
    int r = b.root ? offline_root_cause(o, &cause) : -ENOMEM;

    if (r == 0) {
        add_class(&b, &cause);
        add_line(&b, &cause);
        build_set_text(&b, b.root, "phase", offline_phase(o));
        listing.array = build_add_array(&b, b.root, "candidates");
        if (!b.failed)
            (void) !offline_findings(o, add_finding, &listing);
        if (!cause.fatal)
            build_set_texts(&b, b.root, "likeliest", offline_likeliest(o));
    }
    root_cause_release(&cause);
    b.failed = b.failed || r < 0;
    if (!build_finish(&b))
        return -ENOMEM;
    *ret = b.root;
    return 0;
}
