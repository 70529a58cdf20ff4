# SPDX-License-Identifier: MIT
"""The public port accepts connections while the model loads, and passes them on after READY."""

import pytest

from lib.gate import Gate, wait_reply
from lib.supervised import READY_ID, Supervised


ASK_SOCKET = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"GET /v1/models HTTP/1.0\\r\\n\\r\\n")
print(b"".join(iter(lambda: s.recv(4096), b"")).decode())
"""


@pytest.fixture
def gated(coalmine, units):
    """gated(*options, **more): an instance of the fake server, and its gate."""
    made = []

    def make(*options, **more):
        server = Supervised.fake(units, *options, **more)
        made.append(Gate(server))
        return server, made[-1]

    yield make
    for gate in made:
        gate.remove()


def moment(record):
    return int(record["__REALTIME_TIMESTAMP"])


def test_who_comes_early_is_answered_after_ready(gated):
    server, gate = gated("--load-sec", 4)
    server.start(wait=False)
    server.machine.wait_until(gate.is_listening, what="the public port")
    clients = [gate.client() for _ in range(5)]
    server.wait_phase("loading")
    assert server.is_active() == "activating"
    replies = [wait_reply(client) for client in clients]
    assert [reply.status for reply in replies] == [200] * 5
    assert all(reply.seconds > 2 for reply in replies)
    assert all(reply.json()["choices"] for reply in replies)
    ready = moment(server.records(READY_ID)[0])
    lines = server.machine.journal(server.unit, SYSLOG_IDENTIFIER=server.name)
    passed_on = [moment(line) for line in lines if "POST /v1/completions" in line["MESSAGE"]]
    assert len(passed_on) >= 5 and min(sorted(passed_on)[-5:]) > ready
    assert gate.ask().status == 200


def test_it_goes_with_its_server(gated):
    server, gate = gated()
    server.start()
    assert gate.ask().status == 200
    server.stop()
    server.machine.wait_until(lambda: not gate.is_listening(), what="the public port to close")
    refused = gate.ask()
    assert refused.status is None and "refused" in refused.error
    assert server.is_active() == "inactive"
    server.start()
    assert gate.ask().status == 200


def test_it_outlives_a_restart_in_place(gated):
    server, gate = gated(settings={"Restart.BackoffSec": "200ms"})
    server.start()
    assert gate.ask().status == 200
    server.machine.run(["kill", "-KILL", str(server.status()["server_pid"])])
    server.machine.wait_until(lambda: server.status()["epoch"] == 2, what="another epoch")
    server.wait_state("active")
    assert gate.ask().status == 200


def test_a_waiting_client_does_not_start_a_failed_server_again(gated, units):
    state = f"{units.directory()}/starts"
    server, gate = gated("--load-sec", 3, "--crash-after", 0, "--state", state, settings={"Restart.Budget": 0})
    server.start(wait=False)
    server.machine.wait_until(gate.is_listening, what="the public port")
    clients = [gate.client() for _ in range(3)]
    server.wait_state("failed")
    assert [wait_reply(client).status for client in clients] == [None] * 3
    server.machine.wait_until(lambda: not gate.is_listening(), what="the public port to close")
    assert "refused" in gate.ask().error
    assert server.starts(state) == 1
    assert server.is_active() == "failed"


def test_it_also_serves_clients_on_this_machine(gated):
    server, _ = gated()
    server.start()
    answer = server.machine.python(ASK_SOCKET, f"/run/coalmine-gate/{server.name}").stdout
    assert " 200 " in answer and "canary/tiny-1B" in answer


def test_the_endpoint_is_the_running_servers(gated):
    server, _ = gated()
    assert server.ctl("endpoint", server.name, check=False).returncode == 1
    server.start()
    assert server.ctl("endpoint", server.name).stdout == f"127.0.0.1:{server.port}\n"
