# SPDX-License-Identifier: MIT
"""Maintenance on a real systemd: an instance paused, resumed, and given another configuration while it serves."""

import time

import pytest

from lib.supervised import FAILURE_ID, Supervised

PAUSE_ID = "74fddd38a18e4e7eb658ed96c21910b7"
NOBODY = 65534


@pytest.fixture
def instance(coalmine, units):
    """instance(*options, **more): an instance of the fake server, with a canary each second."""

    def make(*options, settings=(), **more):
        settings = {"Live.IntervalSec": "1s", **dict(settings)}
        return Supervised.fake(units, *options, settings=settings, **more)

    return make


def proof_time(server):
    return (server.status()["proof"] or {}).get("at")


def kill_server(server):
    server.machine.run(["kill", "-KILL", str(server.status()["server_pid"])])


# Pause


def test_paused_server_is_sent_no_canary(instance):
    server = instance()
    server.start()
    server.ctl("pause", server.name, "--for=25min")
    server.machine.wait_until(lambda: server.status()["paused"], what="the status to say paused")
    before = proof_time(server)
    time.sleep(3)
    assert proof_time(server) == before
    assert server.is_active() == "active"
    assert server.status_text().startswith("paused for 25 min; ready")
    status = server.status()
    assert status["phase"] == "ready" and status["paused_until"] > status["proof"]["at"]
    assert server.bus("Paused") is True and server.bus("PausedUntil") > 0
    assert "Paused: until 20" in server.ctl("status", server.name).stdout
    refused = server.ctl("run-canary", server.name, check=False)
    assert refused.returncode == 1 and "paused" in refused.stderr
    server.ctl("resume", server.name)
    server.machine.wait_until(lambda: proof_time(server) != before, what="a canary")
    status = server.status()
    assert status["paused"] is False and status["paused_until"] is None
    assert server.bus("Paused") is False and server.bus("PausedUntil") == 0
    assert server.status_text().startswith("ready")
    records = server.records(PAUSE_ID)
    assert [record["COALMINE_PAUSED"] for record in records] == ["yes", "no"]
    assert records[0]["COALMINE_PAUSED_UNTIL"].startswith("20")


def test_pause_ends_by_itself(instance):
    server = instance()
    server.start()
    server.ctl("pause", "--for=2s", server.name)
    before = proof_time(server)
    server.machine.wait_until(lambda: server.status()["paused"], what="the pause")
    server.machine.wait_until(lambda: not server.status()["paused"], timeout=5, what="the end of the pause")
    server.machine.wait_until(lambda: proof_time(server) != before, timeout=5, what="a canary")


def test_failure_while_paused_is_reported_and_its_restart_held(instance):
    server = instance(settings={"Restart.BackoffSec": "200ms"})
    server.start()
    server.ctl("pause", server.name)
    kill_server(server)
    server.wait_phase("cooling")
    server.wait_state("reloading")
    assert len(server.records(FAILURE_ID)) == 1 and len(server.reports()) == 1
    time.sleep(2)
    assert server.status()["phase"] == "cooling" and server.server_pids() == []
    assert server.status()["next_start"] is None
    assert server.status_text().startswith("paused until resumed; next start after the pause")
    server.ctl("resume", server.name)
    server.wait_state("active")
    assert server.status()["epoch"] == 2


def test_paused_start_has_all_the_time(instance):
    server = instance("--load-sec", 60, settings={"Start.StallSec": "2s", "Start.LoadTimeoutSec": "3s"})
    server.start(wait=False)
    server.wait_phase("loading")
    server.ctl("pause", server.name)
    server.machine.wait_until(lambda: server.status()["paused"], what="the pause")
    time.sleep(5)
    assert server.is_active() == "activating" and server.status()["phase"] == "loading"
    assert server.reports() == []
    server.ctl("resume", server.name)
    server.machine.wait_until(server.reports, timeout=10, what="the load time-out to count again")


def test_paused_start_is_proved_after_it(instance):
    server = instance("--load-sec", 2)
    server.start(wait=False)
    server.wait_phase("loading")
    server.ctl("pause", server.name, "--for=5s")
    time.sleep(4)
    assert server.is_active() == "activating"
    server.wait_state("active")


def test_restart_ends_the_pause(instance):
    server = instance()
    server.start()
    pid = server.status()["server_pid"]
    server.ctl("pause", server.name)
    server.ctl("restart", server.name)
    server.machine.wait_until(lambda: server.status()["server_pid"] not in (pid, 0), what="another server")
    server.wait_state("active")
    assert server.status()["paused"] is False


def test_stop_of_a_paused_instance(instance):
    server = instance()
    server.start()
    server.ctl("pause", server.name)
    server.stop()
    assert server.is_active() == "inactive" and server.exit_code() == 0


def test_systemds_restart_waits_for_the_end_of_the_pause(instance):
    server = instance(settings={"Restart.Mode": "exit"})
    server.start()
    server.ctl("pause", server.name)
    kill_server(server)
    server.wait_phase("cooling")
    supervisor = server.machine.show(server.unit, "MainPID")["MainPID"]
    server.ctl("resume", server.name)
    server.machine.wait_until(
        lambda: server.machine.show(server.unit, "NRestarts")["NRestarts"] == "1", what="systemd to restart it"
    )
    server.wait_state("active")
    assert server.machine.show(server.unit, "MainPID")["MainPID"] != supervisor


# Who may


def test_only_root_may_steer_the_systems_instances(instance):
    server = instance()
    server.start()
    for words in (["pause"], ["resume"], ["restart"], ["run-canary"]):
        refused = server.machine.run(["coalminectl", *words, server.name], check=False, user=NOBODY)
        assert refused.returncode == 1
        assert f"{server.name} is the system's" in refused.stderr and "root" in refused.stderr
    assert server.status()["paused"] is False


def test_what_is_not_there_is_told(coalmine):
    for user in (None, NOBODY):
        absent = coalmine.run(["coalminectl", "pause", "no-such-instance"], check=False, user=user)
        assert absent.returncode == 1 and "no-such-instance is not running" in absent.stderr
    assert coalmine.run(["coalminectl", "pause", "--for=soon", "x"], check=False).returncode == 2
