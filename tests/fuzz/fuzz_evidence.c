/* SPDX-License-Identifier: MIT */
/* Any log, any order of what happens besides, any ending: there is always a judgement, and it is whole. */

#include <assert.h>

#include "base/str.h"
#include "core/diagnosis/evidence.h"
#include "core/diagnosis/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const char catalog_text[] =
    "[Class a]\nText=it is a\nHint=do {word}\nRetry=never\n"
    "[Class b]\nText=it is b\n"
    "[Class host_oom_kill]\nText=out of memory\n"
    "[Signature cause]\nClass=a\nPattern=causes (?<word>\\w+)\nHint=mend {word} of {rank}\n"
    "[Signature suspect]\nClass=b\nRank=suspect\nNeeds=@failure\nPattern=suspects (?<word>\\w+)\n"
    "[Signature wrapper]\nClass=a\nRank=wrapper\nNeeds=context\nNear=3\nPattern=wraps\n"
    "[Signature other]\nClass=b\nUnless=context benign\nNear=2\nPattern=others (?<n>\\d+)\nFingerprint=-\n"
    "[Signature echo]\nClass=b\nRank=secondary\nPattern=echo (?<more>\\w+)\n"
    "[Signature killed]\nClass=host_oom_kill\nOwner=pid\nPattern=killed (?<pid>\\d+)\n"
    "[Signature benign]\nClass=b\nRank=benign\nCovers=yes\nPattern=harmless\n"
    "[Signature context]\nRank=context\nPattern=context\n";

struct subject {
    struct matcher *matcher;
    struct evidence *evidence;
};

static void on_match(const struct match *m, void *userdata)
{
    struct subject *s = userdata;

    assert(evidence_match(s->evidence, m) == 0);
}

static void on_record(const struct record *r, void *userdata)
{
    struct subject *s = userdata;

    assert(evidence_line(s->evidence, r, LOG_ANY) == 0);
    assert(matcher_scan(s->matcher, LOG_ANY, r->text, r->len, on_match, s) == 0);
}

static int check_finding(const struct finding *f, void *userdata)
{
    size_t *n = userdata;

    assert(f->signature && f->line && f->line_number > 0 && f->seen > 0 && f->outcome < N_OUTCOMES);
    return ++*n > 64;
}

static void check_report(const struct circumstances *c, const struct root_cause *cause)
{
    struct decision decision = {};
    struct report_facts facts = {.circumstances = c, .cause = cause, .decision = &decision};
    _cleanup_free_ char *summary = report_summary(&facts);
    json_t *json = NULL;

    assert(report_json(&facts, &json) == 0 && summary);
    json_decref(json);
}

static void judge(const struct evidence *e, uint8_t byte)
{
    struct circumstances c = {
        .ending = byte % N_ENDINGS, .status = byte / 2, .phase = byte % N_PHASES, .verdict = byte % N_VERDICTS,
        .oom_kills = byte % 16 == 0, .foreign_owner = byte % 16 == 1 ? "pid 1" : NULL, .core_dumped = byte % 2,
    };
    struct root_cause cause = {};
    size_t n = 0;

    assert(evidence_root_cause(e, &c, &cause) == 0);
    assert(cause.class_name && cause.summary && cause.fingerprint);
    assert(!cause.signature == !cause.line && !cause.line == (cause.line_number == 0));
    assert(strv_length(cause.after) <= 3 && strv_length(cause.before) <= 10);
    assert(evidence_findings(e, &c, check_finding, &n) == 0);
    check_report(&c, &cause);
    root_cause_release(&cause);
}

/* The first byte of a line may be an order, the rest of it is what is said. */
static void play(struct subject *s, struct normaliser *n, const char *line, size_t len)
{
    switch (len > 0 ? line[0] : '\0') {
    case '\x01':
        evidence_next_phase(s->evidence);
        break;
    case '\x02':
        evidence_survived(s->evidence);
        break;
    case '\x03':
        evidence_healthy(s->evidence);
        break;
    case '\x04':
        evidence_close(s->evidence);
        break;
    case '\x05':
        evidence_reset(s->evidence);
        break;
    case '\x06':
        evidence_own(s->evidence, len > 1 ? line[1] : 1);
        break;
    case '\x07':
        judge(s->evidence, len > 1 ? (uint8_t) line[1] : 0);
        break;
    default:
        break;
    }
    assert(normalise_line(n, line, len, on_record, s) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct catalog_text text = {.file = "fuzz.conf", .text = catalog_text, .len = sizeof(catalog_text) - 1};
    _cleanup_(normaliser_freep) struct normaliser *normaliser = NULL;
    const char *line = (const char *) bytes, *end = line + n;
    struct catalog *catalog = NULL;
    struct subject s = {};
    char **errors = NULL;

    assert(catalog_parse(&text, 1, &catalog, &errors) == 0);
    assert(matcher_new(catalog, NULL, NULL, 0, &s.matcher, &errors) == 0);
    assert(evidence_new(catalog, &s.evidence) == 0);
    assert(normaliser_new(&normaliser) == 0);
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t) (end - line));

        play(&s, normaliser, line, (size_t) ((newline ? newline : end) - line));
        line = newline ? newline + 1 : end;
    }
    judge(s.evidence, n > 0 ? bytes[n - 1] : 0);
    evidence_free(s.evidence);
    matcher_free(s.matcher);
    catalog_free(catalog);
    return 0;
}
