/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "chaos.h"
#include "core/diagnosis/redact.h"

/* Put together here, so that no scanner of repositories takes these for real ones. */
#define A20 "aB3dE5gH7jK9mN1pQ3sT"
#define A36 A20 "5vX7zB9dF1hJ3lN5"
#define JWT "eyJhbGciOiJIUzI1NiJ9" ".eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhb"

/* Where the text has a secret, and what must be left of the text. */
static const struct {
    const char *text;
    const char *shown;
} secrets[] = {
    {"token hf_" A36 " used", "token [redacted] used"},
    {"(api_org_" A36 ")", "([redacted])"},
    {"Incorrect API key provided: sk-" A36, "Incorrect API key provided: [redacted]"},
    {"sk-proj-" A20 "_" A20, "[redacted]"},
    {"sk-ant-api03-" A36, "[redacted]"},
    {"id AKIA" "IOSFODNN7EXAMPLE", "id [redacted]"},
    {"ASIA" "IOSFODNN7EXAMPLE", "[redacted]"},
    {"ghp_" A36, "[redacted]"},
    {"github_pat_11ABCDEFG0_" A36, "[redacted]"},
    {"glpat-" A20, "[redacted]"},
    {"nvapi-" A36, "[redacted]"},
    {"xoxb-" "123456789012-abcdef", "[redacted]"},
    {"AIza" "SyA1234567890abcdefghijklmnopqrstuv", "[redacted]"},
    {"gsk_" A36, "[redacted]"},
    {"r8_" A36, "[redacted]"},
    {"npm_" A36, "[redacted]"},
    {"pypi-AgEI" A36, "[redacted]"},
    {"hvs." A36, "[redacted]"},
    {"SG." A20 "." A20, "[redacted]"},
    {"sk_live_" A20, "[redacted]"},
    {"dckr_pat_" A20, "[redacted]"},
    {JWT, "[redacted]"},
    {"jwt=" JWT ";", "jwt=[redacted];"},
    {"Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"},
    {"Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"},
    {"{'Authorization': 'Bearer abcdefgh'}", "{'Authorization': 'Bearer [redacted]'}"},
    {"curl -H \"Authorization: Bearer abcdefgh\" http://x", "curl -H \"Authorization: Bearer [redacted]\" http://x"},
    {"Proxy-Authorization: Digest username=x, response=y", "Proxy-Authorization: Digest [redacted]"},
    {"bearer abcdefgh1", "bearer [redacted]"},
    {"X-API-Key: s3cr3t", "X-API-Key: [redacted]"},
    {"Set-Cookie: session=abc; Path=/", "Set-Cookie: [redacted]"},
    {"--api-key s3cr3t --port 8000", "--api-key [redacted] --port 8000"},
    {"--api-key=s3cr3t --port 8000", "--api-key=[redacted] --port 8000"},
    {"--hf-token 's3cr3t value' -x", "--hf-token '[redacted]' -x"},
    {"api_key=s3cr3t&x=1", "api_key=[redacted]&x=1"},
    {"apiKey: 's3cr3t'", "apiKey: '[redacted]'"},
    {"password=hunter2!", "password=[redacted]"},
    {"PASSWORD = \"hun ter2\", x", "PASSWORD = \"[redacted]\", x"},
    {"db.passwd: hunter2", "db.passwd: [redacted]"},
    {"{\"token\": \"abcdEFGH1234\", \"n\": 1}", "{\"token\": \"[redacted]\", \"n\": 1}"},
    {"{\\\"access_token\\\": \\\"abcd\\\"}", "{\\\"access_token\\\": \\\"[redacted]\\\"}"},
    {"client_secret=>abc", "client_secret=>[redacted]"},
    {"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "aws_secret_access_key = [redacted]"},
    {"HF_TOKEN=abc python x", "HF_TOKEN=[redacted] python x"},
    {"https://user:pass@host/x", "https://[redacted]@host/x"},
    {"postgres://u:p%40ss@db:5432/x", "postgres://[redacted]@db:5432/x"},
    {"https://" A20 "@github.com/x.git", "https://[redacted]@github.com/x.git"},
    {"GET /x?token=abcdefg1&y=2", "GET /x?token=[redacted]&y=2"},
    {"https://s3/x?X-Amz-Credential=AK1&X-Amz-Signature=abcd", "https://s3/x?X-Amz-Credential=[redacted]&X-Amz-Signature=[redacted]"},
    {"https://blob/x?sv=1&sig=abc%3D", "https://blob/x?sv=1&sig=[redacted]"},
    {"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nx",
     "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nx"},
    {"-----BEGIN OPENSSH PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----[redacted]"},
    {"MIIEpAIBAAKCAQEA7bq9Zt4Qw8kM0vL1nX2sR3yT5uV6wX7yZ8aB9cD0eF1gH2i", "[redacted]"},
    {"  gH2iJ3kL4mN5oP6qR7sT8u==", "[redacted]"},
};

static void hides_secrets(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
        _cleanup_free_ char *shown = redact_text(secrets[i].text);

        if (strcmp(shown, secrets[i].shown) != 0)
            fail_msg("\"%s\" becomes \"%s\"", secrets[i].text, shown);
    }
}

static const char *const ordinary[] = {
    "",
    "max_tokens=16, temperature=0.6",
    "--max-num-batched-tokens 8192 --tokenizer mistral --token-type x",
    "tokenizer=None, tokenizer_mode='auto', token_type_ids=[1]",
    "eos_token=</s> bos_token: <s> pad_token='<pad>' stop_token=abcDEF123456",
    "#new-token: 7, #cached-token: 0, token usage: 0.31",
    "api_key=None, admin_api_key=None, hf_token=null",
    "password=**** and password: <redacted>",
    "[--api-key API_KEY] [--hf-token HF_TOKEN]",
    "hf_config=x hf_overrides={} sk-learn sk-12 AKIA gpt-hf_x",
    "token: 123456789 token=abcdefgh",
    "http://127.0.0.1:8000/v1/models",
    "user@example.org and https://host/a@b",
    "Process 4242 has 40.19 GiB memory in use",
    "The model's max seq len (131072) is larger than the maximum number of tokens",
    "secrets are kept elsewhere, the password is not here",
    "key: value, keys=3, keyboard=1",
    "flashinfer/sampling.cuh:20:10: fatal error: curand.h: No such file or directory",
    "-----BEGIN CERTIFICATE-----",
    "0123456789012345678901234567890123456789",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "bearer of news",
    "Authorization header is missing",
    "cd /opt && pwd",
    "pwd=/opt api_key=/run/key token: ~/.cache/token1",
    "author=me authority: x",
    "://@x :// a://b",
};

static void leaves_ordinary_text(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++) {
        _cleanup_free_ char *shown = redact_text(ordinary[i]);

        if (strcmp(shown, ordinary[i]) != 0)
            fail_msg("\"%s\" becomes \"%s\"", ordinary[i], shown);
    }
}

static const struct {
    const char *assignment;
    const char *shown;
} environment[] = {
    {"HF_TOKEN=abc", "HF_TOKEN=[redacted]"},
    {"HUGGING_FACE_HUB_TOKEN=abc", "HUGGING_FACE_HUB_TOKEN=[redacted]"},
    {"WANDB_API_KEY=1", "WANDB_API_KEY=[redacted]"},
    {"MY_KEY=x", "MY_KEY=[redacted]"},
    {"DB_PASS=x", "DB_PASS=[redacted]"},
    {"REGISTRY_AUTH={\"a\":1}", "REGISTRY_AUTH=[redacted]"},
    {"SENTRY_DSN=https://a@b/1", "SENTRY_DSN=[redacted]"},
    {"AWS_SECRET_ACCESS_KEY=x", "AWS_SECRET_ACCESS_KEY=[redacted]"},
    {"DATABASE_URL=postgres://u:p@h/d", "DATABASE_URL=postgres://[redacted]@h/d"},
    {"EXTRA=--api-key=abc", "EXTRA=--api-key=[redacted]"},
    {"HF_TOKEN=", "HF_TOKEN="},
    {"PATH=/usr/bin:/bin", "PATH=/usr/bin:/bin"},
    {"PWD=/root", "PWD=/root"},
    {"HF_TOKEN_PATH=/root/token", "HF_TOKEN_PATH=/root/token"},
    {"SSH_AUTH_SOCK=/run/x", "SSH_AUTH_SOCK=/run/x"},
    {"TOKENIZERS_PARALLELISM=false", "TOKENIZERS_PARALLELISM=false"},
    {"VLLM_MAX_TOKENS=16", "VLLM_MAX_TOKENS=16"},
    {"CUDA_HOME=/usr/local/cuda", "CUDA_HOME=/usr/local/cuda"},
    {"no assignment", "no assignment"},
    {"", ""},
};

static void hides_by_variable(void unused **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(environment); i++) {
        _cleanup_free_ char *shown = redact_environment(environment[i].assignment);

        if (strcmp(shown, environment[i].shown) != 0)
            fail_msg("\"%s\" becomes \"%s\"", environment[i].assignment, shown);
    }
}

static void hides_in_commands(void unused **state)
{
    static const char command[] = "vllm|serve|--api-key|s3cr3t|--hf-token=abc|--port|8000|--api-key|-x|-e|HF_TOKEN=abc|-H|"
                                  "Authorization: Bearer abcdefgh|--tokenizer|gpt2|--max-tokens|5|hf_" A36 "|--token|t0k";
    static const char *const shown[] = {"vllm", "serve", "--api-key", "[redacted]", "--hf-token=[redacted]", "--port", "8000",
                                        "--api-key", "[redacted]", "-e", "HF_TOKEN=[redacted]", "-H",
                                        "Authorization: Bearer [redacted]", "--tokenizer", "gpt2", "--max-tokens", "5",
                                        "[redacted]", "--token", "[redacted]"};
    _cleanup_strv_ char **argv = NULL, **words = NULL;

    assert_int_equal(strv_split(command, "|", &argv), 0);
    assert_int_equal(redact_command(argv, &words), 0);
    assert_int_equal(strv_length(words), ARRAY_SIZE(shown));
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
        assert_string_equal(words[i], shown[i]);
}

static void time_is_linear(void unused **state)
{
    static const char *const fillings[] = {"-", "-----BEGIN ", "://", "\\", "hf_", "a=", "token=\"", "@", "Bearer ", "eyJ."};

    for (size_t i = 0; i < ARRAY_SIZE(fillings); i++) {
        _cleanup_strbuf_ struct strbuf text = {};
        _cleanup_free_ char *shown = NULL;

        while (text.len < 200000)
            strbuf_append(&text, fillings[i]);
        shown = redact_text(text.data);
        assert_non_null(shown);
    }
}

static int without_memory(void unused *data)
{
    char option[] = "--api-key", value[] = "x", assignment[] = "A=1", *argv[] = {option, value, assignment, NULL};
    _cleanup_free_ char *text = redact_text("api_key=abc and a rather long rest of the line, which makes it grow"), *variable = NULL;
    _cleanup_strv_ char **words = NULL;

    if (!text)
        return -ENOMEM;
    variable = redact_environment("HF_TOKEN=abc");
    return variable ? redact_command(argv, &words) : -ENOMEM;
}

static void survives_lack_of_memory(void unused **state)
{
    chaos_each(without_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hides_secrets),     cmocka_unit_test(leaves_ordinary_text),
        cmocka_unit_test(hides_by_variable), cmocka_unit_test(hides_in_commands),
        cmocka_unit_test(time_is_linear),    cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
