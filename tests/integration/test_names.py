# SPDX-License-Identifier: MIT
"""Instances of all names, and several at once."""

import json

import pytest

from lib.supervised import Supervised

ENDINGS = ["-and-dashes", ".dots.2.5", "_under:colon", "@at", "-größe-2.5", "-模型"]


def escaped(machine, name):
    """The unit as systemd-escape(1) names it, dashes included."""
    return machine.run(["systemd-escape", "--template=coalmine@.service", name]).stdout.strip()


@pytest.mark.parametrize("ending", ENDINGS)
def test_everything_follows_the_name(coalmine, units, ending):
    server = Supervised.fake(units, ending=ending)
    server.start()
    status = server.status()
    assert status["instance"] == server.name and status["state"] == "active"
    server.machine.wait_until(lambda: server.bus("State") == "active", what="the bus")
    assert server.bus("Instance") == server.name
    assert json.loads(server.ctl("status", "--json", server.name).stdout)["running"] is True
    assert server.ctl("wait", server.name, "--timeout=5s").returncode == 0
    assert server.name in server.ctl("check", server.name).stdout
    lines = server.machine.journal(server.unit, SYSLOG_IDENTIFIER=server.name)
    assert any("Uvicorn running" in line["MESSAGE"] for line in lines)
    as_in_unit = status["unit"].removeprefix("coalmine@").removesuffix(".service")
    assert json.loads(server.ctl("status", "--json", as_in_unit).stdout)["instance"] == server.name
    listed = [row["instance"] for row in json.loads(server.ctl("list", "--json").stdout)]
    assert listed.count(server.name) == 1
    assert as_in_unit == server.name or as_in_unit not in listed


def test_an_escaped_unit_is_the_same_instance(coalmine, units):
    server = Supervised.fake(units, ending="-größe")
    unit = escaped(server.machine, server.name)
    assert "\\x2d" in unit and "\\xc3\\xb6" in unit
    server.machine.systemctl("start", unit)
    assert server.status()["instance"] == server.name
    assert server.status()["unit"] == unit
    second = server.start(check=False)
    assert second.returncode != 0
    assert server.exit_code() == 78
    assert server.status()["state"] == "active"
    assert "another coalmined" in server.machine.journal_text(server.unit)
    server.machine.systemctl("stop", unit)


def test_a_failure_of_a_name_is_reported_under_it(coalmine, units):
    server = Supervised.fake(units, "--crash-after", 0, ending="-größe", settings={"Restart.Budget": 0})
    server.start(check=False)
    assert server.is_active() == "failed"
    assert server.report()["instance"] == server.name
    assert server.name in server.status()["last_failure"]["report"]


def test_a_name_that_cannot_be_is_refused(coalmine):
    for name in ("a/b", ".hidden", "\\x2e\\x2e", "n" * 129, "bell\\x07"):
        done = coalmine.run(["coalmined", f"--instance={name}", "--", "/bin/true"], check=False)
        assert done.returncode == 78, name
        assert "name" in done.stderr


def test_many_at_once_do_not_touch_each_other(coalmine, units):
    servers = [Supervised.fake(units, "--fork-workers", 1, ending=f".{n}") for n in range(4)]
    for server in servers:
        server.start(wait=False)
    for server in servers:
        server.wait_state("active", timeout=60)
    pids = [server.status()["server_pid"] for server in servers]
    assert len(set(pids)) == len(servers)
    coalmine.run(["kill", "-KILL", str(pids[0])])
    servers[1].stop()
    servers[0].wait_state("reloading", "active")
    coalmine.wait_until(lambda: servers[0].status()["epoch"] == 2, what="another epoch")
    servers[0].wait_state("active")
    for server, pid in list(zip(servers, pids))[2:]:
        status = server.status()
        assert (status["state"], status["epoch"], status["server_pid"]) == ("active", 1, pid)
    assert servers[1].server_pids() == []
