/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/normalise.h"

/* One record in, its message out. */
static const struct {
    const char *line;
    const char *text;
    const char *rank; /* NULL: none */
    int64_t pid;      /* -1: none */
    bool prefixed;
} prefixes[] = {
    {"plain words", "plain words", NULL, -1, false},
    {"  File \"x.py\", line 3, in f", "  File \"x.py\", line 3, in f", NULL, -1, false},
    /* vLLM, old and new, nested */
    {"(EngineCore_DP0 pid=60) ERROR 01-12 01:09:14 [core.py:708] boom", "boom", "DP0", 60, true},
    {"(EngineCore_DP0 pid=60) ERROR 01-12 01:09:14 [core.py:708]   File \"a.py\"", "  File \"a.py\"", "DP0", 60, true},
    {"ERROR 03-12 18:19:00 engine.py:400] ValueError: x", "ValueError: x", NULL, -1, true},
    {"INFO 06-15 14:34:19 model_runner.py:893] CUDA graphs", "CUDA graphs", NULL, -1, true},
    {"ERROR:    (Worker_TP1 pid=3534) ERROR 10-11 22:28:17 [m.py:694] RuntimeError: no", "RuntimeError: no", "TP1",
     3534, true},
    {"(Worker_PP0_TP3 pid=7) WARNING 10-11 22:28:17 [m.py:694] x", "x", "TP3", 7, true},
    {"(VllmWorkerProcess rank=2 pid=9) INFO 10-11 22:28:17 x", "x", "rank=2", 9, true},
    {"(APIServer pid=36929) INFO:     192.0.2.1:5 - \"GET / HTTP/1.1\" 404", "192.0.2.1:5 - \"GET / HTTP/1.1\" 404",
     NULL, 36929, true},
    {"[multiproc_executor.py:492] ValueError: Free", "ValueError: Free", NULL, -1, true},
    {"(EngineCore pid=5) [rank0]:W0821 09:49:24.963000 5 torch/_inductor/utils.py:1731] Not enough", "Not enough",
     "rank0", 5, true},
    /* SGLang */
    {"[2025-02-09 20:33:21 TP0] Capture cuda graph begin.", "Capture cuda graph begin.", "TP0", -1, true},
    {"[2025-12-26 08:58:37 DP1 TP5 EP5] Entering", "Entering", "TP5", -1, true},
    {"[2026-08-02 00:09:40] INFO:     127.0.0.1:4 - x", "127.0.0.1:4 - x", NULL, -1, true},
    {"[2025-12-31 22:48:10] INFO core.py:524: start build", "start build", NULL, -1, true},
    {"[2026-08-28|16:10:43|FrontendAPI] ERROR    gone", "gone", NULL, -1, true},
    {"[16:10:33] stdout/INFO  out of resource", "out of resource", NULL, -1, true},
    /* torch, glog, absl */
    {"[rank1]:[E218 06:32:24.8 File.cpp:1595] watchdog", "watchdog", "rank1", -1, true},
    {"[E329 06:28:12.542939754 socket.cpp:1023] [c10d] timed out", "[c10d] timed out", NULL, -1, true},
    {"E0603 20:16:59.1 4242 file.cc:16] bad", "bad", NULL, 4242, true},
    {"E0000 00:00:1738140674.412162  464568 cuda_dnn.cc:8310] Unable", "Unable", NULL, 464568, true},
    /* NCCL, UCX */
    {"host1:3290198:3290199 [0] enqueue.cc:1556 NCCL WARN Cuda failure", "enqueue.cc:1556 NCCL WARN Cuda failure",
     NULL, 3290198, true},
    {"[host1:345  :0:4945] Caught signal 11", "Caught signal 11", NULL, 345, true},
    /* TensorRT-LLM, TGI, Ollama, llama-server */
    {"[TensorRT-LLM][ERROR] 6: The engine", "6: The engine", NULL, -1, true},
    {"[12/07/2025-00:20:58] [TRT-LLM] [I] [Autotuner] ends", "[Autotuner] ends", NULL, -1, true},
    {"[03/27/2024-11:09:02] [TRT] [E] 2: [engine.cpp::deserialize::1148] Error", "2: [engine.cpp::deserialize::1148] Error",
     NULL, -1, true},
    {"2023-08-17T15:28:43.904106Z  INFO shard-manager: text_generation_launcher: Waiting", "Waiting", NULL, -1, true},
    {"time=2025-03-12T12:14:22.015Z level=ERROR source=sched.go:456 msg=\"error\"", "msg=\"error\"", NULL, -1, true},
    {"2023/12/24 23:48:35 llama.go:459: error starting", "error starting", NULL, -1, true},
    {"0.00.123.456 E srv  load: failed", "srv  load: failed", NULL, -1, true},
    /* Python's logging */
    {"2025-03-08 09:54:03,188 - INFO - flashinfer.jit: Prebuilt", "Prebuilt", NULL, -1, true},
    {"2024-12-26 10:14:09,664 xinference.api 4247 ERROR    lib", "lib", NULL, 4247, true},
    {"WARNING:mistral_common.tokens:Warning: x", "Warning: x", NULL, -1, true},
    {"ERROR:torch.cuda.OutOfMemoryError: CUDA", "torch.cuda.OutOfMemoryError: CUDA", NULL, -1, true},
    {"[2025-03-05 14:28:45,820] [ERROR] [MainThread] [vllm.worker.worker_base] >>> raise", ">>> raise", NULL, -1, true},
    /* collectors alone begin no message */
    {"Aug 29 17:55:37 host1 vllm[41556]: hello", "hello", NULL, -1, false},
    {"2024-02-08T06:28:20.354023087-08:00 OSError: Can't", "OSError: Can't", NULL, -1, false},
    {"2024-02-08T06:28:20.354Z stderr F words", "words", NULL, -1, false},
    {"llama-cpp-1  | words", "words", NULL, -1, false},
    {"Thu Jan 23 11:55:50 2025[1,3]<stderr>:ImportError: x", "ImportError: x", "3", -1, false},
    {"ERROR 2025-04-05T00:01:19.209237575Z Last error:", "Last error:", NULL, -1, true},
    {"Thu 2025-01-23 11:55:50 UTC host1 vllm[1]: INFO 01-23 11:55:50 [a.py:1] up", "up", NULL, -1, true},
    /* the kernel */
    {"Okt 06 17:59:27 host1 kernel: NVRM: Xid", "NVRM: Xid", NULL, -1, true},
    {"[ 7386.259769] NVRM: API mismatch", "NVRM: API mismatch", NULL, -1, true},
    {"[Sun Feb 23 16:24:18 2025] NVRM: Xid", "NVRM: Xid", NULL, -1, true},
    {"kern  :warn  : 2025-01-21T04:41:44,285060+00:00 pt_main[2]: segfault", "pt_main[2]: segfault", NULL, -1, false},
    {"kernel: oom-kill:constraint", "oom-kill:constraint", NULL, -1, true},
    /* look like prefixes and are none */
    {"ERROR:    [Errno 98] error while binding", "[Errno 98] error while binding", NULL, -1, true},
    {"sampling.cuh:20:10: fatal error: curand.h: No such file", "sampling.cuh:20:10: fatal error: curand.h: No such file",
     NULL, -1, false},
    {"2024-02-08T06:28:20Z CUDA error: an illegal access", "CUDA error: an illegal access", NULL, -1, false},
    {"   20 | #include <curand.h>", "   20 | #include <curand.h>", NULL, -1, false},
    {"[1/4] Building", "[1/4] Building", NULL, -1, false},
    {"error: unknown argument: --mmproj", "error: unknown argument: --mmproj", NULL, -1, false},
    {"[aiter] start build", "[aiter] start build", NULL, -1, false},
    {"ERROR:        makedirs(head)", "    makedirs(head)", NULL, -1, true},
    {"| NVIDIA-SMI 550.54 |", "| NVIDIA-SMI 550.54 |", NULL, -1, false},
    /* escape sequences in all spellings */
    {"\x1b[1;36m(EngineCore pid=1)\x1b[0;0m INFO 07-31 16:21:40 [a.py:1] \x1b[32mup\x1b[0m", "up", NULL, 1, true},
    {"[0;36m(EngineCore pid=1)[0;0m up", "up", NULL, 1, true},
    {"^[[31mred^[[0m", "red", NULL, -1, false},
    {"#033[31mred#033[0m", "red", NULL, -1, false},
    {"\\x1b[31mred\\u001b[0m", "red", NULL, -1, false},
    {"\x1b]0;title\x07shell", "shell", NULL, -1, false},
    {"a[3]b[x]m", "a[3]b[x]m", NULL, -1, false},
    {"tail  \t ", "tail", NULL, -1, false},
};

struct seen {
    char *text[8];
    char *raw[8];
    char *rank[8];
    int64_t pid[8];
    bool prefixed[8];
    uint64_t line[8];
    size_t n;
};

static void on_record(const struct record *r, void *userdata)
{
    struct seen *s = userdata;

    assert_true(s->n < ARRAY_SIZE(s->text));
    assert_int_equal(strlen(r->text), r->len);
    s->text[s->n] = strndup(r->text, r->len);
    s->raw[s->n] = strndup(r->raw, r->raw_len);
    s->rank[s->n] = r->rank ? strdup(r->rank) : NULL;
    s->pid[s->n] = r->pid;
    s->prefixed[s->n] = r->prefixed;
    s->line[s->n++] = r->line;
}

static void forget(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->text[i]);
        free(s->raw[i]);
        free(s->rank[i]);
    }
    s->n = 0;
}

static void knows_prefixes(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        _cleanup_(normaliser_freep) struct normaliser *n = NULL;
        const char *line = prefixes[i].line;
        struct seen s = {};

        assert_int_equal(normaliser_new(&n), 0);
        assert_int_equal(normalise_line(n, line, strlen(line), on_record, &s), 0);
        assert_row(line, s.n == 1);
        if (strcmp(s.text[0], prefixes[i].text) != 0)
            fail_msg("row \"%s\": \"%s\"", line, s.text[0]);
        assert_row(line, str_equal(s.rank[0], prefixes[i].rank));
        assert_row(line, s.pid[0] == prefixes[i].pid);
        assert_row(line, s.prefixed[0] == prefixes[i].prefixed);
        forget(&s);
    }
}

/* Several records in one line; the texts with their raw forms. */
static const struct {
    const char *line;
    size_t len; /* 0: as a string */
    const char *texts[4];
} splits[] = {
    {"a\rb\rc", 0, {"a", "b", "c"}},
    {"one\ntwo\r\nthree\n", 0, {"one", "two", "three"}},
    {"\r\r\n", 0, {NULL}},
    {"", 0, {NULL}},
    {"(EngineCore pid=6890) ", 0, {NULL}},
    {"  9%|3| 2/23 [00:08<01:20,  3.82s/it][rank1]:[E129 08:52:51.6 P.cpp:15] dead", 0,
     {"  9%|3| 2/23 [00:08<01:20,  3.82s/it]", "dead"}},
    {"shards:  96% Completed | 47/49 [09:32<00:14,  7.50s/it]/home/x.py:279: UserWarning: y", 0,
     {"shards:  96% Completed | 47/49 [09:32<00:14,  7.50s/it]", "/home/x.py:279: UserWarning: y"}},
    {"a [00:01<00:02, 5.1it/s]b [00:01<00:02, 5.1it/s]c", 0, {"a [00:01<00:02, 5.1it/s]", "b [00:01<00:02, 5.1it/s]", "c"}},
    {"done [00:01<00:02, 5.1it/s] and more", 0, {"done [00:01<00:02, 5.1it/s] and more"}},
    {"not a bar: x/s]y", 0, {"not a bar: x/s]y"}},
    {"nul\0byte", 8, {"nul\xef\xbf\xbd" "byte"}},
    {"bad \xff\xc3( utf", 0, {"bad \xef\xbf\xbd\xef\xbf\xbd( utf"}},
    {"bell\a and \b\x01 gone", 0, {"bell and  gone"}},
    {"\xe6\x96\x87 ok", 0, {"\xe6\x96\x87 ok"}},
};

static void splits_records(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(splits); i++) {
        _cleanup_(normaliser_freep) struct normaliser *n = NULL;
        size_t len = splits[i].len > 0 ? splits[i].len : strlen(splits[i].line), wanted = 0;
        struct seen s = {};

        assert_int_equal(normaliser_new(&n), 0);
        assert_int_equal(normalise_line(n, splits[i].line, len, on_record, &s), 0);
        while (wanted < ARRAY_SIZE(splits[i].texts) && splits[i].texts[wanted])
            wanted++;
        assert_row(splits[i].line, s.n == wanted);
        for (size_t k = 0; k < wanted; k++) {
            if (strcmp(s.text[k], splits[i].texts[k]) != 0)
                fail_msg("row \"%s\": \"%s\"", splits[i].line, s.text[k]);
        }
        forget(&s);
    }
}

static void say(struct normaliser *n, const char *line, struct seen *s)
{
    assert_int_equal(normalise_line(n, line, strlen(line), on_record, s), 0);
}

static void continued_records_inherit(void unused **state)
{
    _cleanup_(normaliser_freep) struct normaliser *n = NULL;
    struct seen s = {};

    assert_int_equal(normaliser_new(&n), 0);
    say(n, "[2026-02-25 16:33:59 TP10] Scheduler hit an exception: Traceback", &s);
    say(n, "  File \"a.py\", line 1", &s);
    say(n, "RuntimeError: NCCL error", &s);
    say(n, "[2026-02-25 16:33:59] Received sigquit", &s);
    assert_string_equal(s.rank[1], "TP10");
    assert_string_equal(s.rank[2], "TP10");
    assert_false(s.prefixed[2]);
    assert_null(s.rank[3]);
    assert_int_equal(s.line[3], 4);
    forget(&s);
    normaliser_reset(n);
    say(n, "bare", &s);
    assert_null(s.rank[0]);
    assert_int_equal(s.line[0], 1);
    forget(&s);
}

static void raw_keeps_prefixes(void unused **state)
{
    _cleanup_(normaliser_freep) struct normaliser *n = NULL;
    struct seen s = {};

    assert_int_equal(normaliser_new(&n), 0);
    say(n, "\x1b[36m(EngineCore pid=1)\x1b[0m INFO 07-31 16:21:40 [a.py:1] up", &s);
    assert_string_equal(s.raw[0], "(EngineCore pid=1) INFO 07-31 16:21:40 [a.py:1] up");
    forget(&s);
}

static void on_long_record(const struct record *r, void *userdata)
{
    size_t *longest = userdata;

    assert_true(r->len <= NORMALISE_MAX_LINE);
    assert_int_equal(strlen(r->text), r->len);
    *longest = MAX(*longest, r->len);
}

static void long_lines_are_cut(void unused **state)
{
    static const char *const fillings[] = {"x", "\xe6\x96\x87", "[", "\x1b[31m", "/s]", "(EngineCore pid=1) ", "\xff", "1:"};
    _cleanup_(normaliser_freep) struct normaliser *n = NULL;

    assert_int_equal(normaliser_new(&n), 0);
    for (size_t i = 0; i < ARRAY_SIZE(fillings); i++) {
        _cleanup_strbuf_ struct strbuf line = {};
        size_t longest = 0;

        while (line.len < 1024 * 1024)
            strbuf_append(&line, fillings[i]);
        assert_int_equal(normalise_line(n, line.data, line.len, on_long_record, &longest), 0);
        /* What consists of escape sequences or prefixes alone is no record. */
        assert_true(i == 3 || i == 5 ? longest <= NORMALISE_MAX_LINE : longest > NORMALISE_MAX_LINE - 8);
    }
}

static void ignore(const struct record unused *r, void unused *userdata)
{
}

static int without_memory(void unused *data)
{
    _cleanup_(normaliser_freep) struct normaliser *n = NULL;
    int r = normaliser_new(&n);
    const char *line = "(EngineCore_DP0 pid=60) ERROR 01-12 01:09:14 [core.py:708] a rather long line with words";

    return r == 0 ? normalise_line(n, line, strlen(line), ignore, NULL) : r;
}

static void survives_lack_of_memory(void unused **state)
{
    chaos_each(without_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_prefixes),        cmocka_unit_test(splits_records),
        cmocka_unit_test(continued_records_inherit), cmocka_unit_test(raw_keeps_prefixes),
        cmocka_unit_test(long_lines_are_cut),    cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("normalise", tests, NULL, NULL);
}
