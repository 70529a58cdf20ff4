# SPDX-License-Identifier: MIT
"""corpus/run.py against a program that says what the test wants: does it see every kind of miss?"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

RUN = pathlib.Path(__file__).resolve().parent.parent / "corpus" / "run.py"

# Answers by the log's first line.
PROGRAM = """#!{python}
import json, sys
answers = json.loads({answers!r})
answer = answers[sys.stdin.readline().strip()]
print(json.dumps(answer))
sys.exit(0 if answer["fatal"] else 1)
"""

FOUND = {"fatal": True, "class": "gpu_oom", "signature": "oom", "captures": {"device": "0"},
         "line": 1, "text": "CUDA out of memory"}
NOTHING = {"fatal": False, "class": None, "signature": None, "captures": {}, "line": None, "text": None}


@pytest.fixture
def corpus(tmp_path):
    """Writes cases, logs and a program that answers by the first line; runs the measurement."""
    def run(answers, cases=(), logs=None, expected=()):
        build = tmp_path / "build"
        (tmp_path / "corpus" / "logs").mkdir(parents=True)
        build.mkdir()
        program = build / "coalminectl"
        program.write_text(PROGRAM.format(python=sys.executable, answers=json.dumps(answers)))
        program.chmod(0o755)
        directory = tmp_path / "corpus"
        (directory / "cases.jsonl").write_text("".join(json.dumps(c) + "\n" for c in cases))
        (directory / "logs.jsonl").write_text("".join(json.dumps(e) + "\n" for e in expected))
        for name, text in (logs or {}).items():
            (directory / "logs" / name).write_text(text)
        return subprocess.run([sys.executable, RUN, directory], capture_output=True, text=True,
                              env=dict(os.environ, COALMINE_BUILD=str(build)), timeout=60, check=False)
    return run


def case(line, fatal=True, name="gpu_oom", captures=None):
    return {"id": line, "fatal": fatal, "lines": [line],
            "expect": {"class": name, "captures": captures or {}}}


def test_all_right(corpus):
    done = corpus({"a": FOUND, "b": NOTHING},
                  [case("a", captures={"device": "0"}), case("b", fatal=False, name="benign_note")])
    assert done.returncode == 0, done.stdout
    assert "MISS" not in done.stdout


@pytest.mark.parametrize("answer,wanted,kind", [
    (NOTHING, case("a"), "class"),
    (FOUND, case("a", name="gpu_mem_config"), "class"),
    (FOUND, case("a", captures={"device": "1"}), "captures"),
    (FOUND, case("a", captures={"requested": "1 GiB"}), "captures"),
    (FOUND, case("a", fatal=False, name="benign_note"), "false alarm"),
])
def test_each_kind_of_miss_fails(corpus, answer, wanted, kind):
    done = corpus({"a": answer}, [wanted])
    assert done.returncode == 1
    assert f"MISS {kind}: a" in done.stdout


@pytest.mark.parametrize("name,answer,expected,kind", [
    ("healthy-x.log", FOUND, None, "not silent"),
    ("crash-x.log", NOTHING, None, "log"),
    ("crash-x.log", FOUND, {"class": "comm_nccl", "root": "memory"}, "log"),
    ("crash-x.log", FOUND, {"class": "gpu_oom", "root": "another line"}, "root line"),
    ("crash-x.log", FOUND, {"class": "gpu_oom", "root": None}, "not silent"),
])
def test_each_kind_of_wrong_log_fails(corpus, name, answer, expected, kind):
    done = corpus({"a": answer}, logs={name: "a\n"}, expected=[dict(expected, log=name)] if expected else [])
    assert done.returncode == 1
    assert f"MISS {kind}: {name}" in done.stdout


def test_a_program_that_breaks_its_promise_is_no_result(corpus):
    done = corpus({}, [case("a")])
    assert done.returncode == 1
    assert "run.py: " in done.stderr
