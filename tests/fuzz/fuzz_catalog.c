/* SPDX-License-Identifier: MIT */
/* Any text as a catalog: mistakes are told, or all of it can be used. */

#include <assert.h>
#include <errno.h>

#include "base/str.h"
#include "core/diagnosis/catalog.h"
#include "core/diagnosis/matcher.h"
#include "core/diagnosis/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_set(const struct catalog *c, const struct signature_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        assert(set->indices[i] < c->n_signatures);
}

static void check_signature(const struct catalog *c, const struct signature *s)
{
    assert(s->id && strv_length(s->patterns) > 0 && s->file);
    assert(!s->class == (s->rank >= RANK_CONTEXT));
    assert(!s->decisive || s->rank < RANK_BENIGN);
    assert(catalog_signature(c, s->id) == s);
    check_set(c, &s->needs);
    check_set(c, &s->unless);
}

static void check_catalog(const struct catalog *c)
{
    for (size_t i = 0; i < c->n_classes; i++) {
        const struct class *class = &c->classes[i];

        assert(class->text && catalog_class(c, class->name) == class);
        assert((class->cleanup != CLEANUP_NONE) == (class->policy.retry == RETRY_AFTER_CLEANUP ||
                                                    class->policy.retry_serving == RETRY_AFTER_CLEANUP));
    }
    for (size_t i = 0; i < c->n_signatures; i++)
        check_signature(c, &c->signatures[i]);
}

static void ignore(const struct match *m, void *userdata)
{
    (void) userdata;
    assert(m->signature && !m->phase);
}

/* Its own text is as good a log as any. */
static void use(const struct catalog *c, const char *text, size_t n)
{
    _cleanup_free_ char *clean = utf8_sanitize(text, n);
    _cleanup_(matcher_freep) struct matcher *m = NULL;
    char **errors = NULL;

    assert(matcher_new(c, NULL, NULL, 0, &m, &errors) == 0);
    for (char *line = strtok(clean, "\n"); line; line = strtok(NULL, "\n"))
        assert(matcher_scan(m, LOG_ANY, line, strlen(line), ignore, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct catalog_text text = {.file = "fuzz.conf", .text = (const char *) bytes, .len = n};
    _cleanup_(catalog_freep) struct catalog *c = NULL;
    _cleanup_strv_ char **errors = NULL;
    int r = catalog_parse(&text, 1, &c, &errors);

    assert(r == 0 || r == -EINVAL);
    assert((r == 0) == (c != NULL) && (r == 0) == (strv_length(errors) == 0));
    if (r < 0)
        return 0;
    check_catalog(c);
    use(c, text.text, n);
    return 0;
}
