/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <signal.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/config_builder.h"

#define MINIMAL "[Server]\nCommand=/bin/server\nURL=http://h:1\n"

/* What one instance is made of: each part NULL where there is none. */
struct input {
    const char *profile;
    const char *file;
    const char *drop_in;
    const char *settings[4];
    char *const *command;
};

static int add_layers(struct config_builder *b, const struct input *in)
{
    int r = config_builder_add_text(b, "k26.conf", in->file, strlen(in->file));

    if (r == 0 && in->drop_in)
        r = config_builder_add_text(b, "k26.conf.d/a.conf", in->drop_in, strlen(in->drop_in));
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(in->settings) && in->settings[i]; i++)
        r = config_builder_add_assignment(b, in->settings[i]);
    if (r == 0 && in->command)
        r = config_builder_add_command(b, in->command);
    if (r == 0 && in->profile)
        r = config_builder_add_profile(b, "p.conf", in->profile, strlen(in->profile));
    return r;
}

static int load(const struct input *in, struct config **ret, char ***ret_errors)
{
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    int r = config_builder_new("k26.conf", "k26", "/data", &b);

    if (r == 0)
        r = add_layers(b, in);
    return r < 0 ? r : config_builder_finish(b, ret, ret_errors);
}

static struct config *loaded(const struct input *in)
{
    _cleanup_strv_ char **errors = NULL;
    struct config *c = NULL;
    int r = load(in, &c, &errors);

    if (errors)
        fail_msg("%s", errors[0]);
    assert_int_equal(r, 0);
    return c;
}

static struct config *loaded_text(const char *text)
{
    return loaded(&(struct input){.file = text});
}

static void assert_words(char *const *words, const char *expected)
{
    _cleanup_free_ char *text = strv_join(words, "|");

    assert_string_equal(text, expected);
}

static void defaults(void unused **state)
{
    _cleanup_(config_freep) struct config *c = loaded_text(MINIMAL);

    assert_words(c->server.command, "/bin/server");
    assert_string_equal(c->server.url, "http://h:1");
    assert_null(c->server.profile);
    assert_null(c->server.working_directory);
    assert_null(c->server.environment);
    assert_int_equal(c->server.stop_signal, SIGTERM);
    assert_int_equal(c->server.stop_usec, 60 * USEC_PER_SEC);
    assert_null(c->server.model);
    assert_string_equal(c->server.models_path, "/v1/models");
    assert_words(c->start.suite, "greedy|sampled|streamed|parallel");
    assert_int_equal(c->start.stall_usec, 10 * USEC_PER_MINUTE);
    assert_true(c->start.load_timeout_usec == USEC_INFINITY);
    assert_true(c->start.preflight);
    assert_int_equal(c->start.probe_usec, 100 * USEC_PER_MSEC);
    assert_int_equal(c->start.probe_max_usec, 250 * USEC_PER_MSEC);
    assert_null(c->live.canary);
    assert_int_equal(c->live.interval_usec, 30 * USEC_PER_SEC);
    assert_int_equal(c->live.timeout_usec, 20 * USEC_PER_SEC);
    assert_int_equal(c->live.fall, 3);
    assert_int_equal(c->live.rise, 2);
    assert_int_equal(c->restart.mode, RESTART_IN_PLACE);
    assert_int_equal(c->restart.backoff_usec, 5 * USEC_PER_SEC);
    assert_int_equal(c->restart.backoff_max_usec, 5 * USEC_PER_MINUTE);
    assert_int_equal(c->restart.budget, 5);
    assert_int_equal(c->restart.budget_usec, USEC_PER_HOUR);
    assert_int_equal(c->restart.stable_usec, 10 * USEC_PER_MINUTE);
    assert_int_equal(c->report.keep, 50);
    assert_null(c->http.listen);
    assert_int_equal(c->n_probes + c->n_phases + c->n_classes, 0);
}

/* The canaries of the default suite are there without anybody having written them. */
static void built_in_canaries(void unused **state)
{
    _cleanup_(config_freep) struct config *c = loaded_text(MINIMAL);
    const struct canary_config *greedy = config_canary(c, "greedy"), *sampled = config_canary(c, "sampled");

    assert_int_equal(c->n_canaries, 4);
    assert_non_null(greedy);
    assert_int_equal(greedy->kind, CANARY_CHAT);
    assert_true(greedy->temperature < 0.001 && greedy->temperature >= 0);
    assert_true(greedy->top_p < 0);
    assert_int_equal(greedy->max_tokens, 16);
    assert_int_equal(greedy->min_tokens, 1);
    assert_int_equal(greedy->first_timeout_usec, 10 * USEC_PER_MINUTE);
    assert_int_equal(greedy->timeout_usec, 20 * USEC_PER_SEC);
    assert_null(greedy->path);
    assert_false(str_empty(greedy->prompt));
    assert_non_null(sampled);
    assert_true(sampled->temperature > 0.599 && sampled->temperature < 0.601);
    assert_true(sampled->top_p > 0.949 && sampled->top_p < 0.951);
    assert_int_equal(sampled->parallel, 1);
    assert_true(sampled->expect_sane && !sampled->stream);
    assert_true(config_canary(c, "streamed")->stream);
    assert_int_equal(config_canary(c, "parallel")->parallel, 4);
    for (size_t i = 0; i < c->n_canaries; i++)
        assert_false(str_empty(c->canaries[i].proves));
    assert_null(config_canary(c, "none"));
}

static void later_layers_win(void unused **state)
{
    const struct input in = {
        .profile = "[Server]\nURL=http://p:1\nStopSec=1s\nModel=p\n[Live]\nFall=7\n",
        .file = "[Server]\nCommand=/bin/a\nModel=f\nStopSec=2s\nStopSec=3s\n",
        .drop_in = "[Server]\nCommand=/bin/b c\nModel=d\n",
        .settings = {"Server.Model=s", "Canary sampled.MaxTokens=4"},
    };
    _cleanup_(config_freep) struct config *c = loaded(&in);

    assert_string_equal(c->server.url, "http://p:1");
    assert_int_equal(c->live.fall, 7);
    assert_int_equal(c->server.stop_usec, 3 * USEC_PER_SEC);
    assert_words(c->server.command, "/bin/b|c");
    assert_string_equal(c->server.model, "s");
    assert_int_equal(config_canary(c, "sampled")->max_tokens, 4);
}

static void empty_goes_back_to_the_default(void unused **state)
{
    const struct input in = {
        .profile = "[Server]\nURL=http://p:1\nStopSec=1s\n",
        .file = "[Server]\nCommand=/bin/a\nStopSec=\nEnvironment=A=1 B=2\n",
        .drop_in = "[Server]\nEnvironment=\nEnvironment=C=3\n",
    };
    _cleanup_(config_freep) struct config *c = loaded(&in);

    assert_int_equal(c->server.stop_usec, 60 * USEC_PER_SEC);
    assert_words(c->server.environment, "C=3");
}

static void lists_add_up(void unused **state)
{
    const struct input in = {
        .profile = "[Server]\nURL=http://p:1\nEnvironment=A=p B=p\n[Phase w]\nText=x\nPattern=a\n",
        .file = "[Server]\nCommand=/bin/a\nEnvironment=B=f\n[Phase w]\nPattern=b\nPattern=c\n",
        .settings = {"Server.Environment=C=s"},
    };
    _cleanup_(config_freep) struct config *c = loaded(&in);

    assert_words(c->server.environment, "A=p|B=f|C=s");
    assert_int_equal(c->n_phases, 1);
    assert_ptr_equal(config_phase(c, "w"), c->phases);
    assert_words(c->phases[0].patterns, "a|b|c");
}

/* Default, profile, files, command line: each one's suite is the whole suite. */
static void suites_replace_each_other(void unused **state)
{
    static const struct {
        struct input in;
        const char *expected;
    } rows[] = {
        {{.file = MINIMAL}, "greedy|sampled|streamed|parallel"},
        {{.file = MINIMAL "[Start]\nSuite=sampled\n"}, "sampled"},
        {{.file = MINIMAL, .profile = "[Start]\nSuite=sampled\n"}, "sampled"},
        {{.file = MINIMAL "[Start]\nSuite=greedy\n", .profile = "[Start]\nSuite=sampled\n"}, "greedy"},
        {{.file = MINIMAL "[Start]\nSuite=x\nSuite=greedy\n[Canary x]\n"}, "x|greedy"},
        {{.file = MINIMAL "[Start]\nSuite=x\n[Canary x]\n", .drop_in = "[Start]\nSuite=greedy"}, "x|greedy"},
        {{.file = MINIMAL "[Start]\nSuite=sampled\n", .settings = {"Start.Suite=greedy"}}, "greedy"},
        {{.file = MINIMAL, .settings = {"Start.Suite=sampled", "Start.Suite=greedy"}}, "sampled|greedy"},
        {{.file = MINIMAL "[Start]\nSuite=sampled\nSuite=\nSuite=greedy\n"}, "greedy"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *c = loaded(&rows[i].in);

        assert_words(c->start.suite, rows[i].expected);
    }
}

static void named_sections(void unused **state)
{
    _cleanup_(config_freep) struct config *c =
        loaded_text(MINIMAL "[Canary greedy]\nMaxTokens=2\n[Canary long]\nKind=completions\nPath=/x\n"
                            "TimeoutSec=90s\n[Canary greedy]\nPrompt= \"Hi\" %i \n[Canary bare]\n"
                            "[Probe t]\nCommand=%D/probes/x %p \"a b\"\n[Class gpu_oom]\nRetry=never\n"
                            "Repeat=infinity\n[Live]\nTimeoutSec=5s\nCanary=long\n");

    assert_int_equal(c->n_canaries, 6);
    assert_int_equal(config_canary(c, "greedy")->max_tokens, 2);
    assert_string_equal(config_canary(c, "greedy")->prompt, "\"Hi\" %i");
    assert_int_equal(config_canary(c, "long")->kind, CANARY_COMPLETIONS);
    assert_int_equal(config_canary(c, "long")->timeout_usec, 90 * USEC_PER_SEC);
    assert_int_equal(config_canary(c, "bare")->timeout_usec, 5 * USEC_PER_SEC);
    assert_int_equal(config_canary(c, "bare")->max_tokens, 16);
    assert_string_equal(c->live.canary, "long");
    assert_int_equal(c->n_probes, 1);
    assert_string_equal(c->probes[0].name, "t");
    assert_words(c->probes[0].command, "/data/probes/x|/bin/server|a b");
    assert_int_equal(c->n_classes, 1);
    assert_string_equal(c->classes[0].name, "gpu_oom");
    assert_string_equal(c->classes[0].retry, "never");
    assert_string_equal(c->classes[0].repeat, "infinity");
    assert_null(c->classes[0].retry_serving);
}

static void limits_may_be_equal(void unused **state)
{
    _cleanup_(config_freep) struct config *c =
        loaded_text(MINIMAL "[Start]\nProbeSec=250ms\n[Canary greedy]\nMinTokens=16\n");

    assert_int_equal(c->start.probe_usec, c->start.probe_max_usec);
    assert_int_equal(config_canary(c, "greedy")->min_tokens, 16);
}

static void variants_choose_the_suite(void unused **state)
{
#define VARIANTS "[Start]\nSuite=greedy\n" \
    "[Variant embed]\nMatch=(^| )--embeddings?\\b\nSuite=vectors\n" \
    "[Variant rank]\nMatch=--rerank\nSuite=vectors sampled\n[Canary vectors]\nKind=embeddings\n"
    static const struct {
        const char *file, *expected;
    } rows[] = {
        {"[Server]\nURL=http://h:1\nCommand=/bin/server -m x\n", "greedy"},
        {"[Server]\nURL=http://h:1\nCommand=/bin/server --embedding\n", "vectors"},
        {"[Server]\nURL=http://h:1\nCommand=/bin/server --embeddings --rerank\n", "vectors"},
        {"[Server]\nURL=http://h:1\nCommand=/bin/server --embeddingsize --rerank\n", "vectors|sampled"},
        {"[Server]\nURL=http://h:1\nCommand=/bin/server --embedding\n[Start]\nSuite=sampled\n",
         "sampled"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *c =
            loaded(&(struct input){.file = rows[i].file, .profile = VARIANTS});

        assert_words(c->start.suite, rows[i].expected);
    }
}

static void profiles_claim_commands(void unused **state)
{
    static const struct {
        const char *command, *profile;
        int claimed;
    } rows[] = {
        {"Command=/opt/bin/vllm serve /m", "[Profile]\nMatch=/vllm serve ", 1},
        {"Command=/opt/bin/vllm serve /m", "[Profile]\nMatch=sglang\nMatch=\\bvllm\\b", 1},
        {"Command=/opt/bin/vllm serve /m", "[Profile]\nMatch=sglang\n[Start]\nMatch=vllm", 0},
        {"Command=/opt/bin/vllm serve /m", "[Profile]\nMatch=(", 0},
        {"Command=/opt/bin/vllm serve /m", "", 0},
        {"Command=\"open", "[Profile]\nMatch=open", 0},
        {"", "[Profile]\nMatch=open", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_builder_freep) struct config_builder *b = NULL;
        _cleanup_free_ char *text = str_format("[Server]\n%s\n", rows[i].command);
        const char *profile = rows[i].profile;

        assert_int_equal(config_builder_new("k26.conf", "k26", "/data", &b), 0);
        assert_int_equal(config_builder_add_text(b, "k26.conf", text, strlen(text)), 0);
        assert_row(profile, config_builder_claims(b, profile, strlen(profile)) == rows[i].claimed);
        assert_int_equal(config_builder_problems(b)->n, 0);
    }
}

static void credentials_have_a_specifier(void unused **state)
{
    static const char text[] = MINIMAL "APIKeyFile=%d/key\n";
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    _cleanup_(config_freep) struct config *c = NULL;
    _cleanup_strv_ char **errors = NULL;

    assert_int_equal(config_builder_new("k26.conf", "k26", "/data", &b), 0);
    assert_int_equal(config_builder_set_credentials(b, "/run/credentials/x.service"), 0);
    assert_int_equal(config_builder_add_text(b, "k26.conf", text, strlen(text)), 0);
    assert_int_equal(config_builder_finish(b, &c, &errors), 0);
    assert_string_equal(c->server.api_key_file, "/run/credentials/x.service/key");
}

static void extensions_are_passed_over(void unused **state)
{
    _cleanup_(config_freep) struct config *c =
        loaded_text("[X-Other]\nAnything=1\n[X-Other a]\n" MINIMAL "X-Note=ours\n");

    assert_string_equal(c->server.url, "http://h:1");
}

static void command_line_is_literal(void unused **state)
{
    static const char *const argv[] = {"./vllm", "--x=%i", "\"a", "b\\c", "", NULL};
    const struct input in = {
        .file = "[Server]\nURL=http://h:1\nCommand=/bin/other\n[Probe p]\nCommand=/bin/true %p\n",
        .command = (char *const *) (uintptr_t) argv,
    };
    _cleanup_(config_freep) struct config *c = loaded(&in);

    assert_words(c->server.command, "./vllm|--x=%i|\"a|b\\c|");
    assert_words(c->probes[0].command, "/bin/true|./vllm");
}

static void profile_that_is_asked_for(void unused **state)
{
    static const struct {
        struct input in;
        const char *expected;
        unsigned line;
    } rows[] = {
        {{.file = MINIMAL}, NULL, 0},
        {{.file = "[Server]\nProfile=a\n"}, "a", 2},
        {{.file = "[Server]\nProfile=a\n", .drop_in = "[Server]\n\nProfile=b\n"}, "b", 3},
        {{.file = "[Server]\nProfile=a\n", .settings = {"Server.Profile=c"}}, "c", 0},
        {{.file = "[Server]\nProfile=a\nProfile=\n"}, NULL, 0},
        {{.file = "[Server]\nProfile=../x\n"}, NULL, 0},
        {{.file = "[Start]\nProfile=a\n"}, NULL, 0},
        {{.file = "[Server x]\nProfile=a\n"}, NULL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_builder_freep) struct config_builder *b = NULL;
        const struct unit_entry *e;

        assert_int_equal(config_builder_new("k26.conf", "k26", "/data", &b), 0);
        assert_int_equal(add_layers(b, &rows[i].in), 0);
        e = config_builder_profile(b);
        assert_row(rows[i].in.file, (e != NULL) == (rows[i].expected != NULL));
        if (e) {
            assert_string_equal(e->value, rows[i].expected);
            assert_int_equal(e->line, rows[i].line);
        }
    }
}

/* Each mistake is one line: place, what is wrong, what was expected or meant. */
static void mistakes(void unused **state)
{
    static const struct {
        struct input in;
        const char *expected; /* all lines */
    } rows[] = {
        {{.file = ""},
         "k26.conf: Command= is missing in [Server]; expected a program, as an absolute path or a name in "
         "PATH, and its arguments\n"
         "k26.conf: URL= is missing in [Server]; expected http://HOST:PORT, https://HOST:PORT or unix:/PATH\n"},
        {{.file = MINIMAL "StallSecs=1\n"},
         "k26.conf:4: unknown key StallSecs= in [Server]; did you mean Start.StallSec?\n"},
        {{.file = MINIMAL "[Restart]\nColour=red\n"},
         "k26.conf:5: unknown key Colour= in [Restart]; expected one of Mode, BackoffSec, BackoffMaxSec, "
         "Budget, BudgetSec, StableSec, GPUWaitSec\n"},
        {{.file = MINIMAL "[Sever]\nCommand=x\nURL=y\n"},
         "k26.conf:4: unknown section [Sever]; did you mean [Server]?\n"},
        {{.file = "[Sever]\nCommand=x\nURL=y\n"},
         "k26.conf:1: unknown section [Sever]; did you mean [Server]?\n"},
        {{.file = MINIMAL "[Unit]\nDescription=x\n"},
         "k26.conf:4: unknown section [Unit]; expected one of [Server], [Start], [Live], [Restart], "
         "[Report], [HTTP], [Profile], [Canary], [Probe], [Phase], [Variant], [Class]\n"},
        {{.file = MINIMAL "[Live x]\nFall=1\n"},
         "k26.conf:4: [Live x] takes no name; expected [Live]\n"},
        {{.file = MINIMAL "[Canary]\nMaxTokens=1\n"},
         "k26.conf:4: [Canary] needs a name of letters, digits, \"_\", \"-\" and \".\"; expected "
         "[Canary NAME]\n"},
        {{.file = MINIMAL "[Canary a/b]\n"},
         "k26.conf:4: [Canary a/b] needs a name of letters, digits, \"_\", \"-\" and \".\"; expected "
         "[Canary NAME]\n"},
        {{.file = MINIMAL "[Start]\nStallSec=10 minuten\n"},
         "k26.conf:5: Start.StallSec=10 minuten: expected a time span such as 500ms, 30s, 10min or 1h "
         "30min, from 1s to infinity\n"},
        {{.file = MINIMAL "[Restart]\nBudget=1001\n"},
         "k26.conf:5: Restart.Budget=1001: out of range; expected a whole number, from 0 to 1000\n"},
        {{.file = "[Server]\nCommand=/bin/a \"b\nURL=http://h:1\n"},
         "k26.conf:2: Server.Command=/bin/a \"b: a quote that is not closed; expected a program, as an "
         "absolute path or a name in PATH, and its arguments\n"},
        {{.file = MINIMAL "[Start]\nSuite=gredy\n"},
         "k26.conf:5: Start.Suite= names a canary \"gredy\" that is not there; expected one of greedy, "
         "sampled, streamed, parallel, or a section [Canary gredy]\n"},
        {{.file = MINIMAL "[Start]\nSuite=a/b\n"},
         "k26.conf:5: Start.Suite=a/b: \"a/b\" is no name; expected names, separated by white space\n"},
        {{.file = MINIMAL "[Start]\nSuite=\n"},
         "k26.conf:5: Start.Suite= is empty; expected at least one canary, since nothing else proves that "
         "the server generates\n"},
        {{.file = MINIMAL "[Live]\nCanary=nope\n"},
         "k26.conf:5: Live.Canary= names a canary \"nope\" that is not there; expected one of greedy, "
         "sampled, streamed, parallel, or a section [Canary nope]\n"},
        {{.file = MINIMAL "[Start]\nProbeSec=300ms\n"},
         "k26.conf:5: Start.ProbeSec=300ms is longer than ProbeMaxSec=250ms; expected no more than that\n"},
        {{.file = MINIMAL "[Restart]\nBackoffMaxSec=1s\n"},
         "k26.conf: Restart.BackoffSec=5s is longer than BackoffMaxSec=1s; expected no more than that\n"},
        {{.file = MINIMAL "[Canary x]\nMinTokens=17\n"},
         "k26.conf:5: MinTokens=17 of [Canary x] is more than its MaxTokens=16; expected no more than "
         "that\n"},
        {{.file = MINIMAL "[Canary x]\nFirstTokenSec=1s\n"},
         "k26.conf:5: FirstTokenSec= of [Canary x] takes a streamed answer; expected Stream=yes with it\n"},
        {{.file = MINIMAL "[Canary x]\nBody={}\nBodyFile=/b\n"},
         "k26.conf:6: BodyFile= of [Canary x] stands beside Body=; expected one of them\n"},
        {{.file = MINIMAL "[Canary x]\nKind=raw\n"},
         "k26.conf:5: Kind= of [Canary x] is raw without a path; expected Path= with it\n"},
        {{.file = MINIMAL "[Canary x]\nKind=rerank\nStream=yes\n"},
         "k26.conf:6: Stream= of [Canary x] is set for an API that does not stream; expected another "
         "Kind=\n"},
        {{.file = MINIMAL "[Canary x]\nKind=embeddings\nSchema={}\n"},
         "k26.conf:6: Schema= of [Canary x] is set for an API that takes none; expected another Kind=\n"},
        {{.file = MINIMAL "[Canary x]\nSchema=[]\n"},
         "k26.conf:5: Canary.Schema=[]: expected a JSON object\n"},
        {{.file = MINIMAL "[Canary x]\nHeader=Authorization: Bearer abc\n"},
         "k26.conf:5: Canary.Header=Authorization: Bearer [redacted]: a key does not belong into a "
         "configuration; expected NAME: VALUE, without Authorization (APIKeyFile= is for that)\n"},
        {{.file = MINIMAL "[Variant v]\nMatch=x\nSuite=nope\n"},
         "k26.conf:6: Variant.Suite= names a canary \"nope\" that is not there; expected one of greedy, "
         "sampled, streamed, parallel, or a section [Canary nope]\n"},
        {{.file = MINIMAL "[Probe p]\n[Phase q]\nText=t\n"},
         "k26.conf: Command= is missing in [Probe p]; expected a program, as an absolute path or a name in "
         "PATH, and its arguments\n"
         "k26.conf: Pattern= is missing in [Phase q]; expected a regular expression (PCRE2)\n"},
        {{.file = MINIMAL, .profile = "[Server]\nProfile=x\n"},
         "p.conf:2: a profile cannot name another profile; expected no Profile=\n"},
        {{.file = MINIMAL, .settings = {"Start.StallSec", "StallSec=1", "Start.StalSec=1s", "[.x=1"}},
         "command line: \"Start.StallSec\" is no setting; expected Section.Key=Value, such as "
         "Start.StallSec=10min\n"
         "command line: \"StallSec=1\" is no setting; expected Section.Key=Value, such as "
         "Start.StallSec=10min\n"
         "command line: unknown key StalSec= in [Start]; did you mean Start.StallSec?\n"
         "command line: unknown section [[]; expected one of [Server], [Start], [Live], [Restart], "
         "[Report], [HTTP], [Profile], [Canary], [Probe], [Phase], [Variant], [Class]\n"},
        {{.file = MINIMAL, .settings = {"Server.Model=a\nb"}},
         "command line: \"Server.Model=a?b\" is no setting; expected Section.Key=Value, such as "
         "Start.StallSec=10min\n"},
        /* What is quoted may be a secret. */
        {{.file = "[Server]\nCommand=/bin/a\nURL=http://me:hunter2@h:1\n"},
         "k26.conf:3: Server.URL=http://[redacted]@h:1: credentials do not belong here, Server.APIKeyFile= "
         "names a file with the key; expected http://HOST:PORT, https://HOST:PORT or unix:/PATH\n"},
        {{.file = MINIMAL "Environment=HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 \"\n--api-key hunter22 --port=1\n--api-key "
                        "hunter22\n"},
         "k26.conf:4: Server.Environment=HF_TOKEN=[redacted] \": a quote that is not closed; expected "
         "assignments NAME=VALUE\n"
         "k26.conf:5: unknown key --api-key [redacted] --port= in [Server]; expected one of Command, "
         "Profile, URL, WorkingDirectory, Environment, StopSignal, StopSec, Model, ModelsPath, APIKeyFile, "
         "CAFile\n"
         "k26.conf:6: \"--api-key [redacted]\" is no assignment; expected Key=Value, [Section] or a "
         "comment\n"},
        /* Several at once, each told, none as a consequence of another. */
        {{.file = "oops\n[Server]\nURL=h:1\nCommand=/bin/a\n[Live]\nFall=0\n", .drop_in = "[Live]\nRise=x\n"},
         "k26.conf:1: \"oops\" is no assignment; expected Key=Value, [Section] or a comment\n"
         "k26.conf:3: Server.URL=h:1: neither http:// nor https:// nor unix:; expected http://HOST:PORT, "
         "https://HOST:PORT or unix:/PATH\n"
         "k26.conf:6: Live.Fall=0: out of range; expected a whole number, from 1 to 100\n"
         "k26.conf.d/a.conf:2: Live.Rise=x: expected a whole number, from 1 to 100\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strv_ char **errors = NULL;
        _cleanup_free_ char *text = NULL;
        struct strbuf b = {};
        struct config *c = NULL;

        assert_row(rows[i].expected, load(&rows[i].in, &c, &errors) == -EINVAL);
        assert_null(c);
        for (size_t j = 0; errors[j]; j++)
            strbuf_appendf(&b, "%s\n", errors[j]);
        text = strbuf_steal(&b);
        assert_string_equal(text, rows[i].expected);
    }
}

static char *repeated(const char *before, const char *format, unsigned n)
{
    struct strbuf b = {};
    char *text;

    strbuf_append(&b, before);
    for (unsigned i = 0; i < n; i++) {
        char line[64];

        (void) snprintf(line, sizeof(line), "%s%u]\n", format, i);
        strbuf_append(&b, line);
    }
    text = strbuf_steal(&b);
    assert_non_null(text);
    return text;
}

static void numbers_are_bounded(void unused **state)
{
    static const struct {
        const char *before, *format;
        unsigned most;
        const char *expected;
    } rows[] = {
        {MINIMAL, "[Class c", CONFIG_MAX_NAMED,
         "k26.conf:260: too many sections [Class ...]; expected at most 256"},
        {MINIMAL, "Model=m[", CONFIG_MAX_ASSIGNMENTS - 2,
         "k26.conf:10002: too many assignments; expected at most 10000"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *most = repeated(rows[i].before, rows[i].format, rows[i].most);
        _cleanup_free_ char *more = repeated(rows[i].before, rows[i].format, rows[i].most + 2);
        _cleanup_(config_freep) struct config *c = loaded_text(most);
        _cleanup_strv_ char **errors = NULL;
        struct config *none = NULL;

        assert_int_equal(load(&(struct input){.file = more}, &none, &errors), -EINVAL);
        assert_string_equal(errors[0], rows[i].expected);
    }
}

/* What the caller could not read may have had everything that seems to be missing. */
static void nothing_is_missing_after_a_failed_read(void unused **state)
{
    _cleanup_(config_builder_freep) struct config_builder *b = NULL;
    _cleanup_strv_ char **errors = NULL;
    struct config *c = NULL;

    assert_int_equal(config_builder_new("k26.conf", "k26", "/data", &b), 0);
    assert_int_equal(problems_add(config_builder_problems(b), "k26.conf", 0, "unreadable"), 0);
    assert_int_equal(config_builder_finish(b, &c, &errors), -EINVAL);
    assert_string_equal(errors[0], "k26.conf: unreadable");
    assert_null(errors[1]);
}

static int load_rich(void unused *data)
{
    static const char *const argv[] = {"/bin/x", "y", NULL};
    const struct input in = {
        .profile = "[Server]\nURL=http://p:1\n[Phase a]\nText=b\nPattern=c\n[Probe p]\nCommand=%D/x %p\n",
        .file = "[Server]\nCommand=/bin/a %i\nEnvironment=A=1\n[Canary z]\nPath=/q\n[Class c]\nRetry=slow\n",
        .settings = {"Start.Suite=z greedy"},
        .command = (char *const *) (uintptr_t) argv,
    };
    _cleanup_(config_freep) struct config *c = NULL;
    _cleanup_strv_ char **errors = NULL;

    return load(&in, &c, &errors);
}

static int load_wrong(void unused *data)
{
    const struct input in = {
        .file = "[Server]\nComand=/bin/a %i\nURL=x\nEnvironment=A\n[Canary z]\nPath=q\n[Sever]\n",
        .settings = {"Start.Suite=z y"},
    };
    _cleanup_strv_ char **errors = NULL;
    struct config *c = NULL;
    int r = load(&in, &c, &errors);

    assert_null(c);
    return r == -EINVAL ? 0 : r;
}

static void survives_lack_of_memory(void unused **state)
{
    assert_true(chaos_each(load_rich, NULL) > 100);
    assert_true(chaos_each(load_wrong, NULL) > 50);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(built_in_canaries),
        cmocka_unit_test(later_layers_win),
        cmocka_unit_test(empty_goes_back_to_the_default),
        cmocka_unit_test(lists_add_up),
        cmocka_unit_test(suites_replace_each_other),
        cmocka_unit_test(named_sections),
        cmocka_unit_test(limits_may_be_equal),
        cmocka_unit_test(variants_choose_the_suite),
        cmocka_unit_test(profiles_claim_commands),
        cmocka_unit_test(credentials_have_a_specifier),
        cmocka_unit_test(extensions_are_passed_over),
        cmocka_unit_test(command_line_is_literal),
        cmocka_unit_test(profile_that_is_asked_for),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(numbers_are_bounded),
        cmocka_unit_test(nothing_is_missing_after_a_failed_read),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config builder", tests, NULL, NULL);
}
