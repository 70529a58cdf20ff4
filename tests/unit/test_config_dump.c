/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/config_builder.h"
#include "core/config/config_dump.h"

static const char profile[] =
    "[Server]\n"
    "URL=http://127.0.0.1:1\n"
    "Environment=A=1\n"
    "[Phase w]\n"
    "Text=loading weights\n"
    "Pattern=^a\\s+b\n";

static const char file[] =
    "[Server]\n"
    "Command=/bin/a \"b c\" %i 50%% \\\n"
    "  --api-key hunter22\n"
    "Environment=HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345\n"
    "APIKeyFile=/run/%%i.key\n"
    "StopSec=90s\n"
    "[Phase w]\n"
    "Pattern=c\n"
    "[Canary sampled]\n"
    "TopP=0.9\n"
    "Header=X-Trace: 1\n"
    "Body={\"a\": 1}\n"
    "[Restart]\n"
    "Mode=exit\n";

static int build(struct config **ret)
{
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    _cleanup_strv_ char **errors = NULL;
    int r = config_builder_new("k26.conf", "k26", "/data", &b);

    if (r == 0)
        r = config_builder_add_text(b, "k26.conf", file, strlen(file));
    if (r == 0)
        r = config_builder_add_assignment(b, "Live.Fall=4");
    if (r == 0)
        r = config_builder_add_profile(b, "p.conf", profile, strlen(profile));
    return r < 0 ? r : config_builder_finish(b, ret, &errors);
}

static struct config *built(void)
{
    struct config *c = NULL;

    assert_int_equal(build(&c), 0);
    return c;
}

static void text_names_each_origin(void unused **state)
{
    static const char *const pieces[] = {
        "[Server]\n# k26.conf:2\nCommand=/bin/a \"b c\" k26 50%% --api-key [redacted]\n",
        "# p.conf:2\nURL=http://127.0.0.1:1\n",
        "# p.conf:3, k26.conf:4\nEnvironment=A=1 HF_TOKEN=[redacted]\n",
        "# default\nStopSignal=SIGTERM\n",
        "# k26.conf:6\nStopSec=1min 30s\n",
        "# k26.conf:5\nAPIKeyFile=/run/%%i.key\n",
        "# default\nSuite=greedy sampled streamed parallel\n",
        "# default\nLoadTimeoutSec=infinity\n",
        "# command line\nFall=4\n",
        "\n[Restart]\n# k26.conf:14\nMode=exit\n",
        "# default\nMaxBytes=64M\n",
        "\n[Canary greedy]\n",
        "# built-in:3\nTemperature=0\n",
        "# built-in:6\nTemperature=0.6\n# k26.conf:10\nTopP=0.9\n",
        "# k26.conf:11\nHeader=X-Trace: 1\n# k26.conf:12\nBody={\"a\": 1}\n",
        "\n[Phase w]\n# p.conf:5\nText=loading weights\n# p.conf:6, k26.conf:8\nPattern=^a\\s+b\nPattern=c\n",
    };
    _cleanup_(config_freep) struct config *c = built();
    _cleanup_free_ char *text = NULL;

    assert_int_equal(config_dump(c, &text), 0);
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        if (!strstr(text, pieces[i]))
            fail_msg("not there: %s", pieces[i]);
    }
    assert_null(strstr(text, "Model="));
    assert_null(strstr(text, "Listen="));
    assert_null(strstr(text, "hunter22"));
    assert_null(strstr(text, "hf_abc"));
}

/* A value that a file took back is shown: it may have come from a profile. */
static void what_was_taken_back_is_shown(void unused **state)
{
    static const char taken[] = "[Server]\nCommand=/a\nURL=http://h:1\nEnvironment=A=1\nEnvironment=\nModel=\n";
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    _cleanup_(config_freep) struct config *c = NULL;
    _cleanup_free_ char *text = NULL;
    char **errors;

    assert_int_equal(config_builder_new("f", "k26", "/data", &b), 0);
    assert_int_equal(config_builder_add_text(b, "f", taken, strlen(taken)), 0);
    assert_int_equal(config_builder_finish(b, &c, &errors), 0);
    assert_int_equal(config_dump(c, &text), 0);
    assert_non_null(strstr(text, "# f:5\nEnvironment=\n"));
    assert_non_null(strstr(text, "# f:6\nModel=\n"));
}

static json_t *value_of(json_t *all, const char *section, const char *name, const char *key)
{
    json_t *at = json_object_get(all, section);

    if (name)
        at = json_object_get(at, name);
    return json_object_get(json_object_get(at, key), "value");
}

static void json_has_values_and_origins(void unused **state)
{
    _cleanup_(config_freep) struct config *c = built();
    json_auto_t *all = NULL;
    json_t *from;

    assert_int_equal(config_dump_json(c, &all), 0);
    assert_int_equal(json_array_size(value_of(all, "Server", NULL, "Command")), 6);
    assert_string_equal(json_string_value(json_array_get(value_of(all, "Server", NULL, "Command"), 1)), "b c");
    assert_string_equal(json_string_value(json_array_get(value_of(all, "Server", NULL, "Command"), 5)),
                        "[redacted]");
    assert_string_equal(json_string_value(value_of(all, "Server", NULL, "StopSec")), "1min 30s");
    assert_true(json_is_null(value_of(all, "Server", NULL, "Model")));
    assert_int_equal(json_integer_value(value_of(all, "Live", NULL, "Fall")), 4);
    assert_true(json_is_true(value_of(all, "Start", NULL, "Preflight")));
    assert_true(json_is_null(value_of(all, "Canary", "greedy", "TopP")));
    assert_true(json_real_value(value_of(all, "Canary", "sampled", "TopP")) > 0.89);
    assert_string_equal(json_string_value(value_of(all, "Restart", NULL, "Mode")), "exit");
    assert_int_equal(json_object_size(json_object_get(all, "Probe")), 0);

    from = json_object_get(json_object_get(json_object_get(all, "Server"), "Environment"), "from");
    assert_int_equal(json_array_size(from), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(from, 1), "file")), "k26.conf");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(from, 1), "line")), 4);
    from = json_object_get(json_object_get(json_object_get(all, "Live"), "Fall"), "from");
    assert_null(json_object_get(json_array_get(from, 0), "line"));
    from = json_object_get(json_object_get(json_object_get(all, "Live"), "Rise"), "from");
    assert_int_equal(json_array_size(from), 0);
}

/* A command line may hold any bytes; JSON may not. */
static void json_is_utf8(void unused **state)
{
    static const char *const argv[] = {"/bin/a", "\xff\xfe", NULL};
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    _cleanup_(config_freep) struct config *c = NULL;
    json_auto_t *all = NULL;
    char **errors;

    assert_int_equal(config_builder_new("f", "k26", "/data", &b), 0);
    assert_int_equal(config_builder_add_value(b, "Server", "URL", "http://h:1"), 0);
    assert_int_equal(config_builder_add_command(b, (char *const *) (uintptr_t) argv), 0);
    assert_int_equal(config_builder_finish(b, &c, &errors), 0);
    assert_int_equal(config_dump_json(c, &all), 0);
    assert_string_equal(json_string_value(json_array_get(value_of(all, "Server", NULL, "Command"), 1)),
                        "\xef\xbf\xbd\xef\xbf\xbd");
}

static int dump(void *data)
{
    _cleanup_free_ char *text = NULL;

    return config_dump(data, &text);
}

static int dump_json(void *data)
{
    json_t *all = NULL;
    int r = config_dump_json(data, &all);

    json_decref(all);
    return r;
}

static void survives_lack_of_memory(void unused **state)
{
    _cleanup_(config_freep) struct config *c = built();

    assert_true(chaos_each(dump, c) > 10);
    json_set_alloc_funcs(chaos_malloc, free);
    assert_true(chaos_each(dump_json, c) > 100);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_names_each_origin),
        cmocka_unit_test(what_was_taken_back_is_shown),
        cmocka_unit_test(json_has_values_and_origins),
        cmocka_unit_test(json_is_utf8),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config dump", tests, NULL, NULL);
}
