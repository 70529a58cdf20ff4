# SPDX-License-Identifier: MIT
"""What is run is counted right: a test that fails, a program that dies, hangs or says nothing, a
step that breaks without results of its own."""
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]

GOOD = "<testsuites><testsuite><testcase name='a'/><testcase name='b'/></testsuite></testsuites>"
BAD = "<testsuites><testsuite><testcase name='a'><failure>no</failure></testcase></testsuite></testsuites>"
SKIPPED = "<testsuites><testsuite><testcase name='a'><skipped/></testcase></testsuite></testsuites>"
ERROR = "<testsuite><testcase name='a'><error>oops</error></testcase></testsuite>"
TORN = "<testsuites><testsuite><testcase"


def run(script, *arguments, cwd):
    return subprocess.run([sys.executable, TESTS / script, *arguments], cwd=cwd, timeout=60,
                          capture_output=True, text=True, check=False)


@pytest.fixture
def program(tmp_path):
    """Makes a stand-in for a cmocka program: writes `xml` as its results, then does `then`."""
    def make(xml, then):
        path = tmp_path / "test_program"
        write = f'cat > "$(echo "$CMOCKA_XML_FILE" | sed s/%g/group/)" <<"END"\n{xml}\nEND\n' if xml else ""
        path.write_text(f"#!/bin/sh\n{write}{then}\n")
        path.chmod(0o755)
        return path
    return make


def last_line(result):
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize("xml, then, status, counts", [
    (GOOD, "exit 0", 0, "2 passed, 0 failed, 0 skipped"),
    (SKIPPED, "exit 0", 0, "0 passed, 0 failed, 1 skipped"),
    (BAD, "exit 1", 1, "0 passed, 1 failed, 0 skipped"),
    (BAD, "exit 0", 1, "0 passed, 1 failed, 0 skipped"),
    (ERROR, "exit 1", 1, "0 passed, 1 failed, 0 skipped"),
    (TORN, "exit 0", 1, "0 passed, 1 failed, 0 skipped"),
    (GOOD, "exit 3", 1, "2 passed, 1 failed, 0 skipped"),
    (GOOD, "kill -SEGV $$", 1, "2 passed, 1 failed, 0 skipped"),
    (None, "kill -ABRT $$", 1, "0 passed, 1 failed, 0 skipped"),
    (None, "exit 0", 1, "0 passed, 1 failed, 0 skipped"),
    (GOOD, "sleep 600 & wait", 1, "2 passed, 1 failed, 0 skipped"),
])
def test_program(program, tmp_path, xml, then, status, counts):
    result = run("run_programs.py", "--results", "results", "--timeout", "1", program(xml, then),
                 cwd=tmp_path)
    assert result.returncode == status, result.stdout + result.stderr
    assert last_line(run("summary.py", "results", cwd=tmp_path)) == counts


def test_a_failure_is_shown(program, tmp_path):
    result = run("run_programs.py", "--results", "results", "--timeout", "9",
                 program(None, "echo last words; kill -SEGV $$"), cwd=tmp_path)
    assert "FAIL test_program: killed by SIGSEGV" in result.stdout
    assert "last words" in result.stdout


def test_results_of_an_earlier_run_are_dropped(program, tmp_path):
    for xml, status in ((BAD, 1), (GOOD, 0)):
        result = run("run_programs.py", "--results", "results", "--timeout", "9",
                     program(xml, ""), cwd=tmp_path)
        assert result.returncode == status


MAKEFILE = """\
good: ; @true
bad: ; @echo broken; false
unit: ; @cp unit.in results/unit.xml; exit $(STATUS)
"""


@pytest.mark.parametrize("steps, xml, unit_status, status, counts", [
    (["good"], "", 0, 0, "1 passed, 0 failed, 0 skipped"),
    (["bad", "good"], "", 0, 1, "1 passed, 1 failed, 0 skipped"),
    (["good", "unit"], GOOD, 0, 0, "3 passed, 0 failed, 0 skipped"),
    (["unit", "good"], BAD, 1, 1, "1 passed, 1 failed, 0 skipped"),
    (["unit"], GOOD, 1, 1, "2 passed, 1 failed, 0 skipped"),
    (["missing"], "", 0, 1, "0 passed, 1 failed, 0 skipped"),
])
def test_steps(tmp_path, monkeypatch, steps, xml, unit_status, status, counts):
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "unit.in").write_text(xml)
    result = run("check.py", "--make", f"make STATUS={unit_status}", "--results", "results", *steps,
                 cwd=tmp_path)
    assert last_line(result) == counts
    assert result.returncode == status
