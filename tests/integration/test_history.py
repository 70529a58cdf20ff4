# SPDX-License-Identifier: MIT
"""What starts have taken is remembered, and later starts are measured by it."""

import json
import re

import pytest

from lib.supervised import Supervised

LOAD_SEC = 4


@pytest.fixture
def instance(coalmine, units):
    return lambda *options, **more: Supervised.fake(units, *options, **more)


def lines(server):
    """The history's lines that can be read; a torn one is None."""
    found = []
    for line in server.machine.read(f"/var/lib/coalmine/{server.name}/history.jsonl").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append(None)
    return found


def start_and_stop(server):
    server.start()
    server.stop()


def test_second_start_knows_how_long_it_takes(instance):
    server = instance("--load-sec", LOAD_SEC)
    start_and_stop(server)
    (first,) = lines(server)
    assert first["outcome"] == "stopped" and first["served"] is True and "class" not in first
    loading = sum(row["duration_usec"] for row in first["phases"] if row["phase"] == "loading")
    assert LOAD_SEC <= loading / 1e6 < LOAD_SEC + 5
    server.start(wait=False)
    text = server.machine.wait_until(
        lambda: (re.search(r"of about \d[^,]* s", server.status_text()) or [None])[0], what="an estimate in STATUS="
    )
    assert text
    expected = server.status()["expected"]
    assert LOAD_SEC < expected["start_usec"] / 1e6 < LOAD_SEC + 10
    assert expected["ready_at"] > server.status()["started"]
    server.machine.wait_until(lambda: server.bus("StartExpected") > LOAD_SEC * 1e6, what="the bus to tell")
    server.wait_state("active")
    assert server.status()["expected"] is None
    server.stop()
    assert len(lines(server)) == 2


def test_another_command_knows_nothing_of_it(instance, units):
    first = instance("--load-sec", LOAD_SEC)
    start_and_stop(first)
    path = f"/etc/coalmine/{first.name}.conf"
    first.machine.write(path, first.machine.read(path).replace("openai_server.py", "openai_server.py --text x"))
    first.start(wait=False)
    first.wait_phase("loading")
    assert first.status()["expected"] is None


def test_failures_and_restarts_have_their_lines(instance, units):
    directory = units.directory()
    units.machine.write(f"{directory}/lives.json", '[["--crash-after", "1"], []]')
    options = ["--state", f"{directory}/starts", "--lives", f"{directory}/lives.json"]
    server = instance(*options, settings={"Restart.BackoffSec": "200ms"})
    server.start()
    server.ctl("restart", server.name)
    server.machine.wait_until(lambda: len(lines(server)) == 2, what="the restart's line")
    server.wait_state("active")
    server.machine.wait_until(lambda: server.status()["phase"] == "ready", what="READY again")
    server.stop()
    told = lines(server)
    assert [line["outcome"] for line in told] == ["failed", "restarted", "stopped"]
    assert [line["epoch"] for line in told] == [1, 2, 3]
    assert told[0]["class"] == server.report()["class"]


def test_torn_line_is_survived(instance):
    server = instance("--load-sec", LOAD_SEC)
    start_and_stop(server)
    path = f"/var/lib/coalmine/{server.name}/history.jsonl"
    server.machine.run(f"head -c 100 {path} >{path}.part && cat {path}.part >>{path} && rm {path}.part")
    server.start(wait=False)
    server.machine.wait_until(lambda: server.status() and server.status()["expected"], what="an estimate")
    server.wait_state("active")
    server.stop()
    told = lines(server)
    assert told[1] is None and told[2]["outcome"] == "stopped"


def test_killed_supervisors_epoch_has_its_line(instance):
    server = instance()
    server.start()
    server.machine.run(["kill", "-KILL", server.machine.show(server.unit, "MainPID")["MainPID"]])
    server.machine.wait_until(lambda: server.machine.exists(f"/var/lib/coalmine/{server.name}/history.jsonl")
                              and lines(server), what="the torn epoch's line")
    (torn,) = lines(server)
    assert torn["outcome"] == "supervisor-died" and torn["served"] is True
    assert torn["phases"][-1]["phase"] == "ready"
