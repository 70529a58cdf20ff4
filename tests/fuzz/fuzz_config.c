/* SPDX-License-Identifier: MIT */
/* Any text as an instance's file: it is refused with at least one message, or what cat-config shows of it
 * reads back as the same configuration. */

#include <assert.h>
#include <errno.h>

#include "base/str.h"
#include "core/config/config_builder.h"
#include "core/config/config_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int load(const char *text, size_t n, struct config **ret, char ***ret_errors)
{
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;

    assert(config_builder_new("fuzz", "k26", "/data", &b) == 0);
    assert(config_builder_add_text(b, "fuzz", text, n) == 0);
    return config_builder_finish(b, ret, ret_errors);
}

/* The text without its comments, which say where each value came from. */
static char *values_only(const char *dump)
{
    struct strbuf b = {};

    while (*dump != '\0') {
        size_t line = strcspn(dump, "\n") + 1;

        if (*dump != '#')
            strbuf_append_n(&b, dump, line);
        dump += line;
    }
    return strbuf_steal(&b);
}

static void check_dump(const struct config *c)
{
    _cleanup_(config_freep) struct config *again = NULL;
    _cleanup_free_ char *dump = NULL, *dump_again = NULL, *values = NULL, *values_again = NULL;
    _cleanup_strv_ char **errors = NULL;
    json_t *json;

    assert(config_dump(c, &dump) == 0);
    assert(config_dump_json(c, &json) == 0);
    json_decref(json);
    if (strstr(dump, "[redacted]"))
        return;
    assert(load(dump, strlen(dump), &again, &errors) == 0);
    assert(config_dump(again, &dump_again) == 0);
    values = values_only(dump);
    values_again = values_only(dump_again);
    assert(str_equal(values, values_again));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    _cleanup_(config_freep) struct config *c = NULL;
    _cleanup_strv_ char **errors = NULL;
    int r = load((const char *) bytes, n, &c, &errors);

    assert(r == 0 || r == -EINVAL);
    assert((r < 0) == (strv_length(errors) > 0));
    if (r == 0)
        check_dump(c);
    return 0;
}
