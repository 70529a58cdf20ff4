/* SPDX-License-Identifier: MIT */
#include "core/config/config_text.h"

#include <inttypes.h>

#include "base/parse.h"

static const struct {
    usec_t usec;
    const char *name;
} span_units[] = {
    {USEC_PER_DAY, "d"}, {USEC_PER_HOUR, "h"},    {USEC_PER_MINUTE, "min"},
    {USEC_PER_SEC, "s"}, {USEC_PER_MSEC, "ms"}, {1, "us"},
};

void config_text_timespan(struct strbuf *b, usec_t span)
{
    const char *separator = "";

    if (span == USEC_INFINITY) {
        strbuf_append(b, "infinity");
        return;
    }
    if (span == 0)
        strbuf_append(b, "0");
    for (size_t i = 0; i < ARRAY_SIZE(span_units); i++) {
        usec_t count = span / span_units[i].usec;

        if (count == 0)
            continue;
        strbuf_appendf(b, "%s%" PRIu64 "%s", separator, count, span_units[i].name);
        span -= count * span_units[i].usec;
        separator = " ";
    }
}

void config_text_size(struct strbuf *b, uint64_t size)
{
    static const char suffixes[] = "KMGTP";
    size_t i = 0;

    if (size == UINT64_MAX) {
        strbuf_append(b, "infinity");
        return;
    }
    for (; size > 0 && size % 1024 == 0 && suffixes[i] != '\0'; i++)
        size /= 1024;
    strbuf_appendf(b, "%" PRIu64, size);
    if (i > 0)
        strbuf_append_char(b, suffixes[i - 1]);
}

/* parse_double() knows no exponent, so %g is of no use for what is very small. */
void config_text_real(struct strbuf *b, double value)
{
    char text[512];
    double back;

    for (int digits = 0; digits <= 40; digits++) {
        (void) snprintf(text, sizeof(text), "%.*f", digits, value);
        if (parse_double(text, &back) == 0 && back == value)
            break;
    }
    strbuf_append(b, text);
}
