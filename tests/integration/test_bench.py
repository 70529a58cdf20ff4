# SPDX-License-Identifier: MIT
"""coalminectl bench: a sweep over a real server, and one that does not survive it."""

import json

import pytest

from lib.supervised import Supervised

LAST_WORDS = '"fatal error: curand.h: No such file or directory"'
QUICK = ("--concurrency=1,2,4", "--requests=8", "--max-tokens=16")


@pytest.fixture
def llama(coalmine, units, model):
    """An instance of the real llama-server."""
    path = f"{units.directory()}/tiny.gguf"
    coalmine.write(path, model)
    command = f"llama-server --model {path} --port {{port}} --parallel 4"
    return Supervised(units, command, profile="llama-server")


def test_sweep_of_an_instance_that_is_still_loading(llama):
    llama.start(wait=False)
    svg = f"/run/coalmine/{llama.name}.svg"
    told = json.loads(llama.ctl("bench", *QUICK, "--json", f"--svg={svg}", llama.name).stdout)
    assert told["complete"] is True and told["url"] == llama.url
    assert [level["concurrency"] for level in told["sweep"]] == [1, 2, 4]
    for level in [told["single"], *told["sweep"]]:
        assert level["errors"] == {} and level["tokens_per_sec"] > 0
        assert 0 < level["first_token_sec"]["p50"] <= level["total_sec"]["p99"]
        assert level["between_pieces_sec"]["p99"] > 0
    assert "<polyline" in llama.machine.read(svg)
    llama.machine.remove(svg)


def test_table_by_url_needs_no_instance(llama):
    llama.start()
    shown = llama.ctl("bench", "--concurrency=1", "--requests=2", f"--url={llama.url}").stdout
    assert "tokens/s" in shown and "Tokens a second over concurrency" in shown


def test_dead_server_ends_it_with_the_reason(coalmine, units):
    server = Supervised.fake(units, "--crash-after", 12, "--crash-log", LAST_WORDS)
    server.start()
    ended = server.ctl("bench", "--concurrency=2", "--requests=50", server.name, check=False)
    assert ended.returncode == 1
    assert "does not answer any more" in ended.stderr
    server.wait_state("failed")


def test_failed_instance_fails_at_once(coalmine, units):
    server = Supervised.fake(units, "--crash-after", 0, "--crash-log", LAST_WORDS)
    server.start(check=False)
    ended = server.ctl("bench", server.name, check=False, timeout=20)
    assert ended.returncode == 1 and "jit_missing_header" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [[], ["--concurrency=0", "x"], ["--concurrency=a", "x"], ["--requests=0", "x"], ["x", "--url=http://127.0.0.1:1"]],
)
def test_wrong_usage(coalmine, words):
    assert coalmine.run(["coalminectl", "bench", *words], check=False).returncode == 2
