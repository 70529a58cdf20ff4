# SPDX-License-Identifier: MIT
"""The endpoint for load balancers, orchestrators and Prometheus."""

import json
import re

import pytest

from lib.supervised import Supervised

CROWD = """
import socket, sys, time
crowd = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(40)]
print("here", flush=True)
time.sleep(60)
"""


class Endpoint(Supervised):
    """An instance of the fake server whose state is asked over HTTP."""

    def __init__(self, units, command, settings=(), **more):
        self.listen = f"127.0.0.1:{units.machine.free_port()}"
        super().__init__(units, command, {**dict(settings), "HTTP.Listen": self.listen}, **more)

    def get(self, path):
        return self.machine.http("GET", f"http://{self.listen}{path}", timeout=20)

    def wait_open(self):
        self.machine.wait_until(lambda: self.get("/livez").status == 200, what="the endpoint to listen")

    def metrics(self):
        """{'name{labels}': value}."""
        text = self.get("/metrics").body
        samples = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in samples}


@pytest.fixture
def endpoint(coalmine, units):
    return lambda *options, **more: Endpoint.fake(units, *options, **more)


def test_readyz_says_what_systemd_is_told(endpoint):
    server = endpoint("--load-sec", 3, settings={"Restart.BackoffSec": "3s"})
    server.start(wait=False)
    server.wait_open()
    loading = server.get("/readyz")
    assert server.is_active() == "activating"
    assert loading.status == 503 and "attempt 1" in loading.body
    server.wait_state("active")
    assert server.get("/readyz").status == 200
    server.machine.run(["kill", "-KILL", str(server.status()["server_pid"])])
    server.wait_state("reloading")
    replaced = server.get("/readyz")
    assert replaced.status == 503 and replaced.body.count("\n") == 1
    assert server.get("/livez").status == 200
    server.wait_state("active")
    assert server.get("/readyz").status == 200


def test_status_is_the_status_file(endpoint):
    server = endpoint()
    server.start()
    assert server.get("/status").json() == server.status()


def test_metrics_count(endpoint):
    server = endpoint(settings={"Restart.BackoffSec": "200ms"})
    server.start()
    before = server.metrics()
    assert before["coalmine_ready"] == 1
    assert before['coalmine_state{state="active"}'] == 1
    assert before['coalmine_phase{phase="ready"}'] == 1
    assert before["coalmine_starts_total"] == before["coalmine_readies_total"] == 1
    assert before['coalmine_canaries_total{verdict="generated"}'] >= 2
    assert 0 < before["coalmine_last_start_seconds"] < 30
    server.machine.run(["kill", "-KILL", str(server.status()["server_pid"])])
    server.machine.wait_until(lambda: server.metrics()["coalmine_readies_total"] == 2, what="a second READY")
    after = server.metrics()
    failed = {name: value for name, value in after.items() if name.startswith("coalmine_failures_total")}
    assert list(failed.values()) == [1.0]
    assert server.report()["class"] in list(failed)[0]
    assert after["coalmine_epoch"] == 2 and after["coalmine_restarts_used"] == 1


def test_other_requests_are_turned_away(endpoint):
    server = endpoint()
    server.start(wait=False)
    server.wait_open()
    assert server.get("/").status == 404
    assert server.get("/readyz/").status == 404
    posted = server.machine.http("POST", f"http://{server.listen}/readyz", {"x": "y" * 100_000})
    assert posted.status == 405 or posted.status is None


def test_silent_clients_keep_nobody_out(endpoint):
    server = endpoint(settings={"Live.IntervalSec": "1s"})
    server.start()
    port = server.listen.rsplit(":", 1)[1]
    crowd = server.machine.spawn(["python3", "-c", CROWD, port], stdout=-1, text=True)
    try:
        assert crowd.stdout.readline() == "here\n"
        assert server.get("/readyz").status == 200
        assert server.is_active() == "active"
    finally:
        crowd.kill()
        crowd.communicate()


def test_a_taken_port_is_tried_again(endpoint, units):
    server = endpoint()
    address, port = server.listen.split(":")
    stranger = units.service(f"/usr/bin/python3 -m http.server --bind {address} {port}", "Type=exec")
    server.machine.systemctl("start", stranger)
    server.machine.wait_until(lambda: server.get("/").status == 200, what="the stranger")
    server.start()
    assert "trying again" in server.machine.journal_text(server.unit)
    server.machine.systemctl("stop", stranger)
    server.machine.wait_until(lambda: server.get("/readyz").status == 200, what="the endpoint")


def test_it_is_off_unless_asked_for(coalmine, units):
    server = Supervised.fake(units)
    server.start()
    pid = server.machine.show(server.unit, "MainPID")["MainPID"]
    sockets = server.machine.run(["ss", "-tlnp"]).stdout
    assert not re.search(rf"\bpid={pid}\b", sockets), sockets
    assert json.loads(server.ctl("status", "--json", server.name).stdout)
