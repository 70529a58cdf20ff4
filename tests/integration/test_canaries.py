# SPDX-License-Identifier: MIT
"""The canary suite against the real llama-server and against every engine's own API: what is proved, what is
told of what is not, and what counts while the server serves others."""

import json
import subprocess

import pytest

from lib.equipment import SERVERS_INSIDE
from lib.supervised import FAILURE_ID, Supervised

ENGINE_SERVER = f"/usr/bin/python3 {SERVERS_INSIDE}/engine_server.py"
WAIT = "--wait=30s"


def canary(machine, *arguments, check=False):
    """coalminectl canary --json: its exit code, and what it said as a dict."""
    done = machine.run(["coalminectl", "canary", "--json", WAIT, *arguments], check=check)
    return done.returncode, json.loads(done.stdout)


def verdicts(document):
    return {row["name"]: row["verdict"] for row in document["canaries"]}


@pytest.fixture
def llama(coalmine, units, model):
    """llama(*options, address=None) starts the real llama-server and returns its URL."""

    def start(*options, address=None):
        path = f"{units.directory()}/tiny.gguf"
        coalmine.write(path, model)
        port = coalmine.free_port()
        where = ["--host", address.removeprefix("unix:")] if address else ["--port", str(port)]
        command = ["/usr/bin/env", "llama-server", "--model", path, *where, *options]
        coalmine.systemctl("start", units.service(" ".join(command)))
        return address or f"http://127.0.0.1:{port}"

    return start


@pytest.fixture
def engine(coalmine, units):
    """engine(name, *options) starts the fake of an engine and returns its URL."""

    def start(name, *options):
        port = coalmine.free_port()
        words = " ".join(str(option) for option in options)
        unit = units.service(f"{ENGINE_SERVER} --engine {name} --port {port} {words}")
        coalmine.systemctl("start", unit)
        return f"http://127.0.0.1:{port}"

    return start


# The real llama-server


def test_llama_passes_its_suite(coalmine, llama):
    url = llama("--metrics")
    code, document = canary(coalmine, f"--url={url}", "--profile=llama-server")
    assert (code, document["passed"]) == (0, True)
    rows = {row["name"]: row for row in document["canaries"]}
    assert list(rows) == ["greedy", "sampled", "streamed", "parallel", "constrained"]
    assert all(row["verdict"] == "generated" and row["proves"] for row in rows.values())
    assert rows["greedy"]["tokens"] == 16 and rows["parallel"]["tokens"] == 64
    assert 0 < rows["streamed"]["first_token_usec"] < rows["streamed"]["duration_usec"]
    shown = coalmine.run(["coalminectl", "canary", f"--url={url}", "--profile=llama-server"]).stdout
    assert "5 of 5 passed" in shown and "tiny.gguf" in shown


@pytest.mark.parametrize("kind", ["chat", "completions", "llama-completion", "raw"])
@pytest.mark.parametrize("stream", ["yes", "no"])
def test_llama_answers_every_kind(coalmine, llama, kind, stream):
    body = '{"prompt": "coal", "n_predict": 5, "stream": %s}' % ("true" if stream == "yes" else "false")
    raw = ["--set=Canary x.Path=/completion", f"--set=Canary x.Body={body}"] if kind == "raw" else []
    code, document = canary(
        coalmine,
        f"--url={llama()}",
        "--set=Start.Suite=x",
        f"--set=Canary x.Kind={kind}",
        f"--set=Canary x.Stream={stream}",
        "--set=Canary x.Logprobs=yes" if kind == "completions" else "--set=Canary x.MaxTokens=5",
        *raw,
    )
    assert code == 0, document
    assert document["canaries"][0]["tokens"] >= 5


def test_llama_embeddings(coalmine, llama):
    url = llama("--embeddings", "--pooling", "mean")
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=embeddings")
    assert code == 0 and verdicts(document) == {"embeddings": "generated"}, document
    code, document = canary(coalmine, f"--url={llama()}", "--set=Start.Suite=embeddings")
    assert code == 1 and verdicts(document) == {"embeddings": "http-4xx"}


def test_llama_is_repeatable_and_fast_enough(coalmine, llama):
    settings = ["ExpectRepeatable=yes", "MinTokensPerSec=1", "ExpectFinish=length", "ExpectText=[a-z]{3}"]
    more = [f"--set=Canary greedy.{setting}" for setting in settings]
    url = llama()
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy", *more)
    assert code == 0, document
    slow = "--set=Canary greedy.MinTokensPerSec=1000000"
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy", slow)
    assert code == 1 and verdicts(document) == {"greedy": "slow"}


def test_llama_wants_its_key(coalmine, llama, units):
    url = llama("--api-key", "sesame")
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy")
    assert (code, document["verdict"]) == (1, "auth-required")
    path = f"{units.directory()}/key"
    key = f"--set=Server.APIKeyFile={path}"
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy", key)
    assert code == 1 and "APIKeyFile= cannot be read" in document["detail"]
    coalmine.write(path, "sesame\n", mode=0o600)
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy", key)
    assert code == 0 and "sesame" not in json.dumps(document)


def test_llama_over_a_unix_socket(coalmine, llama, units):
    url = llama(address=f"unix:{units.directory()}/llama.sock")
    code, document = canary(coalmine, f"--url={url}", "--profile=llama-server")
    assert code == 0 and document["url"] == url


def certificate(directory):
    """A self-signed certificate for 127.0.0.1 and its key, as text."""
    key, cert = directory / "key.pem", directory / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=canary"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(make, check=True, capture_output=True, timeout=60)
    return key.read_text(), cert.read_text()


def test_llama_over_tls(coalmine, llama, units, tmp_path):
    if not subprocess.run(["which", "openssl"], capture_output=True, check=False).stdout:
        pytest.skip("openssl is not here")
    key, cert = certificate(tmp_path)
    where = units.directory()
    coalmine.write(f"{where}/key.pem", key, mode=0o600)
    coalmine.write(f"{where}/cert.pem", cert)
    url = llama("--ssl-key-file", f"{where}/key.pem", "--ssl-cert-file", f"{where}/cert.pem")
    url = url.replace("http:", "https:")
    trust = f"--set=Server.CAFile={where}/cert.pem"
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy streamed", trust)
    assert code == 0, document
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy")
    assert (code, document["verdict"]) == (1, "tls")


def test_exit_codes(coalmine, llama):
    assert canary(coalmine, "--url=http://127.0.0.1:1", "--wait=0")[1]["verdict"] == "refused"
    wrong = coalmine.run(["coalminectl", "canary", "--url=nothing"], check=False)
    assert wrong.returncode == 78 and "Server.URL=nothing" in wrong.stderr
    assert coalmine.run(["coalminectl", "canary"], check=False).returncode == 2
    assert coalmine.run(["coalminectl", "canary", "--wait=soon", "x"], check=False).returncode == 2


# Other engines


@pytest.mark.parametrize("name", ["sglang", "vllm", "trtllm", "tgi", "ollama", "triton"])
def test_engines_pass_their_suites(coalmine, engine, name):
    url = engine(name)
    code, document = canary(coalmine, f"--url={url}", f"--profile={name}")
    assert code == 0, document
    assert document["model"] == "canary/tiny-1B"
    assert not any(row["let_off"] for row in document["canaries"])


@pytest.mark.parametrize(
    "name, kind, stream",
    [
        ("sglang", "sglang-generate", "yes"),
        ("sglang", "sglang-generate", "no"),
        ("tgi", "tgi-generate", "no"),
        ("triton", "triton-generate", "yes"),
        ("triton", "triton-infer", "no"),
        ("ollama", "ollama-generate", "yes"),
        ("ollama", "ollama-generate", "no"),
        ("ollama", "ollama-chat", "no"),
    ],
)
def test_native_apis(coalmine, engine, name, kind, stream):
    settings = [f"--set=Canary x.{setting}" for setting in (f"Kind={kind}", f"Stream={stream}", "MaxTokens=7")]
    url = engine(name)
    code, document = canary(coalmine, f"--url={url}", f"--profile={name}", "--set=Start.Suite=x", *settings)
    assert code == 0, document
    assert document["canaries"][0]["tokens"] == (1 if kind in ("triton-infer",) else 7)


def test_dead_engine_behind_a_healthy_server(coalmine, engine):
    url = engine("vllm", "--dead-engine")
    coalmine.wait_until(lambda: coalmine.http("GET", url + "/health").status == 200, what="health")
    code, document = canary(coalmine, f"--url={url}", "--profile=vllm", "--set=Start.Suite=greedy")
    assert code == 1 and verdicts(document) == {"greedy": "http-5xx"}
    assert "EngineCore encountered an issue" in document["canaries"][0]["detail"]


def test_failed_generation_of_tgi_is_the_servers_fault(coalmine, engine):
    url = engine("tgi", "--http-error", 424)
    code, document = canary(coalmine, f"--url={url}", "--profile=tgi", "--set=Start.Suite=native")
    assert code == 1 and verdicts(document) == {"native": "http-5xx"}


def test_reasoning_is_generated(coalmine, engine):
    url = engine("sglang", "--reasoning")
    code, document = canary(coalmine, f"--url={url}", "--profile=sglang", "--set=Start.Suite=greedy streamed")
    assert code == 0, document


@pytest.mark.parametrize(
    "options, verdict",
    [
        (["--no-tokens"], "no-tokens"),
        (["--text", "'! ! ! ! ! ! ! ! ! ! ! ! ! ! ! !'"], "degenerate"),
        (["--http-error", "500"], "http-5xx"),
        (["--http-error", "429"], "not-ready"),
    ],
)
def test_what_the_server_does_is_told(coalmine, engine, options, verdict):
    url = engine("sglang", *options)
    code, document = canary(coalmine, f"--url={url}", "--set=Start.Suite=greedy", "--wait=2s")
    assert code == 1 and verdicts(document) == {"greedy": verdict}


def test_loading_is_waited_for(coalmine, engine):
    url = engine("sglang", "--load-sec", 2, "--load-503")
    assert canary(coalmine, f"--url={url}", "--profile=sglang")[0] == 0


# Under supervision


@pytest.fixture
def supervised(coalmine, units):
    """supervised(engine, *options, **settings): an instance of a fake engine."""

    def make(name, *options, settings=()):
        words = " ".join(str(option) for option in options)
        command = f"{ENGINE_SERVER} --engine {name} --port {{port}} {words}"
        usual = {"Start.Suite": "greedy", "Live.IntervalSec": "1s", "Live.TransitionSec": "300ms"}
        return Supervised(units, command, profile=name, settings={**usual, **dict(settings)})

    return make


def test_profile_is_found_from_the_command(coalmine, units, model):
    path = f"{units.directory()}/tiny.gguf"
    coalmine.write(path, model)
    server = Supervised(units, f"llama-server --model {path} --port {{port}}", profile="auto")
    server.start()
    assert server.status()["profile"] == "llama-server"
    assert server.status()["proof"]["canary"] == "constrained"


def test_failing_canary_names_itself(supervised):
    settings = {"Start.Suite": "greedy sampled", "Canary sampled.MinTokensPerSec": "1000000", "Restart.Budget": 0}
    server = supervised("sglang", settings=settings)
    server.start(check=False)
    report = server.report()
    assert report["canary"]["name"] == "sampled" and report["canary"]["verdict"] == "slow"
    assert "sampling" in report["canary"]["proves"]
    assert report["class"] == "engine_slow"
    assert "sampled" in server.status_text()


def test_rejected_canary_is_let_off_if_it_may_be(supervised):
    settings = {"Start.Suite": "greedy x", "Canary x.Kind": "embeddings", "Canary x.Optional": "yes"}
    server = supervised("vllm", settings=settings)
    server.start()
    proof = server.status()["proof"]
    assert (proof["canary"], proof["verdict"], proof["let_off"]) == ("x", "http-4xx", True)


def test_busy_server_is_no_dead_one(supervised):
    settings = {"Live.TimeoutSec": "500ms", "Live.Fall": 1, "Live.PostponeSec": 0}
    server = supervised("vllm", "--hang-after", 1, "--others", settings=settings)
    server.start()
    server.machine.wait_until(lambda: server.status()["proof"]["verdict"] == "busy", what="a busy canary")
    assert server.is_active() == "active"
    assert server.status()["phase"] == "ready"
    assert "requests complete" in server.status()["proof"]["detail"]


def test_hang_with_requests_under_way_is_one(supervised):
    settings = {"Live.TimeoutSec": "500ms", "Live.Fall": 2, "Live.PostponeSec": 0, "Restart.Budget": 0}
    server = supervised("vllm", "--hang-after", 1, settings=settings)
    server.start()
    server.wait_state("failed")
    report = server.report()
    assert report["class"] == "engine_hang"
    assert "nothing moves" in report["canary"]["detail"]


def test_real_requests_stand_in_for_the_canary(supervised):
    server = supervised("vllm", "--others", settings={"Live.PostponeSec": "1h", "Live.IntervalSec": "1500ms"})
    server.start()
    before = server.status()["proof"]["at"]
    with pytest.raises(TimeoutError):
        server.machine.wait_until(lambda: server.status()["proof"]["at"] != before, timeout=6)
    assert server.is_active() == "active"


def test_swapped_model_is_found_out(supervised):
    server = supervised("vllm", "--swap-after", 2, settings={"Live.Fall": 2, "Restart.Budget": 0})
    server.start()
    server.wait_state("failed")
    report = server.report()
    assert report["class"] == "cfg_wrong_model"
    assert "other-8B" in report["canary"]["detail"]


def test_degraded_shows_before_the_fall(supervised):
    settings = {"Live.TimeoutSec": "500ms", "Live.Fall": 100, "Live.MetricsPath": ""}
    server = supervised("ollama", "--hang-after", 1, settings=settings)
    server.start()
    server.wait_phase("degraded")
    assert server.is_active() == "reloading"
    assert "timeout" in server.status_text()
    established = "ss -Htn state established '( dport = :%d )'" % server.port
    assert len(server.machine.run(established).stdout.splitlines()) <= 1


def test_decisive_line_makes_it_look_at_once(coalmine, units):
    command = f"{ENGINE_SERVER} --engine sglang --port {{port}}"
    line = "RuntimeError: CUDA error: an illegal memory access was encountered"
    script = f"{units.directory()}/server"
    coalmine.write(script, f'#!/bin/sh\n(sleep 3; echo "{line}") &\nexec "$@"\n', mode=0o755)
    settings = {"Start.Suite": "greedy", "Live.IntervalSec": "1h"}
    server = Supervised(units, f"{script} {command}", settings=settings)
    server.start()
    text = lambda: coalmine.journal_text(server.unit)
    coalmine.wait_until(lambda: "After that line, canary greedy came back with generated" in text(), what="the canary")
    assert "looking at once" in text()
    assert server.is_active() == "active"
    assert server.records(FAILURE_ID) == []
