# SPDX-License-Identifier: MIT
"""Services that go away under a running instance: journald, its files, the bus; and the clock."""

import re
import time
from datetime import datetime, timezone

import pytest

from lib.supervised import READY_ID, Supervised
from lib.wall_clock import WallClock

DAY = 86400
LAST_WORDS = "torch.OutOfMemoryError: CUDA out of memory."
DYING = ["--crash-after", 60, "--crash-log", f"'{LAST_WORDS}'"]

JOURNALD = "systemd-journald.service"
EVENTS = {
    "restart": ["systemctl", "restart", JOURNALD],
    "kill": ["systemctl", "kill", "--signal=SIGKILL", JOURNALD],
    "rotate": ["journalctl", "--rotate"],
    "vacuum": ["journalctl", "--rotate", "--vacuum-time=1s"],
}


def is_untouched(server, epoch=1):
    status = server.status()
    return (server.is_active(), status["phase"], status["epoch"]) == ("active", "ready", epoch)


def numbers(server):
    """Those of the numbered lines that the journal has of the server."""
    lines = server.machine.journal(server.unit, SYSLOG_IDENTIFIER=server.name)
    found = (re.search(r"decode batch (\d+),", str(line["MESSAGE"])) for line in lines)
    return [int(match[1]) for match in found if match]


def use_up(server):
    """Ask until the server dies of it."""

    def is_gone():
        body = {"prompt": "what sings", "max_tokens": 1}
        return server.machine.http("POST", server.url + "/v1/completions", body, timeout=5).status is None

    server.machine.wait_until(is_gone, interval=0, what="the server to die")


@pytest.mark.parametrize("event", EVENTS)
def test_journald_may_come_and_go(fresh_coalmine, fresh_units, event):
    settings = {"Live.IntervalSec": "1s", "Restart.Budget": 0}
    server = Supervised.fake(fresh_units, "--stdout-flood", 200, *DYING, settings=settings)
    server.start()
    pid = server.status()["server_pid"]
    for _ in range(3):
        server.machine.run(EVENTS[event])
        time.sleep(1)
        assert is_untouched(server)
    assert server.status()["server_pid"] == pid
    if event != "vacuum":
        seen = numbers(server)
        assert seen == list(range(len(seen))) and len(seen) > 200
    use_up(server)
    server.wait_state("failed")
    report = server.report()
    assert report["class"] == "gpu_oom"
    assert LAST_WORDS in str(report)


def test_the_next_epoch_has_the_journal_again(fresh_coalmine, fresh_units):
    server = Supervised.fake(fresh_units, settings={"Restart.BackoffSec": "200ms"})
    server.start()
    server.machine.run(EVENTS["kill"])
    server.machine.run(["kill", "-KILL", str(server.status()["server_pid"])])
    server.machine.wait_until(lambda: is_untouched(server, epoch=2), what="another server")
    assert len(server.records(READY_ID)) == 2
    lines = server.machine.journal(server.unit, SYSLOG_IDENTIFIER=server.name)
    assert len([line for line in lines if "Uvicorn running" in str(line["MESSAGE"])]) == 2


def test_without_journald_the_pipe_is_used(fresh_coalmine, fresh_units):
    """journald and its sockets stopped for good: streams break, as everybody's do."""
    machine = fresh_coalmine
    directory = fresh_units.directory()
    lives = '[[], ["--crash-after", "0", "--crash-log", "%s"]]' % LAST_WORDS
    machine.write(f"{directory}/lives.json", lives)
    server = Supervised.fake(
        fresh_units, "--state", f"{directory}/starts", "--lives", f"{directory}/lives.json",
        settings={"Restart.Budget": 1, "Restart.BackoffSec": "200ms"},
    )
    server.start()
    sockets = machine.run("systemctl list-units --plain --no-legend 'systemd-journald*.socket' | cut -d' ' -f1")
    machine.systemctl("stop", *sockets.stdout.split(), JOURNALD)
    try:
        machine.run(["kill", "-KILL", str(server.status()["server_pid"])])
        server.wait_state("failed")
        assert server.report()["class"] == "gpu_oom"
    finally:
        machine.systemctl("start", *sockets.stdout.split(), JOURNALD)


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_the_bus_may_come_and_go(fresh_coalmine, fresh_units, how):
    server = Supervised.fake(fresh_units, settings={"Live.IntervalSec": "1s"})
    server.start()
    server.machine.wait_until(lambda: server.bus("State") == "active", what="the bus")
    if how == "restart":
        server.machine.systemctl("restart", "dbus.service")
    else:
        server.machine.systemctl("kill", "--signal=SIGKILL", "dbus.service")
    server.machine.wait_until(lambda: server.bus("State") == "active", what="the bus again")
    assert "generated" in server.ctl("run-canary", server.name).stdout
    assert is_untouched(server)


def test_a_bus_that_comes_late_is_found(fresh_coalmine, fresh_units):
    fresh_coalmine.systemctl("stop", "dbus.socket", "dbus.service", check=False)
    server = Supervised.fake(fresh_units)
    server.start()
    time.sleep(3)
    fresh_coalmine.systemctl("start", "dbus.socket")
    server.machine.wait_until(lambda: server.bus("State") == "active", what="the bus")


@pytest.fixture
def clocked(coalmine, units):
    """An instance with a wall clock of its own, which is returned with it."""
    made = []

    def make(*options, **more):
        clock = WallClock(coalmine, units.directory())
        server = Supervised.fake(units, *options, **more)
        drop_in = f"/run/systemd/system/{server.unit}.d/clock.conf"
        lines = "".join(f"Environment={name}={value}\n" for name, value in clock.environment.items())
        coalmine.write(drop_in, f"[Service]\n{lines}")
        coalmine.systemctl("daemon-reload")
        made.append(drop_in)
        return server, clock

    yield make
    coalmine.remove(*made)


def test_the_clock_may_be_set_while_loading(clocked):
    server, clock = clocked("--load-sec", 6, settings={"Start.StallSec": "5s", "Start.LoadTimeoutSec": "30s"})
    server.start(wait=False)
    server.wait_phase("loading")
    for seconds in (DAY, -DAY, 400 * DAY, 0):
        clock.set(seconds)
        time.sleep(1)
    server.wait_state("active")
    assert server.status()["attempt"] == 1 and server.reports() == []


def test_the_clock_may_be_set_while_serving(clocked):
    settings = {"Live.IntervalSec": "1s", "Restart.BackoffSec": "3s", "Report.Keep": 2}
    server, clock = clocked(settings=settings)
    server.start()
    for seconds in (DAY, -DAY):
        clock.set(seconds)
        before = server.status()["proof"]["at"]
        server.machine.wait_until(lambda: server.status()["proof"]["at"] != before, what="another canary")
        moved = datetime.fromisoformat(server.status()["proof"]["at"]) - datetime.now(timezone.utc)
        assert abs(moved.total_seconds() - seconds) < 60
        assert is_untouched(server)
    for epoch, seconds in ((2, -DAY), (3, -2 * DAY), (4, -3 * DAY)):
        clock.set(seconds)
        server.machine.run(["kill", "-KILL", str(server.status()["server_pid"])])
        server.wait_phase("cooling")
        clock.set(seconds - DAY)
        cooling = time.monotonic()
        server.machine.wait_until(lambda: is_untouched(server, epoch), what="another server")
        assert time.monotonic() - cooling < 15
        assert server.report()["epoch"] == epoch - 1
        server.machine.run(["coalminectl", "report", server.name])
