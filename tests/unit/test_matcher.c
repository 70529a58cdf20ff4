/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "unit.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/matcher.h"
#include "core/diagnosis/rule.h"
#include "diagnosis.h"

#define CLASS "[Class c]\nText=it is c\n"

/* --- What a pattern requires --- */

/* Clauses with | between their literals and & between clauses, the best first; an @ and how far before the
 * literal of the first clause a match may begin. */
static const struct {
    const char *pattern;
    const char *required;
} requirements[] = {
    {"fatal error", "fatal error@0"},
    {"Fatal ERROR", "fatal error@0"},
    {"(?i)Fatal", "fatal@0"},
    {"ab", ""},
    {"abc", ""},
    {"(?:abcd|efgh)", "abcd@0|efgh@0"},
    {"(?:abcd|ef)", ""},
    {"(?:CUDA|HIP) out of memory", "cuda out of memory@0|hip out of memory@0"},
    {"(?<tool>nvcc) fatal", "nvcc fatal@0"},
    {"x?yzab", "xyzab@0|yzab@0"},
    {"error(?:s)? found", "errors found@0|error found@0"},
    {"[Ff]ailed to", "failed to@0"},
    {"a[.]bcd", "a.bcd@0"},
    {"\\d+ fatal", " fatal@*"},
    {"\\d\\d fatal", " fatal@2"},
    {".fatal", "fatal@4"},
    {"\\S{3,5}fatal", "fatal@20"},
    {"long literal here.*short", "long literal here@0&short"},
    {"(?:abcd)?efghijk", "abcdefghijk@0|efghijk@0"},
    {"(?:abcd)+efghijk", "efghijk@*&abcd"},
    {"(?:abcd){2}", "abcd@0"},
    {"abcde*f", "abcd@0"},
    {"abcd+ef", "abcd@0&ef"},
    {"^abcd$", "abcd@0"},
    {"\\babcd\\b", "abcd@0"},
    {"(?=abcd)efgh", "efgh@0"},
    {"(?!abcd)efgh", "efgh@0"},
    {"(?<!x)efgh", "efgh@0"},
    {"a\\.b\\.c\\x2d", "a.b.c-@0"},
    {"\\x{41}bcd", "abcd@0"},
    {"\\p{Lu}abcd", "abcd@4"},
    {"(?P<n>abcd)", "abcd@0"},
    {"(?>abcd)", "abcd@0"},
    {"(?|abcd|efgh)", "abcd@0|efgh@0"},
    {"\xc3\xa9t\xc3\xa9 x", "\xc3\xa9t\xc3\xa9 x@0"},
    {"(?i)\xc3\xa9tab cd", "tab cd@4"},
    /* not understood, so nothing is required */
    {"abcd\\1", ""},
    {"(?R)abcd", ""},
    {"(*UTF)abcd", ""},
    {"\\Qabcd\\E", ""},
    {"abcd[", ""},
    {"(abcd", ""},
    {"abcd)", ""},
};

static char *describe(const struct required *r)
{
    struct strbuf b = {};

    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; k < r->clauses[i].n; k++) {
            const struct required_literal *l = &r->clauses[i].literals[k];

            strbuf_append(&b, k > 0 ? "|" : i > 0 ? "&" : "");
            strbuf_append(&b, l->text);
            if (i == 0 && l->max_before == REQUIRED_ANYWHERE)
                strbuf_append(&b, "@*");
            else if (i == 0)
                strbuf_appendf(&b, "@%zu", l->max_before);
        }
    }
    return strbuf_steal(&b);
}

static void derives_requirements(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(requirements); i++) {
        _cleanup_required_ struct required r = {};
        _cleanup_free_ char *told = NULL;

        assert_int_equal(required_parse(requirements[i].pattern, &r), 0);
        told = describe(&r);
        if (strcmp(told, requirements[i].required) != 0)
            fail_msg("\"%s\" requires \"%s\"", requirements[i].pattern, told);
    }
}

static void bounds_depth_and_width(void unused **state)
{
    _cleanup_strbuf_ struct strbuf deep = {}, wide = {};
    _cleanup_required_ struct required r = {}, s = {};

    for (int i = 0; i < 5000; i++)
        strbuf_append(&deep, "(");
    strbuf_append(&deep, "abcd");
    for (int i = 0; i < 5000; i++)
        strbuf_append(&deep, ")");
    assert_int_equal(required_parse(deep.data, &r), 0);
    assert_int_equal(r.n, 0);
    for (int i = 0; i < 5000; i++)
        strbuf_appendf(&wide, "%sword%d", i > 0 ? "|" : "", i);
    assert_int_equal(required_parse(wide.data, &s), 0);
    assert_int_equal(s.n, 0);
}

/* --- The index of literals --- */

static bool occurs(const char *text, const char *literal)
{
    return strcasestr(text, literal);
}

/* At every position, even and odd, in either case, and in the company of many others. */
static void finds_literals_wherever_they_stand(void unused **state)
{
    static const char *const literals[] = {"four", "fiver", "sixsix", "seven s", "eighteen", "a longer literal", "elit",
                                           "quit", "[x]y", "err:", "rror", "error"};
    _cleanup_(literals_freep) struct literals *l = NULL;
    size_t ids[ARRAY_SIZE(literals)], at;
    const size_t *found;

    assert_int_equal(literals_new(&l), 0);
    for (size_t i = 0; i < ARRAY_SIZE(literals); i++)
        assert_int_equal(literals_add(l, literals[i], true, &ids[i]), 0);
    assert_int_equal(literals_add(l, "four", true, &at), 0);
    assert_int_equal(at, ids[0]);
    assert_int_equal(literals_finish(l), 0);
    for (size_t i = 0; i < ARRAY_SIZE(literals); i++) {
        for (size_t before = 0; before < 300; before++) {
            _cleanup_free_ char *text = str_format("%*s%s", (int) before, "", literals[i]);

            if (before % 3 == 0)
                text[before] = ascii_upper(text[before]);
            (void) literals_scan(l, text, strlen(text), &found);
            assert_row(literals[i], literals_found(l, ids[i], &at) && at == before);
            text[before + 1] = '~';
            (void) literals_scan(l, text, strlen(text), &found);
            assert_row(literals[i], !literals_found(l, ids[i], &at));
        }
    }
}

static void finds_no_more_than_there_is(void unused **state)
{
    static const char *const words[] = {"abcd", "bcde", "abcabc", "cabcab", "aabbccdd", "dcba", "abcdabcd", "ddddd", "aaaa"};
    _cleanup_(literals_freep) struct literals *l = NULL;
    size_t ids[ARRAY_SIZE(words)], at;
    const size_t *found;
    uint64_t random = 1;

    assert_int_equal(literals_new(&l), 0);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        assert_int_equal(literals_add(l, words[i], i % 3 != 2, &ids[i]), 0);
    assert_int_equal(literals_finish(l), 0);
    for (int round = 0; round < 20000; round++) {
        char text[33];
        size_t n = (random >> 40) % (sizeof(text) - 1), counted = 0;

        for (size_t i = 0; i < n; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
            text[i] = (char) ((random >> 33 & 1 ? 'A' : 'a') + (char) (random >> 45) % 4);
            text[i] = text[i] < 'A' ? 'a' : text[i];
        }
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
        text[n] = '\0';
        counted = literals_scan(l, text, n, &found);
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
            assert_row(text, literals_found(l, ids[i], &at) == occurs(text, words[i]));
            counted -= i % 3 != 2 && occurs(text, words[i]);
        }
        assert_row(text, counted == 0);
    }
}

/* --- Rules, against PCRE2 alone --- */

static const char *const rule_patterns[] = {
    "fatal error: (?<header>\\S+\\.h)", "^usage: ", "(?<a>\\w+)Error: .*out of memory", "\\bcuda\\b", "x+cuda",
    "(?:CUDA|HIP) error(?: in \\S+)?: (?<e>.+?)(?: at |$)", "[^\\s:/]+\\.so[.\\d]*: cannot open", "(?i)no space left",
    "(?<p>/\\S*)? not found$", "(?:ab)+abcd", "(\\w)\\1 twice", "error(?!s)", "(?<=fatal )error", "\xe6\x96\x87\xe4\xbb\xb6: (?<f>.)",
    "a.{0,3}bcde", "errors? detected",
};

static const char *const rule_texts[] = {
    "", "usage: x", "x usage: y", "fatal error: curand.h: No such file", "error: fatal error: a.h fatal error: b.h",
    "RuntimeError: CUDA out of memory. out of memory", "the cuda, cudart and xxcuda of CUDA", "HIP error in f.cu: bad at line 3",
    "CUDA error: illegal", "import libc10.so.1: cannot open shared object", "a/b/libx.so: cannot open and liby.so.2: cannot open",
    "OSError: No Space Left on device", "sh: 1: /usr/bin/nvcc: not found", "x not found", "ababababcd abcd", "xaa twice bb twice",
    "errors and error", "fatal error", "nonfatal error", "\xe6\x96\x87\xe4\xbb\xb6: \xe6\x96\x87", ("a\xe6\x96\x87\xe6\x96\x87" "bcde"),
    "abcde axxbcde aaaabcde", "79 errors detected", "1 error detected", "error",
};

static void rules_agree_with_pcre2(void unused **state)
{
    _cleanup_(literals_freep) struct literals *index = NULL;
    _cleanup_(pattern_scratch_freep) struct pattern_scratch *scratch = NULL;
    struct rule rules[ARRAY_SIZE(rule_patterns)] = {};
    pcre2_match_data *data = pcre2_match_data_create(32, NULL);
    const size_t *found;

    assert_int_equal(literals_new(&index), 0);
    assert_int_equal(pattern_scratch_new(&scratch), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        assert_int_equal(rule_init(&rules[i], rule_patterns[i], index), 0);
    assert_int_equal(literals_finish(index), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        int error;
        PCRE2_SIZE offset;
        pcre2_code *code = pcre2_compile((PCRE2_SPTR) rule_patterns[i], PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error,
                                         &offset, NULL);

        for (size_t k = 0; k < ARRAY_SIZE(rule_texts); k++) {
            const char *text = rule_texts[k];
            bool expected = pcre2_match(code, (PCRE2_SPTR) text, strlen(text), 0, 0, data, NULL) > 0;
            struct rule_budget budget = {.left = 100000};
            struct pattern_hit hit = {};
            int r = 0;

            (void) literals_scan(index, text, strlen(text), &found);
            if (rule_is_candidate(&rules[i], index))
                r = rule_match(&rules[i], index, scratch, text, strlen(text), &budget, &hit);
            if (r != expected || (expected && hit.start != pcre2_get_ovector_pointer(data)[0]))
                fail_msg("\"%s\" on \"%s\": %d at %zu", rule_patterns[i], text, r, hit.start);
        }
        pcre2_code_free(code);
        rule_release(&rules[i]);
    }
    pcre2_match_data_free(data);
}

/* --- The matcher --- */

static const char catalog_text[] =
    CLASS "[Signature header]\nClass=c\nPattern=fatal error: (?<header>\\S+\\.h)\nPattern=source file \"(?<header>[^\"]+)\"\n"
    "[Signature xid]\nClass=c\nSource=kernel\nPattern=NVRM: Xid \\(PCI:(?<pci>[^)]+)\\): (?<xid>\\d+)\n"
    "[Signature vllm-only]\nClass=c\nEngine=vllm\nPattern=EngineCore died\n"
    "[Signature harmless]\nClass=c\nRank=benign\nPattern=will be ignored\n"
    "[Signature neighbour]\nRank=context\nPattern=neighbour\n"
    "[Signature alive]\nRank=health\nPattern=tokens were generated\n"
    "[Signature optional]\nClass=c\nPattern=option(?: (?<one>one))?(?: (?<two>two))? given\n";

struct seen {
    struct strbuf told;
};

static void on_match(const struct match *m, void *userdata)
{
    struct seen *s = userdata;

    strbuf_appendf(&s->told, "%s%s", s->told.len > 0 ? " " : "", m->signature ? m->signature->id : m->phase->name);
    for (size_t i = 0; i < m->n_captures; i++)
        strbuf_appendf(&s->told, ",%s=%s", m->captures[i].name, m->captures[i].value);
}

static const struct {
    const char *engine;
    enum log_source source;
    const char *text;
    const char *told;
} scans[] = {
    {NULL, LOG_SERVER, "x: fatal error: curand.h: No such file", "header,header=curand.h"},
    {NULL, LOG_SERVER, "source file \"a.h\" fatal error: b.h", "header,header=b.h"},
    {NULL, LOG_SERVER, "source file \"a.h\"", "header,header=a.h"},
    {NULL, LOG_SERVER, "nothing", ""},
    {NULL, LOG_SERVER, "", ""},
    {NULL, LOG_KERNEL, "NVRM: Xid (PCI:0000:01:00): 79, pid=1", "xid,pci=0000:01:00,xid=79"},
    {NULL, LOG_ANY, "NVRM: Xid (PCI:0000:01:00): 79, pid=1", "xid,pci=0000:01:00,xid=79"},
    {NULL, LOG_SERVER, "NVRM: Xid (PCI:0000:01:00): 79, pid=1", ""},
    {"vllm", LOG_SERVER, "EngineCore died", "vllm-only"},
    {"sglang", LOG_SERVER, "EngineCore died", "vllm-only"},
    {NULL, LOG_SERVER, "EngineCore died", "vllm-only"},
    {NULL, LOG_SERVER, "fatal error: a.h will be ignored", "harmless"},
    {NULL, LOG_SERVER, "neighbour: fatal error: a.h", "neighbour header,header=a.h"},
    {NULL, LOG_SERVER, "neighbour will be ignored, fatal error: a.h, tokens were generated", "harmless neighbour alive"},
    {NULL, LOG_SERVER, "option given", "optional"},
    {NULL, LOG_SERVER, "option two given", "optional,two=two"},
    {NULL, LOG_SERVER, "option one two given", "optional,one=one,two=two"},
    {NULL, LOG_SERVER, "now loading weights, fatal error: a.h", "weights header,header=a.h"},
    {NULL, LOG_SERVER, "LOADING WEIGHTS", ""},
};

static void matches_by_source_and_engine(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(catalog_text);
    char weights[] = "weights", pattern[] = "loading weights", *patterns[] = {pattern, NULL};
    struct phase_config phase = {.name = weights, .patterns = patterns};

    for (size_t i = 0; i < ARRAY_SIZE(scans); i++) {
        _cleanup_(matcher_freep) struct matcher *m = NULL;
        struct seen s = {};
        char **errors = NULL;

        assert_int_equal(matcher_new(c, scans[i].engine, &phase, 1, &m, &errors), 0);
        assert_int_equal(matcher_scan(m, scans[i].source, scans[i].text, strlen(scans[i].text), on_match, &s), 0);
        if (strcmp(str_or_empty(s.told.data), scans[i].told) != 0)
            fail_msg("\"%s\": \"%s\"", scans[i].text, str_or_empty(s.told.data));
        strbuf_release(&s.told);
    }
}

/* An engine that some signature names leaves out those of others. */
static void engines_are_told_apart(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(
        CLASS "[Signature v]\nClass=c\nEngine=vllm\nPattern=words\n[Signature s]\nClass=c\nEngine=sglang\nPattern=words\n"
        "[Signature all]\nClass=c\nPattern=words\n");
    static const char *const engines[] = {"vllm", "sglang", "ollama", NULL};
    static const char *const told[] = {"v all", "s all", "v s all", "v s all"};

    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        _cleanup_(matcher_freep) struct matcher *m = NULL;
        struct seen s = {};
        char **errors = NULL;

        assert_int_equal(matcher_new(c, engines[i], NULL, 0, &m, &errors), 0);
        assert_int_equal(matcher_scan(m, LOG_SERVER, "words", 5, on_match, &s), 0);
        assert_string_equal(s.told.data, told[i]);
        strbuf_release(&s.told);
    }
}

static void refuses_bad_phases(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(CLASS);
    char name[] = "weights", bad[] = "a(b", *patterns[] = {bad, NULL};
    struct phase_config phase = {.name = name, .patterns = patterns};
    _cleanup_strv_ char **errors = NULL;
    struct matcher *m = NULL;

    assert_int_equal(matcher_new(c, NULL, &phase, 1, &m, &errors), -EINVAL);
    assert_null(m);
    assert_string_equal(errors[0], "weights: the phase's pattern a(b: missing closing parenthesis at position 3");
}

static void long_captures_are_cut(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c =
        diagnosis_catalog(CLASS "[Signature s]\nClass=c\nPattern=words (?<all>.*)\n");
    _cleanup_(matcher_freep) struct matcher *m = NULL;
    _cleanup_strbuf_ struct strbuf text = {};
    struct seen s = {};
    char **errors = NULL;

    strbuf_append(&text, "words x");
    for (int i = 0; i < 1000; i++)
        strbuf_append(&text, "\xe6\x96\x87");
    assert_int_equal(matcher_new(c, NULL, NULL, 0, &m, &errors), 0);
    assert_int_equal(matcher_scan(m, LOG_SERVER, text.data, text.len, on_match, &s), 0);
    /* One x and 170 characters of three bytes. */
    assert_int_equal(s.told.len, strlen("s,all=") + 511);
    strbuf_release(&s.told);
}

static void no_text_takes_long(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(
        CLASS "[Signature words]\nClass=c\nPattern=[^\\s:/]+\\.so: undefined symbol\n"
        "[Signature nested]\nClass=c\nPattern=(?:a+)+b undefined symbol\n"
        "[Signature three]\nClass=c\nPattern=x.*y.*z.* undefined symbol end\n");
    _cleanup_(matcher_freep) struct matcher *m = NULL;
    char **errors = NULL;

    assert_int_equal(matcher_new(c, NULL, NULL, 0, &m, &errors), 0);
    for (int kind = 0; kind < 3; kind++) {
        _cleanup_strbuf_ struct strbuf text = {};
        struct seen s = {};

        while (text.len < 60000)
            strbuf_append(&text, kind == 0 ? "a" : kind == 1 ? "xyz" : "ab undefined symbol");
        strbuf_append(&text, ".so undefined symbol");
        assert_int_equal(matcher_scan(m, LOG_SERVER, text.data, text.len, on_match, &s), 0);
        strbuf_release(&s.told);
    }
}

static void ignore(const struct match unused *m, void unused *userdata)
{
}

static int without_memory(void *data)
{
    _cleanup_(matcher_freep) struct matcher *m = NULL;
    _cleanup_strv_ char **errors = NULL;
    const char *text = "neighbour: fatal error: a.h and (?:x|y) option one two given";
    char weights[] = "weights", pattern[] = "(?:loading|load(?:ed)?) weights?", *patterns[] = {pattern, NULL};
    struct phase_config phase = {.name = weights, .patterns = patterns};
    int r = matcher_new(data, NULL, &phase, 1, &m, &errors);

    return r == 0 ? matcher_scan(m, LOG_SERVER, text, strlen(text), ignore, NULL) : r;
}

static void survives_lack_of_memory(void unused **state)
{
    _cleanup_(catalog_freep) struct catalog *c = diagnosis_catalog(catalog_text);

    chaos_each(without_memory, c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derives_requirements),        cmocka_unit_test(bounds_depth_and_width),
        cmocka_unit_test(finds_literals_wherever_they_stand), cmocka_unit_test(finds_no_more_than_there_is),
        cmocka_unit_test(rules_agree_with_pcre2),      cmocka_unit_test(matches_by_source_and_engine),
        cmocka_unit_test(engines_are_told_apart),      cmocka_unit_test(refuses_bad_phases),
        cmocka_unit_test(long_captures_are_cut),       cmocka_unit_test(no_text_takes_long),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("matcher", tests, NULL, NULL);
}
