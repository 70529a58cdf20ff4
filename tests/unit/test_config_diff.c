/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/config_builder.h"
#include "core/config/config_diff.h"

/* Every row has this around it. */
static const char common[] = "[Server]\nCommand=/bin/a b\nURL=http://h:1\n[Canary own]\nPrompt=p\n";

static struct config *built(const char *more)
{
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    struct config *c = NULL;
    char **errors = NULL;

    assert_int_equal(config_builder_new("f", "k26", "/data", &b), 0);
    assert_int_equal(config_builder_add_text(b, "f", common, strlen(common)), 0);
    assert_int_equal(config_builder_add_text(b, "g", more, strlen(more)), 0);
    if (config_builder_finish(b, &c, &errors) != 0)
        fail_msg("%s: %s", more, errors[0]);
    return c;
}

/* What the second text changes against the first: what a reload brings into force, and what not. */
struct row {
    const char *before;
    const char *after;
    const char *reloaded;
    const char *pending;
};

static const struct row rows[] = {
    {"", "", "", ""},
    {"[Live]\nIntervalSec=30s\n", "", "", ""},
    {"", "[Live]\nIntervalSec=31s\n", "Live.IntervalSec", ""},
    {"[Server]\nCommand=/bin/a b\n", "[Server]\nCommand=/bin/a b c\n", "", "Server.Command"},
    {"[Server]\nCommand=/bin/a c\n", "[Server]\nCommand=/bin/a b\n", "", "Server.Command"},
    {"", "[Server]\nURL=http://h:2\nStopSec=1s\n", "Server.StopSec", "Server.URL"},
    {"[Server]\nEnvironment=A=1\n", "[Server]\nEnvironment=A=2\n", "", "Server.Environment"},
    {"[Server]\nEnvironment=A=1\n", "", "", "Server.Environment"},
    {"", "[Server]\nModel=m\n", "Server.Model", ""},
    {"[Server]\nModel=m\n", "[Server]\nModel=\n", "Server.Model", ""},
    {"", "[Server]\nStopSignal=SIGINT\n", "Server.StopSignal", ""},
    {"", "[Start]\nSuite=own\n", "Start.Suite", ""},
    {"[Start]\nSuite=own greedy\n", "[Start]\nSuite=greedy own\n", "Start.Suite", ""},
    {"", "[Start]\nPreflight=no\n", "Start.Preflight", ""},
    {"", "[Restart]\nMode=exit\nBudget=6\n", "Restart.Mode Restart.Budget", ""},
    {"", "[Report]\nMaxBytes=2M\n", "Report.MaxBytes", ""},
    {"", "[Canary own]\nTopP=0.5\n", "Canary own.TopP", ""},
    {"[Canary own]\nTopP=0.5\n", "[Canary own]\nTopP=0.50\n", "", ""},
    {"[Canary own]\nTopP=0.5\n", "[Canary own]\nTopP=0.25\n", "Canary own.TopP", ""},
    {"", "[Canary extra]\nPrompt=q\n", "Canary extra", ""},
    {"[Canary extra]\nPrompt=q\n", "", "Canary extra", ""},
    {"[Phase a]\nText=t\nPattern=x1\n[Phase b]\nText=t\nPattern=y1\n",
     "[Phase b]\nText=t\nPattern=y1\n[Phase c]\nText=t\nPattern=z1\n", "Phase c Phase a", ""},
    {"[Phase a]\nText=t\nPattern=x1\n", "[Phase a]\nText=t\nPattern=x1\nPattern=x2\n", "Phase a.Pattern", ""},
};

static void assert_names(const char *row, const struct config_diff *d, bool needs_restart, const char *wanted)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_free_ char *text = NULL;

    assert_int_equal(config_diff_names(d, needs_restart, &names), 0);
    text = strv_join(names, " ");
    if (!str_equal(text, wanted))
        fail_msg("\"%s\": %s \"%s\", not \"%s\"", row, needs_restart ? "pending" : "reloaded", text, wanted);
}

static void tells_what_changes(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *before = built(rows[i].before), *after = built(rows[i].after);
        _cleanup_config_diff_ struct config_diff d = {};

        assert_int_equal(config_diff(before, after, &d), 0);
        assert_names(rows[i].after, &d, false, rows[i].reloaded);
        assert_names(rows[i].after, &d, true, rows[i].pending);
    }
}

static void compares_sections(void unused **state)
{
    _cleanup_(config_freep) struct config *a = built(""), *b = built("[Canary own]\nPrompt=q\n[Phase x]\nText=t\nPattern=x1\n");

    assert_true(config_same_section(a, b, SECTION_LIVE, NULL));
    assert_true(config_same_section(a, b, SECTION_CANARY, "greedy"));
    assert_false(config_same_section(a, b, SECTION_CANARY, "own"));
    assert_false(config_same_section(a, b, SECTION_PHASE, "x"));
    assert_false(config_same_section(b, a, SECTION_PHASE, "x"));
    assert_false(config_same_section(a, b, SECTION_PHASE, "y"));
}

struct pair {
    struct config *before;
    struct config *after;
};

static int compare(void *data)
{
    const struct pair *p = data;
    _cleanup_config_diff_ struct config_diff d = {};
    _cleanup_strv_ char **names = NULL;
    int r = config_diff(p->before, p->after, &d);

    return r < 0 ? r : config_diff_names(&d, false, &names);
}

static void survives_lack_of_memory(void unused **state)
{
    struct pair p = {built("[Phase a]\nText=t\nPattern=x1\n"), built("[Live]\nFall=4\n[Phase b]\nText=t\nPattern=x1\n")};

    assert_true(chaos_each(compare, &p) > 6);
    config_free(p.before);
    config_free(p.after);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_changes),
        cmocka_unit_test(compares_sections),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config_diff", tests, NULL, NULL);
}
