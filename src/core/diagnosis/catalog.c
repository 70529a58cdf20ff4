/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/catalog.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/diagnosis/catalog_draft.h"

static int read_texts(const struct catalog_text *texts, size_t n, struct catalog *c, struct problems *p)
{
    _cleanup_unitfile_ struct unitfile u = {};
    struct catalog_draft drafts = {};
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = unitfile_parse(texts[i].file, texts[i].text, texts[i].len, &u, p);
    if (r == 0)
        r = catalog_draft_read(&u, &drafts, p);
    if (r == 0)
        r = catalog_finish(&drafts, c, p);
    catalog_draft_release(&drafts);
    return r;
}

int catalog_parse(const struct catalog_text *texts, size_t n_texts, struct catalog **ret, char ***ret_errors)
{
    _cleanup_(catalog_freep) struct catalog *c = calloc(1, sizeof(*c));
    _cleanup_problems_ struct problems problems = {};
    int r;

    if (!c)
        return -ENOMEM;
    r = read_texts(texts, n_texts, c, &problems);
    if (r < 0)
        return r;
    if (problems.n > 0) {
        r = problems_steal(&problems, ret_errors);
        return r < 0 ? r : -EINVAL;
    }
    *ret = steal_pointer(&c);
    return 0;
}

static void class_release(struct class *c)
{
    free(c->name);
    free(c->text);
    free(c->hint);
}

static void signature_release(struct signature *s)
{
    free(s->id);
    strv_free(s->engines);
    strv_free(s->patterns);
    free(s->needs.indices);
    free(s->unless.indices);
    free(s->owner);
    strv_free(s->fingerprint);
    free(s->hint);
}

void catalog_free(struct catalog *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_classes; i++)
        class_release(&c->classes[i]);
    for (size_t i = 0; i < c->n_signatures; i++)
        signature_release(&c->signatures[i]);
    free(c->classes);
    free(c->signatures);
    strv_free(c->files);
    free(c);
}

const struct class *catalog_class(const struct catalog *c, const char *name)
{
    for (size_t i = 0; i < c->n_classes; i++) {
        if (str_equal(c->classes[i].name, name))
            return &c->classes[i];
    }
    return NULL;
}

const struct signature *catalog_signature(const struct catalog *c, const char *id)
{
    for (size_t i = 0; i < c->n_signatures; i++) {
        if (str_equal(c->signatures[i].id, id))
            return &c->signatures[i];
    }
    return NULL;
}
