/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/evidence.h"

#define CLASSES "[Class a]\nText=it is a\nRetry=never\n[Class b]\nText=it is b\nRetry=backoff\n"
#define LATE "[Signature late]\nClass=b\nRank=cause\nPattern=late trouble\nNeeds=helper\n"
#define EARLY "[Signature early]\nClass=a\nRank=cause\nPattern=early trouble (?<what>\\w+)\n"
#define HELPER "[Signature helper]\nRank=context\nPattern=helper speaks\n"

/* The second says another thing of `early`, and has the signatures in another order. */
static const char first[] = CLASSES EARLY HELPER LATE;
static const char second[] = CLASSES "[Signature more]\nClass=b\nRank=cause\nPattern=more trouble\n" LATE HELPER
                             "[Signature early]\nClass=b\nRank=cause\nPattern=early trouble (?<what>\\w+)\n";
static const char without[] = CLASSES LATE HELPER;

static struct catalog *catalog(const char *text)
{
    struct catalog_text t = {.file = "t", .text = text, .len = strlen(text)};
    struct catalog *c = NULL;
    char **errors = NULL;

    if (catalog_parse(&t, 1, &c, &errors) != 0)
        fail_msg("%s", errors[0]);
    return c;
}

/* What one catalog sees goes into the evidence, whatever that one's own is. */
struct scan {
    struct evidence *evidence;
    const struct catalog *catalog;
};

static void on_match(const struct match *m, void *userdata)
{
    assert_int_equal(evidence_match(userdata, m), 0);
}

static void say(const struct scan *s, const char *line)
{
    struct record record = {.text = line, .len = strlen(line), .raw = line, .raw_len = strlen(line), .line = 1};
    _cleanup_(matcher_freep) struct matcher *matcher = NULL;
    char **errors = NULL;

    assert_int_equal(matcher_new(s->catalog, NULL, NULL, 0, &matcher, &errors), 0);
    assert_int_equal(evidence_line(s->evidence, &record, LOG_SERVER), 0);
    assert_int_equal(matcher_scan(matcher, LOG_SERVER, line, strlen(line), on_match, s->evidence), 0);
}

static void assert_cause(const struct evidence *e, const char *class_name, const char *signature)
{
    struct circumstances c = {.ending = ENDING_EXIT, .status = 1, .phase = PHASE_LOADING};
    struct root_cause cause = {};

    assert_int_equal(evidence_root_cause(e, &c, &cause), 0);
    assert_string_equal(cause.class_name, class_name);
    assert_string_equal(str_or_empty(cause.signature), signature);
    root_cause_release(&cause);
}

static void what_was_seen_stays(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *a = catalog(first), *b = catalog(second);
    struct scan s = {.catalog = a};

    assert_int_equal(evidence_new(a, &s.evidence), 0);
    say(&s, "helper speaks");
    say(&s, "early trouble here");
    assert_cause(s.evidence, "a", "early");
    assert_int_equal(evidence_rebase(s.evidence, b), 0);
    catalog_free(steal_pointer(&a));
    assert_cause(s.evidence, "b", "early");
    evidence_free(s.evidence);
}

/* A neighbour from before counts, although it has another number now. */
static void neighbours_stay(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *a = catalog(first), *b = catalog(second);
    struct scan s = {.catalog = a};

    assert_int_equal(evidence_new(a, &s.evidence), 0);
    say(&s, "helper speaks");
    assert_int_equal(evidence_rebase(s.evidence, b), 0);
    s.catalog = b;
    say(&s, "late trouble");
    assert_cause(s.evidence, "b", "late");
    evidence_free(s.evidence);
}

static void what_nobody_knows_is_forgotten(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *a = catalog(first), *c = catalog(without);
    struct scan s = {.catalog = a};

    assert_int_equal(evidence_new(a, &s.evidence), 0);
    say(&s, "helper speaks");
    say(&s, "early trouble here");
    say(&s, "late trouble");
    assert_int_equal(evidence_rebase(s.evidence, c), 0);
    assert_cause(s.evidence, "b", "late");
    evidence_free(s.evidence);
}

static void survives_lack_of_memory(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *a = catalog(first), *b = catalog(second);
    struct scan s = {.catalog = a};

    assert_int_equal(evidence_new(a, &s.evidence), 0);
    say(&s, "early trouble here");
    chaos_arm(1);
    assert_int_not_equal(evidence_rebase(s.evidence, b), 0);
    assert_true(chaos_disarm());
    assert_cause(s.evidence, "a", "early");
    evidence_free(s.evidence);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_seen_stays),
        cmocka_unit_test(neighbours_stay),
        cmocka_unit_test(what_nobody_knows_is_forgotten),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("evidence_rebase", tests, NULL, NULL);
}
