# SPDX-License-Identifier: MIT
"""A server that hangs is looked at before it is ended."""

import pytest

from lib.supervised import Supervised

HANG = {"Start.StallSec": "2s", "Restart.Budget": 0, "Canary greedy.FirstTimeoutSec": "2s"}


@pytest.fixture
def instance(coalmine, units):
    return lambda *options, **more: Supervised.fake(units, *options, **more)


def hangs(instance, **settings):
    server = instance("--never-answer", "generation", "--fork-workers", 2, settings={**HANG, **settings})
    server.start(check=False)
    assert server.is_active() == "failed"
    report = server.report()
    assert report["class"] == "engine_hang"
    assert server.server_pids() == []
    return server, report["dump"]


def test_hang_is_looked_at_before_its_end(instance):
    server, dump = hangs(instance)
    assert dump["when"] == "before the stop signal"
    assert "command" not in dump
    names = [process["name"] for process in dump["processes"]]
    assert names == ["python3"] * 3
    server_process = dump["processes"][0]
    assert server_process["state"] == "sleeping"
    assert any(thread.get("wait_channel") for thread in server_process["threads"])
    assert "+0x" in server_process["kernel_stack"][0]
    listening = f"tcp 127.0.0.1:{server.port} listen, PID {server_process['pid']}"
    assert listening in dump["sockets"]


def test_operators_command_tells_more(instance):
    script = "echo main $SERVER_PID of $(echo $SERVER_PIDS | wc -w); echo HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123; exit 4"
    server, dump = hangs(instance, **{"Report.DumpCommand": f"/bin/sh -c '{script}'"})
    command = dump["command"]
    assert command["ended"] is True and command["exit_code"] == 4
    assert command["output"][0] == f"main {dump['processes'][0]['pid']} of 3"
    assert "hf_abc" not in str(server.report())


def test_operators_command_may_hang_as_well(instance):
    settings = {"Report.DumpCommand": "/bin/sh -c 'echo begun; sleep 1000'", "Report.DumpSec": "1s"}
    _, dump = hangs(instance, **settings)
    assert dump["command"]["exit_code"] == 124
    assert dump["command"]["output"] == ["begun"]


def test_server_that_fell_is_looked_at(instance, units):
    settings = {
        "Report.DumpCommand": "/bin/echo looked",
        "Restart.Budget": 0,
        "Live.IntervalSec": "1s",
        "Live.TimeoutSec": "1s",
        "Live.Fall": 2,
    }
    server = instance("--fork-workers", 1, settings=settings)
    server.start()
    pid = server.status()["server_pid"]
    server.machine.run(["kill", "-STOP", str(pid)])
    server.wait_state("failed", timeout=60)
    report = server.report()
    assert report["class"] == "engine_hang"
    main = next(process for process in report["dump"]["processes"] if process["pid"] == pid)
    assert main["state"] == "stopped"
    assert report["dump"]["command"]["output"] == ["looked"]


def test_stop_does_not_wait_for_the_command(instance):
    settings = {"Report.DumpCommand": "/bin/sleep 1000", "Report.DumpSec": "5min"}
    server = instance("--never-answer", "generation", settings={**HANG, **settings})
    server.start(wait=False)
    server.wait_phase("stopping")
    server.machine.wait_until(lambda: server.machine.pids_of("^/bin/sleep 1000$"), what="the command")
    server.stop()
    assert server.is_active() in ("inactive", "failed")
    assert server.machine.pids_of("^/bin/sleep 1000$") == []


def test_crash_is_not_looked_at(instance):
    server = instance("--crash-after", 1, settings={"Restart.Budget": 0, "Report.DumpCommand": "/bin/echo x"})
    server.start(check=False)
    assert "dump" not in server.report()
