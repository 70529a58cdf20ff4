/* SPDX-License-Identifier: MIT */
#include "diagnosis.h"

#include <stdlib.h>

#include "base/str.h"
#include "unit.h"

struct catalog *diagnosis_catalog(const char *text)
{
    struct diagnosis d = {};

    assert_int_equal(diagnosis_init(&d, text), 0);
    normaliser_free(d.normaliser);
    matcher_free(d.matcher);
    evidence_free(d.evidence);
    return d.catalog;
}

int diagnosis_init(struct diagnosis *d, const char *catalog)
{
    struct catalog_text t = {.file = "test.conf", .text = catalog, .len = strlen(catalog)};
    _cleanup_strv_ char **errors = NULL;
    int r;

    *d = (struct diagnosis){};
    r = catalog_parse(&t, 1, &d->catalog, &errors);
    if (errors)
        fail_msg("%s", errors[0]);
    if (r == 0)
        r = normaliser_new(&d->normaliser);
    if (r == 0)
        r = matcher_new(d->catalog, NULL, NULL, 0, &d->matcher, &errors);
    return r == 0 ? evidence_new(d->catalog, &d->evidence) : r;
}

static void on_match(const struct match *m, void *userdata)
{
    struct diagnosis *d = userdata;
    int r = evidence_match(d->evidence, m);

    if (d->error == 0)
        d->error = r;
}

static void on_record(const struct record *record, void *userdata)
{
    struct diagnosis *d = userdata;
    int r = evidence_line(d->evidence, record, LOG_ANY);

    if (r == 0)
        r = matcher_scan(d->matcher, LOG_ANY, record->text, record->len, on_match, d);
    if (d->error == 0)
        d->error = r;
}

int diagnosis_line(struct diagnosis *d, const char *line)
{
    int r = normalise_line(d->normaliser, line, strlen(line), on_record, d);

    return r < 0 ? r : d->error;
}

void diagnosis_release(struct diagnosis *d)
{
    evidence_free(d->evidence);
    matcher_free(d->matcher);
    normaliser_free(d->normaliser);
    catalog_free(d->catalog);
}
