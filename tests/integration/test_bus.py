# SPDX-License-Identifier: MIT
"""org.coalmine1 on a real bus: who may do what, and what is told when."""

import json
import subprocess

import pytest

from lib.supervised import Supervised

INTERFACE = "org.coalmine1.Supervisor"
NOBODY = 65534


@pytest.fixture
def server(coalmine, units):
    """A fake server that is ready."""
    made = Supervised.fake(units)
    made.start()
    made.machine.wait_until(lambda: made.bus("State") == "active", what="the bus to say active")
    return made


def busctl(server, *words, user=None, check=True):
    words = ["busctl", *words[:1], server.bus_name(), "/org/coalmine1", *words[1:]]
    return server.machine.run(words, check=check, user=user)


def test_everybody_may_look_and_only_root_may_touch(server):
    document = busctl(server, "call", INTERFACE, "GetStatus", user=NOBODY).stdout
    assert '\\"phase\\":\\"ready\\"' in document
    assert busctl(server, "get-property", INTERFACE, "Phase", user=NOBODY).stdout == 's "ready"\n'
    pid = server.status()["server_pid"]
    for method in ("Restart", "RunCanary"):
        refused = busctl(server, "call", INTERFACE, method, user=NOBODY, check=False)
        assert refused.returncode != 0 and "denied" in refused.stderr.lower()
    assert server.status()["server_pid"] == pid


def test_introspection_names_all(server):
    shown = busctl(server, "introspect", INTERFACE).stdout
    for name in ("State", "Phase", "Attempt", "ServerPID", "ReadySince", "LastFailure", "GetStatus", "Restart", "RunCanary"):
        assert f".{name} " in shown


def test_changes_are_told_as_they_come(server):
    monitor = server.machine.spawn(
        ["busctl", "--json=short", "monitor", server.bus_name()], stdout=subprocess.PIPE, text=True
    )
    told = []
    try:
        server.machine.wait_until(lambda: server.machine.pids_of("busctl .*monitor"), what="the monitor")
        busctl(server, "call", INTERFACE, "Restart")
        for line in monitor.stdout:
            message = json.loads(line)
            if message.get("member") == "PropertiesChanged":
                told.append(message["payload"]["data"][1].get("State", {}).get("data"))
            if told and told[-1] == "active":
                break
    finally:
        monitor.terminate()
        monitor.wait(timeout=10)
    states = [state for state in told if state]
    assert states[-1] == "active" and "reloading" in states


def test_canary_is_refused_where_nothing_serves(coalmine, units):
    loading = Supervised.fake(units, "--load-sec", 60)
    loading.start(wait=False)
    loading.wait_phase("loading")
    loading.machine.wait_until(lambda: loading.bus("Phase") == "loading", what="the bus")
    refused = busctl(loading, "call", INTERFACE, "RunCanary", check=False)
    assert refused.returncode != 0 and "not serving" in refused.stderr
