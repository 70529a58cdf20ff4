/* SPDX-License-Identifier: MIT */
#include "daemon/counters.h"

#include "base/str.h"

void counters_started(struct counters *c)
{
    c->starts++;
}

void counters_ready(struct counters *c, usec_t start_usec)
{
    c->readies++;
    c->last_start_usec = start_usec;
}

void counters_canary(struct counters *c, enum verdict verdict, usec_t usec)
{
    static const usec_t bounds[N_CANARY_BUCKETS] = CANARY_BUCKETS_MSEC;
    size_t bucket = 0;

    while (bucket < N_CANARY_BUCKETS && usec > bounds[bucket] * USEC_PER_MSEC)
        bucket++;
    c->canaries[verdict]++;
    c->canary_buckets[bucket]++;
    c->canary_usec = usec_add(c->canary_usec, usec);
}

static struct class_count *find_class(struct counters *c, const char *class_name)
{
    for (size_t i = 0; i < c->n_failures; i++)
        if (str_equal(c->failures[i].class_name, class_name))
            return &c->failures[i];
    return NULL;
}

static struct class_count *add_class(struct counters *c, const char *class_name)
{
    struct class_count *more = reallocarray(c->failures, c->n_failures + 1, sizeof *more);

    if (!more)
        return NULL;
    c->failures = more;
    more[c->n_failures] = (struct class_count){ .class_name = strdup(class_name) };
    return more[c->n_failures].class_name ? &more[c->n_failures++] : NULL;
}

void counters_failed(struct counters *c, const char *class_name)
{
    struct class_count *count = find_class(c, class_name);

    if (!count)
        count = add_class(c, class_name);
    if (count)
        count->n++;
}

void counters_release(struct counters *c)
{
    for (size_t i = 0; i < c->n_failures; i++)
        free(c->failures[i].class_name);
    free(c->failures);
    *c = (struct counters){};
}
