# SPDX-License-Identifier: MIT
"""Maintenance on a real systemd: an instance paused, resumed, and given another configuration while it serves."""

import re
import time

import pytest

from lib.supervised import EXIT_UNMENDABLE, FAILURE_ID, Supervised

RELOAD_ID = "73271cd1786a471b907a06f745efd884"
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
    assert re.search(r"Paused: until .*20\d\d-", server.ctl("status", server.name).stdout)
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


# Reload


def supervisor_pid(server):
    return server.machine.show(server.unit, "MainPID")["MainPID"]


def test_reload_applies_under_the_running_server(instance):
    server = instance(settings={"Live.IntervalSec": "1h"})
    server.start()
    pid, supervisor, before = server.status()["server_pid"], supervisor_pid(server), proof_time(server)
    server.reconfigure({"Live.IntervalSec": "1s", "Canary greedy.MaxTokens": 5, "Restart.Budget": 77})
    server.machine.systemctl("reload", server.unit)
    assert server.is_active() == "active"
    server.machine.wait_until(lambda: proof_time(server) != before, timeout=5, what="the new live canary")
    status = server.status()
    assert status["server_pid"] == pid and supervisor_pid(server) == supervisor
    assert status["restarts"]["budget"] == 77 and status["pending"] == []
    (record,) = server.records(RELOAD_ID)
    changed = record["COALMINE_CHANGED"].split(", ")
    assert changed == ["Live.IntervalSec", "Restart.Budget", "Canary greedy.MaxTokens"]
    assert record["COALMINE_PENDING"] == ""


@pytest.fixture
def slow_reload(instance, coalmine):
    """An instance that is ready, and whose reload takes three seconds before it begins."""
    server = instance(settings={"Restart.BackoffSec": "60s"})
    coalmine.write(
        f"/run/systemd/system/{server.unit}.d/slow.conf",
        "[Service]\nExecReload=\nExecReload=/bin/sleep 3\nExecReload=/usr/bin/coalminectl reload %i\n",
    )
    coalmine.systemctl("daemon-reload")
    server.start()
    yield server
    coalmine.remove(f"/run/systemd/system/{server.unit}.d")


def test_reload_is_shown_by_systemd_and_ends(slow_reload):
    server = slow_reload
    server.machine.systemctl("reload", "--no-block", server.unit)
    server.wait_state("reloading")
    assert server.status()["state"] == "active"
    server.wait_state("active", timeout=15)
    assert len(server.records(RELOAD_ID)) == 1


def test_server_that_dies_during_a_reload_is_shown(slow_reload):
    server = slow_reload
    server.machine.systemctl("reload", "--no-block", server.unit)
    server.wait_state("reloading")
    kill_server(server)
    server.machine.wait_until(lambda: server.records(RELOAD_ID), what="the reload")
    time.sleep(1)
    assert server.status()["phase"] == "cooling" and server.is_active() == "reloading"
    server.ctl("restart", server.name)
    server.wait_state("active")
    assert server.status()["epoch"] == 2


def test_invalid_configuration_changes_nothing(instance):
    server = instance()
    server.start()
    status = server.status()
    path = f"/etc/coalmine/{server.name}.conf"
    server.reconfigure({"Live.Fall": "many", "Server.URL": "http://127.0.0.1:1"})
    refused = server.machine.systemctl("reload", server.unit, check=False)
    assert refused.returncode != 0
    assert server.is_active() == "active"
    told = server.ctl("reload", server.name, check=False)
    assert told.returncode == 78
    assert path in told.stderr and "Fall" in told.stderr and "stays as it was" in told.stderr
    assert "Not reloaded" in server.machine.journal_text(server.unit)
    assert server.records(RELOAD_ID) == []
    now = server.status()
    assert (now["server_pid"], now["url"], now["pending"]) == (status["server_pid"], status["url"], [])
    assert "generated" in server.ctl("run-canary", server.name).stdout
    server.reconfigure({"Live.Fall": None})
    server.machine.remove(path)
    gone = server.ctl("reload", server.name, check=False)
    assert gone.returncode == 78 and path in gone.stderr


def test_what_needs_another_start_waits_for_it(instance, units):
    server = instance()
    command = server.settings["Server.Command"]
    server.start()
    status = server.status()
    other = server.machine.free_port()
    server.reconfigure(
        {
            "Server.Command": command.replace(str(server.port), str(other)),
            "Server.URL": f"http://127.0.0.1:{other}",
            "Server.StopSec": "7s",
        }
    )
    told = server.ctl("reload", server.name).stdout
    assert "Server.Command waits" in told and "Server.URL waits" in told and "StopSec" not in told
    assert server.status()["pending"] == ["Server.Command", "Server.URL"]
    assert "Needs restart: Server.Command" in server.ctl("status", server.name).stdout
    before = proof_time(server)
    server.machine.wait_until(lambda: proof_time(server) != before, what="a canary at the old address")
    assert server.is_active() == "active" and server.status()["url"] == status["url"]
    server.ctl("reload", server.name)
    assert server.status()["pending"] == ["Server.Command", "Server.URL"]
    server.ctl("restart", server.name)
    server.machine.wait_until(
        lambda: server.status()["server_pid"] not in (status["server_pid"], 0), what="another server"
    )
    server.wait_state("active")
    assert server.status()["url"].endswith(f":{other}") and server.status()["pending"] == []
    assert server.reports() == []


def test_failed_server_is_restarted_with_what_was_reloaded(instance):
    server = instance()
    server.start()
    server.reconfigure({"Server.Environment": "COALMINE_TEST=new"})
    server.ctl("reload", server.name)
    kill_server(server)
    server.machine.wait_until(lambda: server.status()["epoch"] == 2 and server.is_active() == "active", what="it")
    environ = server.machine.read(f"/proc/{server.status()['server_pid']}/environ")
    assert "COALMINE_TEST=new" in environ.split("\0")


def test_signal_reloads(instance):
    server = instance()
    server.start()
    server.reconfigure({"Restart.Budget": 66})
    server.machine.run(["kill", "-HUP", supervisor_pid(server)])
    server.machine.wait_until(lambda: server.status()["restarts"]["budget"] == 66, what="the reload")
    server.reconfigure({"Restart.Budget": "x"})
    server.machine.run(["kill", "-HUP", supervisor_pid(server)])
    server.machine.wait_until(
        lambda: "Not reloaded" in server.machine.journal_text(server.unit), what="the complaint"
    )
    assert server.is_active() == "active" and server.status()["restarts"]["budget"] == 66


def test_reloaded_signatures_explain_the_next_failure(instance, coalmine):
    server = instance(
        "--crash-after",
        2,
        "--crash-log",
        "odd_thing_happened",
        settings={"Start.Suite": "greedy", "Live.IntervalSec": "1h", "Restart.Budget": 5},
    )
    server.start()
    classes, signature = "/etc/coalmine/classes.conf", "/etc/coalmine/signatures/maintenance.conf"
    coalmine.write(classes, "[Class odd]\nText=an odd thing\nRetry=never\nRetryServing=never\n")
    coalmine.write(signature, "[Signature odd-thing]\nClass=odd\nRank=cause\nPattern=odd_thing_happened\n")
    try:
        server.ctl("reload", server.name)
    finally:
        coalmine.remove(classes, signature)
    server.ctl("run-canary", server.name, check=False)
    server.wait_state("failed")
    assert server.exit_code() == EXIT_UNMENDABLE
    assert (server.report()["class"], server.report()["signature"]) == ("odd", "odd-thing")


def test_reloaded_class_policy_decides_the_next_failure(instance):
    server = instance(settings={"Restart.BackoffSec": "60s"})
    server.start()
    server.reconfigure({"Class engine_died.RetryServing": "never"})
    server.ctl("reload", server.name)
    kill_server(server)
    server.wait_state("failed")
    assert server.exit_code() == EXIT_UNMENDABLE
    assert server.report()["class"] == "engine_died"


def test_load_time_out_is_moved_during_the_load(instance):
    server = instance("--load-sec", 6, settings={"Start.LoadTimeoutSec": "3s"})
    server.start(wait=False)
    server.wait_phase("loading")
    server.reconfigure({"Start.LoadTimeoutSec": "60s"})
    server.ctl("reload", server.name)
    server.wait_state("active")
    assert server.reports() == []


def test_reloads_leave_no_memory_behind(instance):
    server = instance()
    server.start()

    def resident():
        words = server.machine.read(f"/proc/{supervisor_pid(server)}/status").split("VmRSS:")[1].split()
        return int(words[0])

    def reload_times(n):
        for i in range(n):
            server.reconfigure({"Canary greedy.Prompt": f"Say {i}"})
            server.ctl("reload", server.name)

    reload_times(10)
    before = resident()
    reload_times(40)
    assert resident() - before < 4096
    assert server.is_active() == "active"
