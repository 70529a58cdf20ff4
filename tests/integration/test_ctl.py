# SPDX-License-Identifier: MIT
"""coalminectl, as an operator or a script uses it."""

import json
import time

import pytest

from lib.supervised import Supervised


@pytest.fixture
def server(coalmine, units):
    """A fake server that is ready."""
    made = Supervised.fake(units)
    made.start()
    return made


def test_status_and_list_agree(server):
    shown = server.ctl("status", server.name).stdout
    assert "active (ready)" in shown and server.url in shown
    document = json.loads(server.ctl("status", "--json", server.name).stdout)
    assert document["state"] == "active" and document["running"] is True
    listed = json.loads(server.ctl("list", "--json").stdout)
    assert [row["state"] for row in listed if row["instance"] == server.name] == ["active"]


def test_wait_returns_when_it_is_ready(coalmine, units):
    slow = Supervised.fake(units, "--load-sec", 2)
    slow.start(wait=False)
    assert slow.ctl("wait", slow.name, "--for=ready", "--timeout=30s").returncode == 0
    assert slow.is_active() == "active"


def test_wait_times_out(coalmine, units):
    slow = Supervised.fake(units, "--load-sec", 60)
    slow.start(wait=False)
    started = time.monotonic()
    late = slow.ctl("wait", slow.name, "--timeout=1s", check=False)
    assert late.returncode == 2 and time.monotonic() - started < 10
    assert "activating" in late.stderr


def test_wait_knows_at_once_that_there_is_nothing_to_wait_for(coalmine, units):
    name = units.instance("[Server]\nCommand=/bin/true\n")
    coalmine.systemctl("start", f"coalmine@{name}.service", check=False)
    started = time.monotonic()
    never = coalmine.run(["coalminectl", "wait", name, "--timeout=60s"], check=False)
    assert never.returncode == 1 and time.monotonic() - started < 10


def test_dead_supervisor_is_told_from_its_file(server):
    server.machine.write(f"/run/systemd/system/{server.unit}.d/once.conf", "[Service]\nRestart=no\n")
    server.machine.systemctl("daemon-reload")
    supervisor = server.machine.show(server.unit, "MainPID")["MainPID"]
    server.machine.run(["kill", "-KILL", supervisor])
    server.wait_state("failed")
    assert server.status()["state"] == "active"
    shown = server.ctl("status", server.name, check=False)
    assert shown.returncode == 3 and "dead" in shown.stdout
    server.machine.remove(f"/run/systemd/system/{server.unit}.d")


def test_report_is_told_to_be_absent(server):
    absent = server.ctl("report", server.name, check=False)
    assert absent.returncode == 1 and "no report" in absent.stderr


@pytest.mark.parametrize("name", ["../etc", ".hidden", "a/b", "", "x" * 300])
def test_odd_names_are_refused(coalmine, name):
    for verb in ("status", "wait", "report", "restart"):
        refused = coalmine.run(["coalminectl", verb, name], check=False)
        assert refused.returncode in (1, 2) and "not a name of an instance" in refused.stderr


def test_wrong_usage_says_so(coalmine):
    for words in (["frobnicate"], ["status", "--frob"], ["wait"], ["wait", "x", "--timeout=soon"], ["wait", "x", "--for=tea"]):
        wrong = coalmine.run(["coalminectl", *words], check=False)
        assert wrong.returncode == 2 and wrong.stderr.startswith("coalminectl:")


def test_help_names_every_verb(coalmine):
    text = coalmine.run(["coalminectl", "--help"]).stdout
    for verb in ("status", "wait", "report", "diagnose", "restart", "list", "check", "cat-config"):
        assert f"  {verb} " in text


def test_cat_config_names_the_origin_of_each_value(server):
    shown = server.ctl("cat-config", server.name).stdout
    assert f"/etc/coalmine/{server.name}.conf:" in shown
    assert "/usr/share/coalmine/profiles/sglang.conf:" in shown
    document = json.loads(server.ctl("cat-config", "--json", server.name).stdout)
    assert document["Restart"]["BackoffSec"]["value"] == "1s"


def test_check_knows_the_nearest_key(coalmine, units):
    name = units.instance("[Server]\nCommand=/bin/true\nURL=http://127.0.0.1:1\n[Start]\nStalSec=3\n")
    wrong = coalmine.run(["coalminectl", "check", name], check=False)
    assert wrong.returncode == 78
    assert f"/etc/coalmine/{name}.conf:5" in wrong.stderr and "StallSec" in wrong.stderr
