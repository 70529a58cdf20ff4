/* SPDX-License-Identifier: MIT */
/* A pattern on the first line, texts on the others: wherever PCRE2 alone finds the pattern, what it requires
 * must be there, and the rule must find it at the same place, unless the search is cut short by its limits. */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>

#include "base/str.h"
#include "core/diagnosis/rule.h"

#define TEXT_MAX ((size_t) 2000)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct subject {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    struct rule rule;
    struct literals *index;
    struct pattern_scratch *scratch;
};

static void check_text(struct subject *s, const char *text)
{
    size_t len = strlen(text);
    int expected = pcre2_match(s->code, (PCRE2_SPTR) text, len, 0, 0, s->data, s->context), r = 0;
    struct rule_budget budget = {.left = 1000000};
    struct pattern_hit hit = {};
    const size_t *found;
    bool candidate;

    if (len > TEXT_MAX || expected == PCRE2_ERROR_MATCHLIMIT || expected == PCRE2_ERROR_DEPTHLIMIT)
        return;
    (void) literals_scan(s->index, text, len, &found);
    candidate = rule_is_candidate(&s->rule, s->index);
    if (candidate)
        r = rule_match(&s->rule, s->index, s->scratch, text, len, &budget, &hit);
    assert(expected < 0 || candidate);
    assert(r == 0 || r == 1);
    assert(r == 0 || expected >= 0);
    if (r == 1) {
        assert(hit.start <= len && hit.n <= PATTERN_MAX_GROUPS);
        for (size_t i = 0; i < hit.n; i++)
            assert(hit.groups[i].start < hit.groups[i].end && hit.groups[i].end <= len);
    }
}

/* A small limit: what PCRE2 finds within it the rule finds in its own, larger one. */
static void setup(struct subject *s, const char *pattern)
{
    assert(literals_new(&s->index) == 0);
    assert(rule_init(&s->rule, pattern, s->index) == 0);
    assert(literals_finish(s->index) == 0);
    assert(pattern_scratch_new(&s->scratch) == 0);
    s->data = pcre2_match_data_create(64, NULL);
    s->context = pcre2_match_context_create(NULL);
    (void) pcre2_set_match_limit(s->context, 500);
}

static void release(struct subject *s)
{
    rule_release(&s->rule);
    literals_free(s->index);
    pattern_scratch_free(s->scratch);
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    pcre2_code_free(s->code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    _cleanup_free_ char *all = utf8_sanitize((const char *) bytes, n);
    char *rest = strchr(all, '\n');
    struct subject s = {};
    PCRE2_SIZE offset;
    int error;

    if (!rest)
        return 0;
    *rest++ = '\0';
    s.code = pcre2_compile((PCRE2_SPTR) all, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_DUPNAMES | PCRE2_NEVER_BACKSLASH_C,
                           &error, &offset, NULL);
    if (!s.code)
        return 0;
    setup(&s, all);
    for (char *line = strtok(rest, "\n"); line; line = strtok(NULL, "\n"))
        check_text(&s, line);
    release(&s);
    return 0;
}
