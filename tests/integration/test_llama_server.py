# SPDX-License-Identifier: MIT
"""The real llama-server with the tiny model, as the other tests use it."""

import pytest

from lib import gguf


@pytest.fixture
def start(units, model):
    """start(content) runs llama-server on a model file of CONTENT, and returns (unit, base URL)."""

    def started(content=model):
        path = f"{units.directory()}/tiny.gguf"
        units.machine.write(path, content)
        port = units.machine.free_port()
        unit = units.service(f"/usr/bin/env llama-server --model {path} --port {port} --metrics")
        units.machine.systemctl("start", unit)
        return unit, f"http://127.0.0.1:{port}"

    return started


@pytest.fixture
def url(machine, start):
    """The base URL of a llama-server that has loaded its model."""
    _, base = start()
    machine.wait_until(
        lambda: machine.http("GET", base + "/health").status == 200, what="llama-server to load"
    )
    return base


def chat(temperature, **more):
    question = {"role": "user", "content": "coal mine"}
    return {"messages": [question], "max_tokens": 12, "temperature": temperature, **more}


def test_health_models_and_metrics(machine, url):
    assert machine.http("GET", url + "/health").json() == {"status": "ok"}
    models = machine.http("GET", url + "/v1/models").json()["data"]
    assert [model["id"].rsplit("/", 1)[-1] for model in models] == ["tiny.gguf"]
    assert "llamacpp:tokens_predicted_total" in machine.http("GET", url + "/metrics").body


def test_greedy_chat_repeats_itself(machine, url):
    answers = [machine.http("POST", url + "/v1/chat/completions", chat(0)).json() for _ in range(2)]
    assert [answer["usage"]["completion_tokens"] for answer in answers] == [12, 12]
    texts = [answer["choices"][0]["message"]["content"] for answer in answers]
    assert texts[0] == texts[1]
    words = texts[0].split()
    assert len(set(words)) == len(words) == 12
    assert set(words) <= set(gguf.WORDS)


def test_sampled_chat_generates(machine, url):
    answer = machine.http("POST", url + "/v1/chat/completions", chat(0.6, top_p=0.95)).json()
    assert answer["usage"]["completion_tokens"] == 12
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["choices"][0]["message"]["content"].strip()


def test_streamed_chat_ends_with_done(machine, url):
    events = machine.http("POST", url + "/v1/chat/completions", chat(0, stream=True)).events()
    assert events[-1] == "[DONE]"
    text = "".join(
        event["choices"][0]["delta"].get("content") or ""
        for event in events[:-1]
        if event["choices"]
    )
    assert len(text.split()) == 12


def test_completions(machine, url):
    body = {"prompt": "coal", "max_tokens": 5, "temperature": 0}
    answer = machine.http("POST", url + "/v1/completions", body).json()
    assert len(answer["choices"][0]["text"].split()) == 5
    assert answer["usage"]["completion_tokens"] == 5


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda model: gguf.cut(model, 0.6), "model is corrupted or incomplete"),
        (gguf.with_bad_magic, "invalid magic characters"),
        (gguf.with_unknown_architecture, "unknown model architecture: 'lllma'"),
        (gguf.without_tensor, "tensor 'blk.1.ffn_up.weight' not found"),
    ],
    ids=["cut", "magic", "architecture", "tensor"],
)
def test_spoilt_models_do_not_load(machine, model, start, spoil, words):
    unit, _ = start(spoil(model))
    machine.wait_state(unit, "failed")
    machine.wait_until(lambda: words in machine.journal_text(unit), timeout=5, what=words)
    assert machine.show(unit, "ExecMainStatus")["ExecMainStatus"] == "1"
