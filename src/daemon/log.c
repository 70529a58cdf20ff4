/* SPDX-License-Identifier: MIT */
#include "daemon/log.h"

#include <errno.h>
#include <stdarg.h>

#include "base/str.h"
#include "port/journal.h"

#define LOG_MAX_FIELDS 24

struct log {
    const char *instance;
    bool journal;
};

int log_new(const char *instance, bool journal, struct log **ret)
{
    struct log *l = malloc(sizeof *l);

    if (!l)
        return -ENOMEM;
    *l = (struct log){ .instance = instance, .journal = journal };
    *ret = l;
    return 0;
}

void log_free(struct log *l)
{
    free(l);
}

static const char *event_id(enum log_event event)
{
    static const char *const ids[] = {
#define X(constant, id, text) [constant] = id,
        LOG_EVENTS(X)
#undef X
    };

    return ids[event];
}

/* The fields as FIELD=value strings; a failed allocation leaves the rest out rather than the record. */
struct fields {
    char *text[LOG_MAX_FIELDS];
    struct iovec iov[LOG_MAX_FIELDS];
    size_t n;
};

static void fields_add(struct fields *f, const char *name, const char *value)
{
    char *text;

    if (!value || f->n == LOG_MAX_FIELDS)
        return;
    text = str_format("%s=%s", name, value);
    if (!text)
        return;
    f->text[f->n] = text;
    f->iov[f->n] = (struct iovec){ .iov_base = text, .iov_len = strlen(text) };
    f->n++;
}

static void fields_release(struct fields *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->text[i]);
}

static int to_journal(const struct log *l, int priority, enum log_event event,
                      const struct log_field *fields, size_t n_fields, const char *message)
{
    _cleanup_(fields_release) struct fields f = {};
    char level[2] = { (char) ('0' + priority), '\0' };

    fields_add(&f, "MESSAGE", message);
    fields_add(&f, "PRIORITY", level);
    fields_add(&f, "SYSLOG_IDENTIFIER", "coalmined");
    fields_add(&f, "MESSAGE_ID", event_id(event));
    fields_add(&f, "COALMINE_INSTANCE", l->instance);
    for (size_t i = 0; i < n_fields; i++)
        fields_add(&f, fields[i].name, fields[i].value);
    return journal_send(f.iov, f.n);
}

void log_record(struct log *l, int priority, enum log_event event, const struct log_field *fields,
                size_t n_fields, const char *message)
{
    if (l->journal && to_journal(l, priority, event, fields, n_fields, message) >= 0)
        return;
    (void) fprintf(stderr, "coalmined[%s]: %s\n", l->instance, message);
}

void log_say(struct log *l, int priority, const char *fmt, ...)
{
    _cleanup_strbuf_ struct strbuf message = {};
    va_list args;

    va_start(args, fmt);
    strbuf_vappendf(&message, fmt, args);
    va_end(args);
    log_record(l, priority, LOG_PLAIN, NULL, 0, message.data ? message.data : fmt);
}
