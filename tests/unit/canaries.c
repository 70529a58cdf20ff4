/* SPDX-License-Identifier: MIT */
#include "canaries.h"

#include "base/str.h"
#include "core/config/config_builder.h"
#include "unit.h"

#define HEAD "[Server]\nCommand=/bin/server\nURL=http://h:1\n[Canary x]\n"

struct config *canaries_parse(const char *lines)
{
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    _cleanup_free_ char *text = str_format(HEAD "%s", lines);
    _cleanup_strv_ char **errors = NULL;
    struct config *c = NULL;

    assert_int_equal(config_builder_new("x.conf", "x", "/data", &b), 0);
    assert_int_equal(config_builder_add_text(b, "x.conf", text, strlen(text)), 0);
    if (config_builder_finish(b, &c, &errors) < 0)
        fail_msg("%s", errors[0]);
    return c;
}

const struct canary_config *canaries_x(const struct config *c)
{
    const struct canary_config *canary = config_canary(c, "x");

    assert_non_null(canary);
    return canary;
}
