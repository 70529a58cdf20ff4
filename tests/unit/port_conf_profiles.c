/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "base/str.h"
#include "core/diagnosis/normalise.h"
#include "core/diagnosis/matcher.h"
#include "port/conf_files.h"
#include "port/conf_read.h"
#include "world.h"

/* The profiles of this tree; tests run at its top. */
static struct config *with_command(const char *profile, char *const *command)
{
    _cleanup_conf_paths_ struct conf_paths paths = {};
    _cleanup_strv_ char **errors = NULL;
    const struct conf_request req = {
        .instance = "test",
        .profile = profile,
        .settings = str_equal(profile, "openai") ? WORLD_VECTOR("Server.URL=http://h:1") : NULL,
        .command = command,
    };
    struct config *c = NULL;

    assert_int_equal(conf_paths_init(&paths, "/nonexistent", "conf"), 0);
    if (conf_load(&paths, &req, &c, &errors) < 0)
        fail_msg("%s", errors[0]);
    return c;
}

static struct config *with_profile(const char *profile)
{
    return with_command(profile, WORLD_VECTOR("/opt/bin/server"));
}

static void every_profile_is_without_mistakes(void unused **state)
{
    static const char *const built_in[] = {"greedy", "sampled", "streamed", "parallel"};
    _cleanup_strv_ char **names = NULL;

    assert_int_equal(conf_list_dir("conf/profiles", &names), 0);
    assert_true(strv_length(names) >= 8);
    for (size_t i = 0; names[i]; i++) {
        _cleanup_(config_freep) struct config *c = with_profile(names[i]);

        assert_string_equal(c->server.profile, names[i]);
        for (size_t j = 0; j < c->n_probes; j++)
            assert_row(c->probes[j].command[0], access(c->probes[j].command[0], X_OK) == 0);
        for (size_t j = 0; j < c->n_canaries; j++)
            assert_row(c->canaries[j].name, !str_empty(c->canaries[j].proves));
        for (size_t j = 0; j < 4; j++)
            assert_row(names[i], strv_contains(c->start.suite, built_in[j]));
    }
}

static void usual_ports(void unused **state)
{
    static const struct {
        const char *profile, *url;
    } rows[] = {
        {"sglang", "http://127.0.0.1:30000"},
        {"vllm", "http://127.0.0.1:8000"},
        {"llama-server", "http://127.0.0.1:8080"},
        {"tgi", "http://127.0.0.1:3000"},
        {"trtllm", "http://127.0.0.1:8000"},
        {"ollama", "http://127.0.0.1:11434"},
        {"triton", "http://127.0.0.1:8000"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *c = with_profile(rows[i].profile);

        assert_string_equal(c->server.url, rows[i].url);
    }
}

/* Profile=auto, and the suite that the command line asks for. */
static void commands_are_recognised(void unused **state)
{
#define USUAL "greedy sampled streamed parallel"
#define TORCH USUAL " penalties constrained long"
    static const struct {
        const char *command, *profile, *suite;
    } rows[] = {
        {"/opt/sglang/bin/python3 -m sglang.launch_server --model-path /m --port 30001", "sglang", TORCH},
        {"sglang serve --model-path /m", "sglang", TORCH},
        {"docker run --gpus all lmsysorg/sglang:latest python3 -m x", "sglang", TORCH},
        {"python -m sglang.launch_server --model-path /m --is-embedding", "sglang", "embeddings"},
        {"/usr/local/bin/vllm serve /m", "vllm", TORCH},
        {"python3 -m vllm.entrypoints.openai.api_server --model /m", "vllm", TORCH},
        {"podman run docker.io/vllm/vllm-openai:v0.11 --model /m", "vllm", TORCH},
        {"vllm serve /m --task embed", "vllm", "embeddings"},
        {"vllm serve /m --task=embedding", "vllm", "embeddings"},
        {"vllm serve /m --runner pooling", "vllm", "embeddings"},
        {"vllm serve /m --task score", "vllm", "rerank"},
        {"/usr/bin/env llama-server -m /m.gguf", "llama-server", USUAL " constrained"},
        {"docker run ghcr.io/ggml-org/llama.cpp:server-cuda -m /m.gguf", "llama-server", USUAL " constrained"},
        {"llama-server --embeddings -m /m.gguf", "llama-server", "embeddings"},
        {"llama-server -m /m.gguf --rerank", "llama-server", "rerank"},
        {"llama-server -m /m.gguf --embd-normalize 2", "llama-server", USUAL " constrained"},
        {"text-generation-launcher --model-id m", "tgi", USUAL " native penalties constrained"},
        {"docker run ghcr.io/huggingface/text-generation-inference:3 --model-id m", "tgi",
         USUAL " native penalties constrained"},
        {"trtllm-serve /m", "trtllm", USUAL " penalties constrained"},
        {"mpirun -n 8 trtllm-llmapi-launch trtllm-serve /m", "trtllm", USUAL " penalties constrained"},
        {"/bin/ollama serve", "ollama", USUAL " native constrained"},
        {"docker run ollama/ollama", "ollama", USUAL " native constrained"},
        {"/opt/tritonserver/bin/tritonserver --model-repository=/m", "triton", USUAL},
        {"docker run nvcr.io/nvidia/tritonserver:25.01-trtllm-python-py3 tritonserver", "triton", USUAL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strv_ char **command = NULL;
        _cleanup_(config_freep) struct config *c = NULL;
        _cleanup_free_ char *suite = NULL;

        assert_int_equal(strv_split(rows[i].command, " ", &command), 0);
        c = with_command("auto", command);
        suite = strv_join(c->start.suite, " ");
        assert_row(rows[i].command, str_equal(c->server.profile, rows[i].profile));
        assert_row(rows[i].command, str_equal(suite, rows[i].suite));
    }
}

/* The phase that the last record of a line begins; records before it are glued progress bars. */
struct found {
    struct matcher *matcher;
    const char *phase;
};

static void on_match(const struct match *match, void *userdata)
{
    struct found *f = userdata;

    assert_true(str_empty(f->phase));
    f->phase = match->phase->name;
}

static void on_record(const struct record *record, void *userdata)
{
    struct found *f = userdata;

    f->phase = "";
    assert_int_equal(matcher_scan(f->matcher, LOG_SERVER, record->text, record->len, on_match, f), 0);
}

static void phases_are_recognised(void unused **state)
{
    static const struct {
        const char *profile, *line, *phase;
    } rows[] = {
        {"sglang", "[2031-02-03 04:05:06 TP1] Init torch distributed begin.", "distributed"},
        {"sglang", "[2031-02-03 04:05:06] Init torch distributed ends. elapsed=1.10 s", ""},
        {"sglang", "[2031-02-03 04:05:06 DP0 TP3 EP3] Load weight begin. avail mem=78.20 GB", "weights"},
        {"sglang", "[2031-02-03 04:05:06] Load weight end. elapsed=9.1 s", ""},
        {"sglang", "[2031-02-03 04:05:06 TP0] KV Cache is allocated. #tokens: 9, K size: 1.0 GB", "memory"},
        {"sglang", "[2031-02-03 04:05:06] Capture cuda graph begin. This can take up to several minutes.",
         "graphs"},
        {"sglang", "[2031-02-03 04:05:06] Capture target prefill CUDA graph begin. bs=[1, 2]", "graphs"},
        {"sglang", "[2031-02-03 04:05:06] Capture cuda graph end. Time elapsed: 9.9 s", ""},
        {"sglang", "[2031-02-03 04:05:06 TP0] Entering DeepGEMM JIT Pre-Compile session. It may take long",
         "deepgemm"},
        {"sglang", "[2031-02-03 04:05:06] INFO:     Application startup complete.", "warmup"},
        {"sglang", "INFO:     Uvicorn running on http://0.0.0.0:1 (Press CTRL+C to quit)", "warmup"},
        {"sglang", "[2031-02-03 04:05:06] The user said: Load weight begin. I said no", ""},
        {"vllm", "(EngineCore_DP0 pid=7) INFO 02-03 04:05:06 [core.py:9] Initializing a V1 LLM engine (v0.9)",
         "engine"},
        {"vllm", "(Worker_TP1 pid=8) INFO 02-03 04:05:06 [runner.py:9] Starting to load model /m/x...",
         "weights"},
        {"vllm", "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.0s/it]",
         "weights"},
        {"vllm", "INFO 02-03 04:05:06 [loader.py:9] Loading weights took 3.00 seconds", ""},
        {"vllm", "INFO 02-03 04:05:06 [runner.py:9] Model loading took 2.5 GiB memory and 4.1 seconds",
         "compile"},
        {"vllm", "INFO 02-03 04:05:06 [monitor.py:9] torch.compile takes 9.1 s in total", "profile"},
        {"vllm", "INFO 02-03 04:05:06 [monitor.py:9] torch.compile took 9.1 s in total", "profile"},
        {"vllm", "INFO 02-03 04:05:06 [kv.py:9] GPU KV cache size: 1,024 tokens", "memory"},
        {"vllm", "INFO 02-03 04:05:06 [worker.py:9] Available KV cache memory: 7.4 GiB", "memory"},
        {"vllm", "(EngineCore pid=7) 2031-02-03 04:05:06,1 - INFO - a.py:9 - flashinfer.jit: [Autotuner]: "
                 "Autotuning process starts ...", "autotune"},
        {"vllm", "Capturing CUDA graphs (decode, FULL):   0%|          | 0/35 [00:00<?, ?it/s]", "graphs"},
        {"vllm", "INFO 02-03 04:05:06 [core.py:9] init engine (profile, create kv cache, warmup model) took "
                 "9.3 seconds", "http"},
        {"vllm", "INFO 02-03 04:05:06 [api_server.py:9] Starting vLLM API server 0 on http://0.0.0.0:8000",
         "http"},
        {"llama-server", "main: loading model", "model"},
        {"llama-server", "srv    load_model: loading model '/m/x.gguf'", "model"},
        {"llama-server", "load_tensors: loading model tensors, this can take a while... (mmap = true)",
         "weights"},
        {"llama-server", "load_tensors: offloaded 29/29 layers to GPU", "weights"},
        {"llama-server", "llama_context: constructing llama_context", "context"},
        {"llama-server", "llama_kv_cache:      CUDA0 KV buffer size =  1792.00 MiB", "context"},
        {"llama-server", "common_init_from_params: warming up the model with an empty run", "warmup"},
        {"llama-server", "srv    load_model: initializing slots, n_slots = 1", "slots"},
        {"llama-server", "main: model loaded", ""},
        {"openai", "INFO:     Application startup complete.", "http"},
        {"tgi", "2031-02-03T04:05:06.123456Z  INFO download: text_generation_launcher: Starting check and download "
                "process for org/m", "download"},
        {"tgi", "2031-02-03T04:05:06.123456Z  INFO shard-manager: text_generation_launcher: Starting shard rank=0",
         "shards"},
        {"tgi", "2031-02-03T04:05:06.123456Z  INFO shard-manager: text_generation_launcher: Waiting for shard to "
                "be ready... rank=0", "shards"},
        {"tgi", "2031-02-03T04:05:06.123456Z  INFO shard-manager: text_generation_launcher: Shard ready in 9.1s "
                "rank=0", "warmup"},
        {"trtllm", "[TensorRT-LLM] TensorRT LLM version: 1.2.0", "engine"},
        {"trtllm", "[02/03/2031-04:05:06] [TRT-LLM] [I] Prefetching 1.25GB checkpoint files.", "prefetch"},
        {"trtllm", "Loading weights: 100%|##########| 617/617 [00:07<00:00, 84.75it/s]", "weights"},
        {"trtllm", "Model init total -- 15.29s", "memory"},
        {"trtllm", "[02/03/2031-04:05:06] [TRT-LLM] [I] [Autotuner] Autotuning process starts ...", "autotune"},
        {"trtllm", "[02/03/2031-04:05:06] [TRT-LLM] [I] Creating CUDA graph instances for 4 batch sizes.", "graphs"},
        {"trtllm", "INFO:     Uvicorn running on http://localhost:8000 (Press CTRL+C to quit)", "http"},
        {"ollama", "time=2031-02-03T04:05:06.000Z level=INFO source=routes.go:9 msg=\"Listening on 127.0.0.1:11434 "
                   "(version 0.12.3)\"", "http"},
        {"triton", "I0203 04:05:06.123456 1 model_lifecycle.cc:9] loading: ensemble:1", "models"},
        {"triton", "I0203 04:05:06.123456 1 model_lifecycle.cc:9] \"loading: llama:1\"", "models"},
        {"triton", "I0203 04:05:06.123456 1 http_server.cc:9] Started HTTPService at 0.0.0.0:8000", "http"},
    };

    static const struct catalog none;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *c = with_profile(rows[i].profile);
        _cleanup_(normaliser_freep) struct normaliser *n = NULL;
        _cleanup_(matcher_freep) struct matcher *m = NULL;
        _cleanup_strv_ char **errors = NULL;
        struct found found = {};

        assert_int_equal(normaliser_new(&n), 0);
        assert_int_equal(matcher_new(&none, NULL, c->phases, c->n_phases, &m, &errors), 0);
        found.matcher = m;
        assert_int_equal(normalise_line(n, rows[i].line, strlen(rows[i].line), on_record, &found), 0);
        assert_row(rows[i].line, str_equal(found.phase, rows[i].phase));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_profile_is_without_mistakes),
        cmocka_unit_test(usual_ports),
        cmocka_unit_test(commands_are_recognised),
        cmocka_unit_test(phases_are_recognised),
    };

    return cmocka_run_group_tests_name("conf profiles", tests, NULL, NULL);
}
