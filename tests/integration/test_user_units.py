# SPDX-License-Identifier: MIT
"""A user's instances under the user's own service manager."""

import json

import pytest

from lib.session import Session
from lib.supervised import EXIT_STOPPED, Supervised


@pytest.fixture(scope="module")
def sessions():
    return {}


@pytest.fixture
def instance(coalmine, units, sessions):
    """instance(*options, **more): the user's instance of the fake server."""
    session = sessions.setdefault(coalmine.release, Session(coalmine))
    made = []

    def make(*options, **more):
        made.append(session.instance(units, *options, **more))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_it_serves_and_shows_itself_to_its_user(instance):
    server = instance("--fork-workers", 2, "--detach-workers", ending="-größe")
    server.start()
    assert server.is_active() == "active"
    status = server.status()
    assert (status["state"], status["instance"]) == ("active", server.name)
    assert server.session.machine.read(f"/proc/{status['server_pid']}/cgroup").rstrip().endswith("/server-1")
    assert server.machine.run(["stat", "-c", "%U", f"/proc/{status['server_pid']}"]).stdout.strip() == "miner"
    server.machine.wait_until(lambda: server.bus("State") == "active", what="the user's bus")
    assert json.loads(server.ctl("status", "--json", server.name).stdout)["running"] is True
    assert server.ctl("wait", server.name, "--timeout=5s").returncode == 0
    assert "generated" in server.ctl("run-canary", server.name).stdout
    assert server.name in server.ctl("check", server.name).stdout
    server.ctl("restart", server.name)
    server.machine.wait_until(lambda: server.status()["epoch"] == 2, what="another server")
    server.machine.wait_until(lambda: server.is_active() == "active", what="READY again")
    server.stop()
    assert server.show("ExecMainStatus") == str(EXIT_STOPPED)
    assert server.server_pids() == []


def test_its_user_maintains_it(instance):
    server = instance()
    server.start()
    server.ctl("pause", server.name, "--for=1h")
    server.machine.wait_until(lambda: server.status()["paused"], what="the pause")
    server.ctl("resume", server.name)
    server.machine.wait_until(lambda: not server.status()["paused"], what="the end of the pause")
    server.reconfigure({"Restart.Budget": 66})
    server.session.systemctl("reload", server.unit)
    assert server.status()["restarts"]["budget"] == 66 and server.is_active() == "active"
    server.reconfigure({"Restart.Budget": "x"})
    assert server.session.systemctl("reload", server.unit, check=False).returncode != 0
    assert server.is_active() == "active"


def test_its_user_may_not_steer_the_systems(coalmine, units, sessions):
    session = sessions.setdefault(coalmine.release, Session(coalmine))
    server = Supervised.fake(units)
    server.start()
    for words in (["restart"], ["reload"], ["pause"], ["run-canary"]):
        refused = session.run(["coalminectl", *words, server.name], check=False)
        assert refused.returncode == 1 and f"{server.name} is the system's" in refused.stderr
    assert session.run(["coalminectl", "status", server.name]).returncode == 0
    assert (server.status()["epoch"], server.status()["paused"]) == (1, False)


def test_its_failures_are_its_users(instance):
    server = instance("--crash-after", 1, "--crash-log", "ValueError: no such rope", settings={"Restart.Budget": 0})
    server.start(check=False)
    assert server.is_active() == "failed"
    assert server.report()["instance"] == server.name
    path = server.status()["last_failure"]["report"]
    assert path.startswith(f"{server.session.home}/.local/state/coalmine/{server.name}/reports/")
    assert server.machine.run(["stat", "-c", "%U", path]).stdout.strip() == "miner"


def test_a_killed_supervisor_is_replaced_with_its_server(instance):
    server = instance("--fork-workers", 2, "--detach-workers")
    server.start()
    before, supervisor = server.server_pids(), server.show("MainPID")
    server.machine.run(["kill", "-KILL", supervisor])
    server.machine.wait_until(lambda: server.show("MainPID") not in (supervisor, "0"), what="another coalmined")
    server.machine.wait_until(lambda: server.is_active() == "active", what="READY again")
    assert not set(before) & set(server.server_pids())


def test_its_output_is_read_wherever_it_goes(instance):
    """A user may read the own journal, or no journal at all: the cause is found either way."""
    server = instance("--crash-after", 1, "--crash-log", "torch.OutOfMemoryError: CUDA out of memory.",
                      settings={"Restart.Budget": 0})
    server.start(check=False)
    assert server.report()["class"] == "gpu_oom"
    uid = str(server.session.uid)
    lines = server.machine.journal(_UID=uid)
    assert any("CUDA out of memory" in str(line["MESSAGE"]) for line in lines)


def test_the_systems_instance_of_a_user_has_the_systems_places(coalmine, units, sessions):
    sessions.setdefault(coalmine.release, Session(coalmine))
    server = Supervised.fake(units)
    drop_in = f"/run/systemd/system/{server.unit}.d/user.conf"
    coalmine.write(drop_in, "[Service]\nUser=miner\nSupplementaryGroups=systemd-journal\n")
    coalmine.systemctl("daemon-reload")
    try:
        server.start()
        assert server.status()["state"] == "active"
        pid = server.status()["server_pid"]
        assert coalmine.run(["stat", "-c", "%U", f"/proc/{pid}"]).stdout.strip() == "miner"
        assert coalmine.read(f"/proc/{pid}/cgroup").rstrip().endswith("/server-1")
        lines = coalmine.journal(server.unit, SYSLOG_IDENTIFIER=server.name)
        assert any("Uvicorn running" in line["MESSAGE"] for line in lines)
    finally:
        server.stop()
        coalmine.remove(drop_in)
        coalmine.systemctl("daemon-reload")
