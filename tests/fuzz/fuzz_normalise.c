/* SPDX-License-Identifier: MIT */
/* Any bytes as lines: records are valid text, bounded, and together no more than was said. And what redaction
 * makes of them is valid, too, and nothing more to redact. */

#include <assert.h>

#include "base/str.h"
#include "core/diagnosis/normalise.h"
#include "core/diagnosis/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct sum {
    size_t bytes;
    uint64_t line;
};

static void check_text(const char *text, size_t len)
{
    assert(strlen(text) == len);
    for (size_t i = 0; i < len; ) {
        size_t step = utf8_sequence_length(text + i, len - i);

        assert(step > 0 && ((unsigned char) text[i] >= ' ' || text[i] == '\t'));
        i += step;
    }
}

static void check_redaction(const char *text)
{
    _cleanup_free_ char *once = redact_text(text), *twice = redact_text(once), *variable = redact_environment(text);

    check_text(once, strlen(once));
    assert(strcmp(once, twice) == 0);
    assert(variable);
}

static void on_record(const struct record *r, void *userdata)
{
    struct sum *s = userdata;

    assert(r->len > 0 && r->len <= r->raw_len && r->raw_len <= NORMALISE_MAX_LINE);
    assert(r->text + r->len == r->raw + r->raw_len);
    assert(!r->rank || (r->rank[0] != '\0' && strlen(r->rank) < 16));
    assert(r->line >= s->line);
    check_text(r->raw, r->raw_len);
    check_redaction(r->raw);
    s->line = r->line;
    s->bytes += r->raw_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    _cleanup_(normaliser_freep) struct normaliser *normaliser = NULL;
    const char *text = (const char *) bytes;
    size_t half = n / 2;
    struct sum s = {};

    assert(normaliser_new(&normaliser) == 0);
    assert(normalise_line(normaliser, text, half, on_record, &s) == 0);
    assert(normalise_line(normaliser, text + half, n - half, on_record, &s) == 0);
    assert(s.line <= 2 && s.bytes <= 3 * n);
    return 0;
}
