/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/config/config_pattern.h"

#include <errno.h>
#include <pcre2.h>

/* The library's code for "failed to allocate heap memory" has no name in its header. */
#define COMPILE_OUT_OF_MEMORY 121

static int explain_error(int error, size_t offset, struct strbuf *why)
{
    PCRE2_UCHAR text[160] = "";

    if (error == COMPILE_OUT_OF_MEMORY)
        return -ENOMEM;
    (void) pcre2_get_error_message(error, text, sizeof(text));
    strbuf_appendf(why, "%s at position %zu", (const char *) text, offset);
    return -EINVAL;
}

static int check_empty(const pcre2_code *code, struct strbuf *why)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int n;

    if (!data)
        return -ENOMEM;
    n = pcre2_match(code, (PCRE2_SPTR) "", 0, 0, 0, data, NULL);
    pcre2_match_data_free(data);
    if (n == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    if (n == PCRE2_ERROR_NOMATCH)
        return 0;
    strbuf_append(why, "it matches an empty line");
    return -EINVAL;
}

int config_pattern_check(const char *pattern, struct strbuf *why)
{
    PCRE2_SIZE offset = 0;
    int error = 0, r;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR) pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error,
                                     &offset, NULL);

    if (!code)
        return explain_error(error, offset, why);
    r = check_empty(code, why);
    pcre2_code_free(code);
    return r;
}
