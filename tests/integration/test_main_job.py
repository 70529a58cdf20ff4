# SPDX-License-Identifier: MIT
"""The main job, on a real systemd: READY only after the proof, the cause of every failure, restarts that
have a reason to help."""

import time

import pytest

from lib import gguf
from lib.supervised import (
    EXIT_BUDGET,
    EXIT_STOPPED,
    EXIT_UNMENDABLE,
    FAILURE_ID,
    READY_ID,
    Supervised,
)


@pytest.fixture
def llama(coalmine, units, model):
    """llama(content, **settings): an instance of the real llama-server on a model of CONTENT."""

    def make(content=model, **more):
        path = f"{units.directory()}/tiny.gguf"
        coalmine.write(path, content)
        command = f"llama-server --model {path} --port {{port}} --metrics"
        return Supervised(units, command, profile="llama-server", **more)

    return make


@pytest.fixture
def instance(coalmine, units):
    """instance(*options, **more): an instance of the fake server."""
    return lambda *options, **more: Supervised.fake(units, *options, **more)


# (a) the real llama-server


def test_llama_server_is_active_after_its_canaries(llama):
    server = llama()
    server.start()
    assert server.is_active() == "active"
    status = server.status()
    assert (status["state"], status["phase"]) == ("active", "ready")
    assert status["proof"]["canary"] == "constrained" and not status["proof"]["let_off"]
    assert status["proof"]["verdict"] == "generated" and status["proof"]["tokens"] > 0
    server.machine.wait_until(lambda: server.bus("State") == "active", what="the bus to say active")
    assert server.bus("Phase") == "ready"
    assert server.bus("ServerPID") == status["server_pid"] != 0
    assert server.bus("ReadySince") > 0
    assert server.status_text().startswith("ready")
    assert server.ctl("status", server.name).returncode == 0
    assert server.ctl("wait", server.name, "--timeout=5s").returncode == 0
    assert len(server.records(READY_ID)) == 1
    canaries = [r for r in server.machine.journal(server.unit) if "proving -> ready" in r["MESSAGE"]]
    assert len(canaries) == 1
    server.stop()
    assert server.exit_code() == EXIT_STOPPED


def test_server_lines_have_their_own_identifier(llama):
    server = llama()
    server.start()
    lines = server.machine.journal(server.unit, SYSLOG_IDENTIFIER=server.name)
    assert any("model loaded" in line["MESSAGE"] for line in lines)
    assert {line["_SYSTEMD_UNIT"] for line in lines} == {server.unit}


# (b) the story


def test_story_is_caught_and_mended(instance, toolkit, units):
    state = f"{units.directory()}/starts"
    server = instance(
        "--load-sec", 1, "--jit-on-sampled", toolkit.path, "--jit-cache", units.directory(), "--state", state
    )
    started = time.monotonic()
    server.start(check=False)
    assert time.monotonic() - started < 30
    assert server.is_active() == "failed"
    assert server.exit_code() == EXIT_UNMENDABLE
    assert server.records(READY_ID) == []
    assert server.starts(state) == 1
    report = server.report()
    assert report["class"] == "jit_missing_header"
    assert report["captures"]["header"] == "curand.h"
    assert "curand" in report["hint"]
    assert report["decision"]["restart"] is False
    shown = server.machine.systemctl("status", "--no-pager", "--full", server.unit, check=False).stdout
    assert "jit_missing_header" in shown and "curand.h" in shown
    assert server.ctl("wait", server.name, check=False).returncode == 1
    toolkit.supply_header()
    server.start()
    assert server.is_active() == "active"
    assert server.starts(state) == 2


# (c) crashes that pass, and crashes that do not


def lives(units, *options):
    """Options for the fake server that takes another list of options at each start."""
    directory = units.directory()
    text = str([[str(word) for word in life] for life in options]).replace("'", '"')
    units.machine.write(f"{directory}/lives.json", text)
    return ["--state", f"{directory}/starts", "--lives", f"{directory}/lives.json"], f"{directory}/starts"


def test_one_crash_is_restarted_in_place(instance, units):
    options, state = lives(units, ["--crash-after", 1, "--crash-log", "something_odd_happened"], [])
    server = instance(*options)
    server.start()
    assert server.is_active() == "active"
    assert server.starts(state) == 2
    assert server.machine.show(server.unit, "NRestarts")["NRestarts"] == "0"
    assert len(server.reports()) == 1
    assert server.status()["attempt"] == 2


def test_budget_ends_crashes_of_different_causes(instance, units):
    codes = range(11, 20)
    options, state = lives(units, *[["--crash-after", 1, "--exit-code", code] for code in codes])
    settings = {"Restart.Budget": 2, "Restart.BackoffSec": "200ms"}
    server = instance(*options, settings=settings)
    server.start(check=False)
    assert server.is_active() == "failed"
    assert server.exit_code() == EXIT_BUDGET
    assert server.starts(state) == 3
    assert len(server.reports()) == 3
    assert "budget" in server.report()["decision"]["reason"]


def test_same_cause_twice_running_is_final(instance, units):
    options, state = lives(units, ["--crash-after", 1, "--exit-code", 7])
    server = instance(*options, settings={"Restart.BackoffSec": "200ms"})
    server.start(check=False)
    assert server.exit_code() == EXIT_UNMENDABLE
    assert server.starts(state) == 2


# (d) a corrupted model under the real llama-server


@pytest.mark.parametrize(
    "spoil",
    [lambda model: gguf.cut(model, 0.6), gguf.with_bad_magic, gguf.with_unknown_architecture],
    ids=["cut", "magic", "architecture"],
)
def test_corrupt_model_is_not_retried(llama, model, spoil):
    server = llama(spoil(model))
    server.start(check=False)
    assert server.exit_code() == EXIT_UNMENDABLE
    assert len(server.reports()) == 1
    assert server.report()["class"].startswith("model_")


# (e) a server that accepts and never answers


def test_server_that_never_answers_is_a_hang(instance):
    settings = {"Start.StallSec": "2s", "Restart.Budget": 0, "Canary greedy.FirstTimeoutSec": "2s"}
    server = instance("--never-answer", "generation", settings=settings)
    server.start(check=False)
    assert server.is_active() == "failed"
    assert server.report()["class"] == "engine_hang"
    assert server.server_pids() == []


# (f) the port taken by somebody else


def test_foreign_listener_is_named(instance, fake, units):
    server = instance("--load-sec", 30, settings={"Restart.Budget": 0})
    stranger = units.service(
        f"/usr/bin/python3 -m http.server --bind 127.0.0.1 {server.port}", "Type=exec"
    )
    server.machine.systemctl("start", stranger)
    pid = server.machine.show(stranger, "MainPID")["MainPID"]
    server.machine.wait_until(lambda: server.machine.http("GET", server.url).status == 200, what="the stranger")
    server.start(check=False)
    assert server.is_active() == "failed"
    report = server.report()
    assert report["class"] == "port_in_use"
    assert pid in str(report)


def test_preflight_finds_the_taken_port_before_any_start(instance, units):
    state = f"{units.directory()}/starts"
    settings = {"Restart.Budget": 0, "Start.Preflight": "yes"}
    server = instance("--state", state, settings=settings, profile="openai")
    stranger = units.service(f"/usr/bin/python3 -m http.server --bind 127.0.0.1 {server.port}", "Type=exec")
    server.machine.systemctl("start", stranger)
    server.machine.wait_until(lambda: server.machine.http("GET", server.url).status == 200, what="the stranger")
    server.start(check=False)
    assert server.report()["class"] == "port_in_use"
    assert server.starts(state) == 0


# (g) stop at every moment


def stops_cleanly(server):
    server.stop()
    assert server.is_active() == "inactive"
    assert server.exit_code() == EXIT_STOPPED
    assert server.machine.cgroup_pids(server.unit) == []
    assert server.server_pids() == []


def test_stop_during_load(instance):
    server = instance("--load-sec", 60, "--fork-workers", 3, "--detach-workers")
    server.start(wait=False)
    server.wait_phase("loading")
    server.machine.wait_until(server.server_pids, what="the server to run")
    stops_cleanly(server)


def test_stop_during_a_canary(instance):
    server = instance("--token-sec", 5)
    server.start(wait=False)
    server.wait_phase("proving")
    stops_cleanly(server)


def test_stop_during_backoff(instance, units):
    options, _ = lives(units, ["--crash-after", 1])
    server = instance(*options, settings={"Restart.BackoffSec": "60s"})
    server.start(wait=False)
    server.wait_phase("cooling")
    stops_cleanly(server)


def test_stop_of_a_server_that_ignores_sigterm(instance):
    server = instance("--ignore-sigterm", "--fork-workers", 2, settings={"Server.StopSec": "1s"})
    server.start()
    stops_cleanly(server)


# (h) coalmined killed


def test_killed_supervisor_is_replaced_with_its_server(instance):
    server = instance("--fork-workers", 2, "--detach-workers")
    server.start()
    before = server.server_pids()
    supervisor = server.machine.show(server.unit, "MainPID")["MainPID"]
    server.machine.run(["kill", "-KILL", supervisor])
    server.machine.wait_until(
        lambda: server.machine.show(server.unit, "MainPID")["MainPID"] not in (supervisor, "0"),
        what="systemd to start another coalmined",
    )
    server.wait_state("active")
    assert not set(before) & set(server.server_pids())
    server.machine.wait_until(lambda: server.status()["phase"] == "ready", what="READY again")
    assert len(server.reports()) == 1
    assert server.report()["class"] == "supervisor_died"
    server.stop()
    server.start()
    assert len(server.reports()) == 1


# Live


def test_dying_server_is_replaced_while_reloading(instance, units):
    server = instance(settings={"Restart.BackoffSec": "2s"})
    server.start()
    pid = server.status()["server_pid"]
    server.machine.run(["kill", "-KILL", str(pid)])
    server.wait_state("reloading")
    server.wait_state("active")
    assert server.status()["server_pid"] != pid
    assert len(server.records(READY_ID)) == 2
    assert len(server.records(FAILURE_ID)) == 1


def test_restart_and_canary_on_request(instance):
    server = instance()
    server.start()
    pid = server.status()["server_pid"]
    assert "generated" in server.ctl("run-canary", server.name).stdout
    server.ctl("restart", server.name)
    server.machine.wait_until(lambda: server.status()["server_pid"] not in (pid, 0), what="another server")
    server.wait_state("active")
    assert server.reports() == []


# What surrounds it


def test_bad_configuration_starts_nothing(coalmine, units):
    name = units.instance("[Server]\nComand=/bin/true\nURL=http://127.0.0.1:1\n")
    coalmine.systemctl("start", f"coalmine@{name}.service", check=False)
    assert coalmine.show(f"coalmine@{name}.service", "ExecMainStatus")["ExecMainStatus"] == "78"
    text = coalmine.journal_text(f"coalmine@{name}.service")
    assert f"/etc/coalmine/{name}.conf:2" in text and "Command" in text
    checked = coalmine.run(["coalminectl", "check", name], check=False)
    assert checked.returncode == 78
    assert f"/etc/coalmine/{name}.conf:2" in checked.stderr


def test_existing_unit_is_adopted_in_one_line(coalmine, units):
    probe = Supervised.fake(units)
    command = probe.settings["Server.Command"]
    unit = units.service(
        f"/usr/bin/coalmined --profile=sglang --url={probe.url} --set=Start.Preflight=no -- {command}",
        "Type=notify\nDelegate=yes",
    )
    coalmine.systemctl("start", unit)
    assert coalmine.is_active(unit) == "active"
    name = unit.removesuffix(".service")
    assert coalmine.run(["coalminectl", "wait", name, "--timeout=5s"]).returncode == 0


def test_server_does_not_get_the_supervisors_sockets(instance):
    server = instance()
    server.start()
    environ = server.machine.read(f"/proc/{server.status()['server_pid']}/environ")
    names = {entry.split("=", 1)[0] for entry in environ.split("\0") if entry}
    assert not names & {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID"}


def test_unwritable_state_loses_no_failure(instance, units):
    server = instance("--crash-after", 1, settings={"Restart.Budget": 0})
    server.machine.run(["mkdir", "-p", f"/var/lib/coalmine/{server.name}"])
    server.machine.write(f"/var/lib/coalmine/{server.name}/reports", "in the way")
    server.start(check=False)
    records = server.records(FAILURE_ID)
    assert len(records) == 1
    assert records[0]["COALMINE_CLASS"] and records[0]["COALMINE_DECISION"]


def test_nothing_shows_without_a_bus(fresh_coalmine, fresh_units):
    fresh_coalmine.systemctl("stop", "dbus.socket", "dbus.service", check=False)
    server = Supervised.fake(fresh_units)
    server.start()
    assert server.status()["phase"] == "ready"
    assert server.ctl("status", server.name).returncode == 0
