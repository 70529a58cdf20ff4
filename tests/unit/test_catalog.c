/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/catalog.h"
#include "diagnosis.h"

#define CLASS "[Class c]\nText=it is c\n"

static const char whole[] =
    "# a comment\n"
    "[Class jit_missing_header]\n"
    "Text=a JIT build lacks a header\n"
    "Hint=Install it.\n"
    "Retry=never\n"
    "RetryServing=slow\n"
    "Repeat=2\n"
    "RepeatServing=infinity\n"
    "[Class jit_lock_stale]\n"
    "Text=a build lock is left\n"
    "Retry=after-cleanup\n"
    "Cleanup=build-lock\n"
    "[Signature missing-header]\n"
    "Class=jit_missing_header\n"
    "Rank=suspect\n"
    "Decisive=yes\n"
    "Source=server\n"
    "Engine=vllm sglang\n"
    "Pattern=fatal error: (?<header>\\S+\\.h): No such file\n"
    "Pattern=cannot open source file \"(?<header>[^\"]+)\"\n"
    "Needs=ninja @failure\n"
    "Unless=probe\n"
    "Near=30\n"
    "Owner=header\n"
    "Fingerprint=header\n"
    "Hint=Install what has {header}, not ${HOME} nor {}.\n"
    "[Signature ninja]\n"
    "Rank=context\n"
    "Pattern=^ninja: build stopped\n"
    "[Signature probe]\n"
    "Class=jit_missing_header\n"
    "Rank=benign\n"
    "Covers=yes\n"
    "Fingerprint=-\n"
    "Pattern=checking for header\n";

static void reads_every_key(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(whole);
    const struct class *class = catalog_class(c, "jit_missing_header");
    const struct signature *s = catalog_signature(c, "missing-header"), *p = catalog_signature(c, "probe");

    assert_int_equal(c->n_classes, 2);
    assert_string_equal(class->text, "a JIT build lacks a header");
    assert_string_equal(class->hint, "Install it.");
    assert_int_equal(class->policy.retry, RETRY_NEVER);
    assert_int_equal(class->policy.retry_serving, RETRY_SLOW);
    assert_int_equal(class->policy.repeat, 2);
    assert_int_equal(class->policy.repeat_serving, UINT64_MAX);
    assert_int_equal(class->cleanup, CLEANUP_NONE);
    assert_int_equal(c->classes[1].cleanup, CLEANUP_BUILD_LOCK);

    assert_int_equal(c->n_signatures, 3);
    assert_ptr_equal(s->class, class);
    assert_int_equal(s->rank, RANK_SUSPECT);
    assert_true(s->decisive);
    assert_int_equal(s->source, LOG_SERVER);
    assert_int_equal(strv_length(s->engines), 2);
    assert_string_equal(s->patterns[0], "fatal error: (?<header>\\S+\\.h): No such file");
    assert_string_equal(s->patterns[1], "cannot open source file \"(?<header>[^\"]+)\"");
    assert_int_equal(s->needs.n, 1);
    assert_ptr_equal(&c->signatures[s->needs.indices[0]], catalog_signature(c, "ninja"));
    assert_true(s->needs_failure);
    assert_ptr_equal(&c->signatures[s->unless.indices[0]], p);
    assert_int_equal(s->near, 30);
    assert_string_equal(s->owner, "header");
    assert_true(s->fingerprint_given);
    assert_string_equal(s->fingerprint[0], "header");
    assert_string_equal(s->file, "test.conf");
    assert_int_equal(s->line, 13);
    assert_true(p->covers);
    assert_true(p->fingerprint_given && !p->fingerprint);
    assert_null(catalog_signature(c, "nobody"));
    assert_null(catalog_class(c, "nobody"));
}

static void has_defaults(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c =
        diagnosis_catalog(CLASS "[Signature s]\nClass=c\nPattern=some words\n");
    const struct signature *s = catalog_signature(c, "s");

    assert_int_equal(c->classes[0].policy.retry, RETRY_BACKOFF);
    assert_int_equal(c->classes[0].policy.retry_serving, RETRY_BACKOFF);
    assert_int_equal(c->classes[0].policy.repeat, 0);
    assert_int_equal(c->classes[0].policy.repeat_serving, UINT64_MAX);
    assert_int_equal(s->rank, RANK_CAUSE);
    assert_int_equal(s->source, LOG_ANY);
    assert_false(s->decisive || s->covers || s->needs_failure || s->fingerprint_given);
    assert_null(s->engines);
    assert_null(s->hint);
    assert_int_equal(s->near, 0);
}

static struct catalog *parse_two(const char *first, const char *second, char ***errors)
{
    struct catalog_text texts[] = {
        {.file = "a.conf", .text = first, .len = strlen(first)},
        {.file = "b.conf", .text = second, .len = strlen(second)},
    };
    struct catalog *c = NULL;
    int r = catalog_parse(texts, ARRAY_SIZE(texts), &c, errors);

    assert_true(r == 0 || r == -EINVAL);
    assert_true((r == 0) == !*errors);
    return c;
}

static void later_texts_override(void unused **state)
{
    _cleanup_strv_ char **errors = NULL;
    _cleanup_(catalog_freep) struct catalog *c = parse_two(
        CLASS "[Signature s]\nClass=c\nPattern=some words\nNear=5\nHint=old\n[Signature off]\nClass=c\nPattern=more words\n"
        "[Signature again]\nClass=c\nPattern=first words\nNeeds=off @failure\n",
        "[Class c]\nRetry=never\n[Signature s]\nPattern=other words\nHint=new\nNear=\n[Signature off]\nEnabled=no\n"
        "[Signature again]\nPattern=\nPattern=last words\n", &errors);
    const struct signature *s = catalog_signature(c, "s");

    assert_string_equal(catalog_class(c, "c")->text, "it is c");
    assert_int_equal(catalog_class(c, "c")->policy.retry, RETRY_NEVER);
    assert_int_equal(strv_length(s->patterns), 2);
    assert_string_equal(s->hint, "new");
    assert_int_equal(s->near, 0);
    assert_null(catalog_signature(c, "off"));
    assert_int_equal(catalog_signature(c, "again")->needs.n, 0);
    assert_int_equal(strv_length(catalog_signature(c, "again")->patterns), 1);
    assert_string_equal(catalog_signature(c, "again")->patterns[0], "last words");
}

/* What is wrong, and the one line that says so. */
static const struct {
    const char *text;
    const char *error;
} mistakes[] = {
    {"[Clas c]\n", "test.conf:1: unknown section [Clas]; expected [Class NAME] or [Signature ID]"},
    {"[Class]\nText=x\n", "test.conf:1: [Class ]: the name must consist of a-z, 0-9 and _"},
    {"[Signature a_b]\n", "test.conf:1: [Signature a_b]: the name must consist of a-z, 0-9 and -"},
    {"[Class c]\n", "test.conf:1: [Class c]: Text= is missing"},
    {"[Class c]\nText=x\nRety=never\n", "test.conf:3: unknown key Rety= in [Class c]; did you mean Retry=?"},
    {"[Class c]\nText=x\nRetry=maybe\n", "test.conf:3: Retry=maybe; expected never, backoff, slow or after-cleanup"},
    {"[Class c]\nText=x\nRepeat=-1\n", "test.conf:3: Repeat=-1; expected a number or infinity"},
    {"[Class c]\nText=x\nRetry=after-cleanup\n", "test.conf:1: [Class c]: after-cleanup needs Cleanup="},
    {"[Class c]\nText=x\nCleanup=cache\n",
     "test.conf:1: [Class c]: Cleanup= needs Retry=after-cleanup or RetryServing=after-cleanup"},
    {"[Class c]\nText=x\nRetry=after-cleanup\nCleanup=all\n",
     "test.conf:4: Cleanup=all; expected build-lock, cache or one-job"},
    {CLASS "[Signature s]\nPattern=some words\n", "test.conf:3: [Signature s]: Class= is missing"},
    {CLASS "[Signature s]\nClass=d\nPattern=some words\n", "test.conf:4: Class=d; expected the name of a class"},
    {CLASS "[Signature s]\nClass=c\n", "test.conf:3: [Signature s]: Pattern= is missing"},
    {CLASS "[Signature s]\nClass=c\nPattern=a(b\n",
     "test.conf:5: Pattern=a(b: missing closing parenthesis at position 3"},
    {CLASS "[Signature s]\nClass=c\nPattern=(?:some words)?\n",
     "test.conf:5: Pattern=(?:some words)?: it matches an empty line"},
    {CLASS "[Signature s]\nClass=c\nPattern=(?:some words|abc)\n",
     "test.conf:5: Pattern=(?:some words|abc): expected 4 literal characters in a row in every alternative"},
    {CLASS "[Signature s]\nClass=c\nRank=high\nPattern=some words\n",
     "test.conf:5: Rank=high; expected cause, suspect, wrapper, secondary, benign, context or health"},
    {CLASS "[Signature s]\nClass=c\nRank=context\nPattern=some words\n", "test.conf:4: Class=c; expected none with this rank"},
    {CLASS "[Signature s]\nClass=c\nRank=benign\nDecisive=yes\nPattern=some words\n",
     "test.conf:6: Decisive=yes; expected no with this rank"},
    {CLASS "[Signature s]\nClass=c\nCovers=yes\nPattern=some words\n",
     "test.conf:5: Covers=yes; expected Rank=benign with it"},
    {CLASS "[Signature s]\nClass=c\nDecisive=perhaps\nPattern=some words\n", "test.conf:5: Decisive=perhaps; expected yes or no"},
    {CLASS "[Signature s]\nClass=c\nSource=user\nPattern=some words\n",
     "test.conf:5: Source=user; expected server, kernel or any"},
    {CLASS "[Signature s]\nClass=c\nNeeds=t\nPattern=some words\n",
     "test.conf:5: Needs= names t; expected the id of a signature"},
    {CLASS "[Signature s]\nClass=c\nUnless=@failure\nPattern=some words\n",
     "test.conf:5: Unless= names @failure; expected the id of a signature"},
    {CLASS "[Signature t]\nEnabled=no\n[Signature s]\nClass=c\nNeeds=t\nPattern=some words\n",
     "test.conf:7: Needs=t; expected a signature that is not switched off"},
    {CLASS "[Signature s]\nClass=c\nNear=all\nPattern=some words\n",
     "test.conf:5: Near=all; expected a number of records up to 100000"},
    {CLASS "[Signature s]\nClass=c\nEnabled=never\nPattern=some words\n", "test.conf:5: Enabled=never; expected yes or no"},
    {CLASS "[Signature s]\nClass=c\nHint=see {file}\nPattern=some (?<word>\\w+) words\n",
     "test.conf:5: Hint= uses file; expected a capture of the pattern"},
    {CLASS "[Signature s]\nClass=c\nFingerprint=file\nPattern=some (?<word>\\w+) words\n",
     "test.conf:5: Fingerprint= uses file; expected a capture of the pattern"},
    {CLASS "[Signature s]\nClass=c\nOwner=pid\nPattern=some (?<word>\\w+) words\n",
     "test.conf:5: Owner= uses pid; expected a capture of the pattern"},
};

static void names_each_mistake(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
        struct catalog_text t = {.file = "test.conf", .text = mistakes[i].text, .len = strlen(mistakes[i].text)};
        _cleanup_strv_ char **errors = NULL;
        struct catalog *c = NULL;

        assert_row(mistakes[i].text, catalog_parse(&t, 1, &c, &errors) == -EINVAL);
        assert_row(mistakes[i].text, !c && strv_length(errors) == 1);
        if (strcmp(errors[0], mistakes[i].error) != 0)
            fail_msg("\"%s\" instead of \"%s\"", errors[0], mistakes[i].error);
    }
}

static void tells_all_mistakes_at_once(void unused **state)
{
    _cleanup_strv_ char **errors = NULL;

    assert_null(parse_two("[Class c]\nRetry=x\n", "[Signature s]\nClass=d\nPattern=(\n", &errors));
    assert_int_equal(strv_length(errors), 4);
    assert_string_equal(errors[3], "b.conf:3: Pattern=(: missing closing parenthesis at position 1");
}

static void hints_may_use_captures_of_the_class(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(
        CLASS "[Signature s]\nClass=c\nHint={word} by {rank} in {file}\nPattern=some (?<word>\\w+) words\n"
        "[Signature t]\nClass=c\nPattern=other (?<file>\\w+) words\n");

    assert_non_null(c);
}

static int parse_whole(void unused *data)
{
    struct catalog_text t = {.file = "test.conf", .text = whole, .len = strlen(whole)};
    _cleanup_(catalog_freep) struct catalog *c = NULL;
    _cleanup_strv_ char **errors = NULL;

    return catalog_parse(&t, 1, &c, &errors);
}

static void survives_lack_of_memory(void unused **state)
{
    chaos_each(parse_whole, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_key),       cmocka_unit_test(has_defaults),
        cmocka_unit_test(later_texts_override),  cmocka_unit_test(names_each_mistake),
        cmocka_unit_test(tells_all_mistakes_at_once), cmocka_unit_test(hints_may_use_captures_of_the_class),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
