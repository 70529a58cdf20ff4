/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/config/config_match.h"

#include <errno.h>
#include <pcre2.h>

#include "base/str.h"

#define STEPS 1000000
#define HEAP_KIB 1024

static int match_code(const pcre2_code *code, const char *text)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int n = PCRE2_ERROR_NOMEMORY;

    if (context && data) {
        (void) pcre2_set_match_limit(context, STEPS);
        (void) pcre2_set_heap_limit(context, HEAP_KIB);
        n = pcre2_match(code, (PCRE2_SPTR) text, PCRE2_ZERO_TERMINATED, 0, PCRE2_NO_UTF_CHECK, data, context);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    return n == PCRE2_ERROR_NOMEMORY ? -ENOMEM : n >= 0;
}

/* What has been taken for a pattern can only fail for lack of memory. */
static int match_one(const char *pattern, const char *text)
{
    PCRE2_SIZE offset;
    int error, r;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR) pattern, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_DUPNAMES | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                                     NULL);

    if (!code)
        return -ENOMEM;
    r = match_code(code, text);
    pcre2_code_free(code);
    return r;
}

int config_match(char *const *patterns, const char *text, size_t n)
{
    _cleanup_free_ char *clean = utf8_sanitize(text, n);
    int r = 0;

    if (!clean)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && patterns && patterns[i]; i++)
        r = match_one(patterns[i], clean);
    return r;
}

int config_match_words(char *const *patterns, char *const *words)
{
    _cleanup_free_ char *line = strv_join(words, " ");

    return line ? config_match(patterns, line, strlen(line)) : -ENOMEM;
}
