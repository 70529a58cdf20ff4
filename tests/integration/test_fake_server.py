# SPDX-License-Identifier: MIT
"""The fake model server does what its options say: each failure that others need, shown once."""

import json
import signal

import pytest

from lib.fake import ANSWER_SEC, SERVER

# What it does is the same everywhere.
pytestmark = pytest.mark.parametrize("machine", ["bookworm"], indirect=True)


def test_healthy_server_generates(fake):
    server = fake().wait_open()
    answer = server.generate().json()
    assert answer["usage"]["completion_tokens"] == 4
    assert len(answer["choices"][0]["text"].split()) == 4
    assert server.generate().json()["choices"] == answer["choices"]


def test_streamed_answer(fake):
    server = fake().wait_open()
    events = server.generate(stream=True, stream_options={"include_usage": True}).events()
    assert events[-1] == "[DONE]"
    assert "".join(event["choices"][0]["text"] for event in events[:-2]).split() != []
    assert events[-2]["usage"]["completion_tokens"] == 4


def test_reasoning_leaves_content_empty(fake):
    server = fake("--reasoning").wait_open()
    body = {"messages": [{"role": "user", "content": "sing"}], "max_tokens": 3}
    message = server.machine.http("POST", server.url + "/v1/chat/completions", body).json()[
        "choices"
    ][0]["message"]
    assert message["content"] is None
    assert len(message["reasoning_content"].split()) == 3


def test_refusals(fake):
    server = fake("--api-key", "sesame", "--http-error", 500)
    server.machine.wait_until(lambda: server.models().status == 401, what="401 without the key")
    key = {"Authorization": "Bearer sesame"}
    url = server.url + "/v1/completions"
    assert server.machine.http("POST", url, {"prompt": "x"}, headers=key).status == 500
    assert (
        server.machine.http("POST", url, {"prompt": "x", "model": "other"}, headers=key).status
        == 400
    )


def test_closed_while_loading(fake):
    server = fake("--load-sec", 1)
    assert "Connection refused" in server.models().error
    server.wait_open()


def test_503_while_loading(fake):
    server = fake("--load-sec", 1.5, "--load-503")
    server.machine.wait_until(lambda: server.models().status == 503, what="503 while loading")
    server.wait_open()


@pytest.mark.parametrize("what", ["generation", "all"])
def test_never_answers(fake, what):
    server = fake("--never-answer", what)
    if what == "generation":
        server.wait_open()
    else:
        server.machine.wait_until(
            lambda: "timed out" in (server.models().error or ""), what="a request to time out"
        )
    reply = server.machine.http(
        "POST", server.url + "/v1/completions", {"prompt": "x"}, timeout=ANSWER_SEC
    )
    assert reply.status is None and "timed out" in reply.error


def test_crashes_at_the_second_generation_with_last_words(fake):
    server = fake(
        "--crash-after", 2, "--crash-log", '"CUDA error: out of memory"', "--exit-code", 7
    ).wait_open()
    assert server.generate().status == 200
    assert server.generate().status is None
    assert server.wait_dead() == {"ExecMainCode": "1", "ExecMainStatus": "7"}
    assert "CUDA error: out of memory" in server.machine.journal_text(server.unit)


def test_dies_of_a_signal_while_loading(fake):
    server = fake("--crash-after", 0, "--exit-signal", int(signal.SIGSEGV))
    assert server.wait_dead()["ExecMainStatus"] == str(int(signal.SIGSEGV))


def test_lives_take_their_turns(fake, units):
    directory = units.directory()
    lives = [
        ["--crash-after", "0", "--exit-code", "3"],
        ["--crash-after", "0", "--exit-code", "4"],
        [],
    ]
    units.machine.write(f"{directory}/lives", json.dumps(lives))
    server = fake("--lives", f"{directory}/lives", "--state", f"{directory}/state")
    assert server.wait_dead()["ExecMainStatus"] == "3"
    server.start()
    assert server.wait_dead()["ExecMainStatus"] == "4"
    server.start()
    server.wait_open()
    starts = [
        json.loads(line)["start"] for line in units.machine.read(f"{directory}/state").splitlines()
    ]
    assert starts == [1, 2, 3]


def test_port_in_use(fake, units):
    first = fake().wait_open()
    port = first.url.rsplit(":", 1)[1]
    second = units.service(f"{SERVER} --port {port}")
    units.machine.systemctl("start", second)
    units.machine.wait_state(second, "failed")
    assert "[Errno 98] error while attempting to bind" in units.machine.journal_text(second)


def test_workers_detach_and_ignore_sigterm(fake):
    server = fake(
        "--fork-workers",
        3,
        "--detach-workers",
        "--ignore-sigterm",
        service_options="TimeoutStopSec=1",
    ).wait_open()
    machine = server.machine
    assert len(machine.cgroup_pids(server.unit)) == 4
    machine.systemctl("stop", server.unit)
    assert machine.show(server.unit, "Result")["Result"] == "timeout"


def test_ends_in_order_at_sigterm(fake):
    server = fake("--fork-workers", 2).wait_open()
    server.machine.systemctl("stop", server.unit)
    assert server.machine.show(server.unit, "Result", "ExecMainStatus") == {
        "Result": "success",
        "ExecMainStatus": "0",
    }
    assert "Shutting down" in server.machine.journal_text(server.unit)


def test_floods_stdout(fake):
    server = fake("--stdout-flood", 2000).wait_open()
    server.machine.wait_until(
        lambda: server.machine.journal_text(server.unit).count("decode batch") > 500,
        what="500 lines",
    )
