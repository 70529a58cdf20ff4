/* SPDX-License-Identifier: MIT */
/* Every parser of base on the same text, and what must hold between them. */

#include <assert.h>

#include "base/parse.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_numbers(const char *text)
{
    uint64_t u;
    int64_t i;
    double d;
    bool b;

    if (parse_u64(text, &u) == 0 && u <= INT64_MAX)
        assert(parse_i64(text, &i) == 0 && (uint64_t) i == u);
    if (parse_i64(text, &i) == 0)
        assert(parse_double(text, &d) == 0);
    if (parse_double(text, &d) == 0)
        assert(d - d == 0);
    (void) !parse_bool(text, &b);
}

static void check_spans_and_sizes(const char *text)
{
    char buf[FORMAT_TIMESPAN_MAX], *told;
    uint64_t size, number;
    usec_t span, again;
    int signo;

    if (parse_timespan(text, &span) == 0) {
        told = format_timespan(buf, span);
        assert(parse_timespan(told, &again) == 0 && again <= span);
        assert(again >= span - span / 2);
    }
    if (parse_u64(text, &number) == 0)
        assert(parse_size(text, &size) == 0 && size == number);
    if (parse_signal(text, &signo) == 0)
        assert(signo >= 1 && signo <= 64);
}

static void check_text(const char *bytes, size_t n)
{
    _cleanup_free_ char *clean = utf8_sanitize(bytes, n);
    size_t length = strlen(clean);

    assert(length >= n && length <= 3 * n);
    for (size_t i = 0; i < length; ) {
        size_t step = utf8_sequence_length(clean + i, length - i);

        assert(step > 0);
        i += step;
    }
    assert(str_distance(clean, clean) == 0);
    (void) str_strip(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    _cleanup_free_ char *text = strndup((const char *) bytes, n);

    check_numbers(text);
    check_spans_and_sizes(text);
    check_text((const char *) bytes, n);
    return 0;
}
