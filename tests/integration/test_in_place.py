# SPDX-License-Identifier: MIT
"""Restarts in place on a real systemd: the unit is `reloading` from the failure to the new proof, for however
long that takes, and what systemd is told meanwhile."""

import json
import time

import pytest

from lib.fake import SERVER
from lib.supervised import EXIT_BUDGET, READY_ID, Supervised

EXIT_RESTART = 75


@pytest.fixture
def instance(coalmine, units):
    """instance(*options, **more): an instance of the fake server."""
    return lambda *options, **more: Supervised.fake(units, *options, **more)


@pytest.fixture
def lives(units):
    """lives([...], [...]): options for the fake server that takes another list at each start."""

    def options(*lists):
        directory = units.directory()
        text = json.dumps([[str(word) for word in life] for life in lists])
        units.machine.write(f"{directory}/lives.json", text)
        return ["--state", f"{directory}/starts", "--lives", f"{directory}/lives.json"]

    return options


@pytest.fixture
def drop_in(coalmine):
    """drop_in(server, text): lines for the [Service] of the instance's unit."""
    made = []

    def write(server, text):
        directory = f"/run/systemd/system/{server.unit}.d"
        made.append(directory)
        coalmine.write(f"{directory}/test.conf", f"[Service]\n{text}\n")
        coalmine.systemctl("daemon-reload")

    yield write
    coalmine.remove(*made)
    coalmine.systemctl("daemon-reload")


def kill_server(server, signal="KILL"):
    server.machine.run(["kill", f"-{signal}", str(server.status()["server_pid"])])


def states_until_ready(server, epoch, timeout=60):
    """What systemd shows from now until the proof of EPOCH, and just before it."""
    seen = []

    def ready():
        before = server.is_active()
        status = server.status()
        if status["epoch"] == epoch and status["phase"] == "ready":
            return True
        seen.append(before)
        return False

    server.machine.wait_until(ready, timeout, what=f"epoch {epoch} to be ready")
    return seen


# What systemd shows


def test_long_replacement_is_reloading_all_the_time(instance, lives, drop_in):
    """Longer than TimeoutStartSec=, in the backoff and in the load alike."""
    server = instance(*lives([], ["--load-sec", 12]), settings={"Restart.BackoffSec": "12s"})
    drop_in(server, "TimeoutStartSec=4s")
    server.start()
    kill_server(server)
    server.wait_state("reloading")
    seen = states_until_ready(server, epoch=2)
    assert set(seen) == {"reloading"} and len(seen) > 20
    server.wait_state("active", timeout=2)
    shown = server.machine.show(server.unit, "NRestarts", "Result", "ReloadResult")
    assert shown == {"NRestarts": "0", "Result": "success", "ReloadResult": "success"}


def test_long_start_outlives_its_time_out(instance, drop_in):
    server = instance("--load-sec", 12)
    drop_in(server, "TimeoutStartSec=4s")
    server.start()
    assert server.is_active() == "active"


def test_status_says_why_which_and_when(instance):
    server = instance(settings={"Restart.BackoffSec": "60s"})
    server.start()
    kill_server(server)
    server.wait_phase("cooling")
    server.machine.wait_until(lambda: server.status_text().startswith("next start in "), what="STATUS=")
    text = server.status_text()
    assert "(restart 1 of 5)" in text and "; last failure: " in text and "SIGKILL" in text
    assert server.status()["next_start"] > server.status()["phase_since"]


def test_ready_comes_after_the_new_proof(instance, lives):
    server = instance(*lives([], ["--token-sec", 0.1]), settings={"Restart.BackoffSec": "100ms"})
    server.start()
    kill_server(server)
    server.wait_phase("proving")
    assert server.is_active() == "reloading" and len(server.records(READY_ID)) == 1
    assert "attempt 2" in server.status_text()
    server.wait_state("active")
    assert len(server.records(READY_ID)) == 2


def test_server_that_hangs_is_replaced(instance):
    """It keeps its port and its processes, and does not answer."""
    settings = {
        "Live.IntervalSec": "1s",
        "Live.TimeoutSec": "1s",
        "Live.Fall": 2,
        "Server.StopSec": "1s",
        "Restart.BackoffSec": "100ms",
    }
    server = instance(settings=settings)
    server.start()
    pid = server.status()["server_pid"]
    kill_server(server, "STOP")
    server.wait_state("reloading")
    assert server.status()["phase"] in ("degraded", "stopping", "cooling")
    server.wait_state("active")
    assert server.status()["server_pid"] not in (pid, 0)
    assert server.report()["class"] == "engine_hang"


def test_systemctl_reload_waits_for_the_replacement(instance):
    server = instance(settings={"Restart.BackoffSec": "4s"})
    server.start()
    kill_server(server)
    server.wait_state("reloading")
    server.machine.systemctl("reload", server.unit)
    assert server.is_active() == "active" and server.status()["epoch"] == 2


# What counts as a failure


def test_exit_0_of_a_serving_server_is_a_failure(instance, lives):
    options = lives(["--crash-after", 2, "--exit-code", 0], [])
    server = instance(*options, settings={"Start.Suite": "greedy", "Restart.BackoffSec": "100ms"})
    server.start()
    server.ctl("run-canary", server.name, check=False)
    assert set(states_until_ready(server, epoch=2)) <= {"active", "reloading"}
    assert len(server.reports()) == 1
    assert server.report()["ending"]["exit_code"] == 0


def test_exit_0_of_a_starting_server_is_a_failure(instance):
    server = instance("--crash-after", 0, "--exit-code", 0, settings={"Restart.Budget": 0})
    server.start(check=False)
    assert server.is_active() == "failed"
    assert server.exit_code() == EXIT_BUDGET
    assert len(server.reports()) == 1


# Restart.Mode=exit


def test_restart_can_be_left_to_systemd(instance, lives):
    server = instance(*lives(["--crash-after", 2], []), settings={"Start.Suite": "greedy", "Restart.Mode": "exit"})
    server.start()
    server.ctl("run-canary", server.name, check=False)
    server.machine.wait_until(
        lambda: server.machine.show(server.unit, "NRestarts")["NRestarts"] == "1", what="systemd to restart it"
    )
    server.wait_state("active")
    assert len(server.reports()) == 1
    exits = [record.get("EXIT_STATUS") for record in server.machine.journal(UNIT=server.unit)]
    assert str(EXIT_RESTART) in exits


# What systemd is told, word by word

LISTENER = """
import json, os, socket, subprocess, sys, time
path, command = sys.argv[1], sys.argv[2:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(path)
coalmined = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": path})
listener.settimeout(0.2)
while coalmined.poll() is None:
    try:
        text = listener.recv(65536).decode()
    except TimeoutError:
        continue
    words = dict(line.split("=", 1) for line in text.splitlines())
    print(json.dumps([time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, words]), flush=True)
"""


@pytest.fixture
def told(coalmine, units):
    """A coalmined whose service manager is us, and what it has said so far."""
    made = []

    class Told:
        def __init__(self, *settings):
            self.name, self.directory, port = units.name(), units.directory(), coalmine.free_port()
            self.log = f"{self.directory}/told"
            coalmine.write(f"{self.directory}/listener.py", LISTENER)
            words = [f"--set={setting}" for setting in (*settings, "Start.Preflight=no")]
            command = ["/usr/bin/coalmined", f"--instance={self.name}", f"--url=http://127.0.0.1:{port}", *words]
            command += ["--", *SERVER.split(), "--port", str(port)]
            listen = ["python3", f"{self.directory}/listener.py", f"{self.directory}/socket", *command]
            self.process = coalmine.spawn(["sh", "-c", 'exec "$@" >' + self.log, "sh", *listen])
            made.append(self)

        def messages(self):
            text = coalmine.read(self.log) if coalmine.exists(self.log) else ""
            return [json.loads(line) for line in text.splitlines()]

        def with_word(self, word):
            return [message for message in self.messages() if word in message[1]]

        def wait(self, word, n=1):
            coalmine.wait_until(lambda: len(self.with_word(word)) >= n, what=f"{word}=, {n} times")
            return self.with_word(word)[n - 1]

        def status(self):
            return json.loads(coalmine.read(f"/run/coalmine/{self.name}/status.json"))

        def supervisor(self):
            pattern = rf"^/usr/bin/coalmined --instance={self.name} "
            return coalmine.wait_until(lambda: coalmine.pids_of(pattern), what="coalmined to run")[0]

    yield Told
    for one in made:
        coalmine.run(["kill", "-TERM", str(one.supervisor())], check=False)
        one.process.wait(timeout=30)
        coalmine.remove(f"/run/coalmine/{one.name}", f"/var/lib/coalmine/{one.name}")


def test_reloading_is_told_with_its_moment(told, coalmine):
    unit = told("Restart.BackoffSec=12s", "Restart.StableSec=1s")
    unit.wait("READY")
    coalmine.run(["kill", "-KILL", str(unit.status()["server_pid"])])
    at, words = unit.wait("RELOADING")
    assert words["RELOADING"] == "1" and 0 <= at - int(words["MONOTONIC_USEC"]) < 2_000_000
    assert int(words["EXTEND_TIMEOUT_USEC"]) >= 10_000_000
    ready_at, ready = unit.wait("READY", 2)
    assert "EXTEND_TIMEOUT_USEC" not in ready
    # Repeated, for a systemd that was busy with a reload of its own; but never after the proof.
    assert all(at <= moment < ready_at for moment, _ in unit.with_word("RELOADING"))
    # Each extension reaches beyond the next one.
    extensions = [message for message in unit.with_word("EXTEND_TIMEOUT_USEC") if at <= message[0] <= ready_at]
    moments = [moment for moment, _ in extensions] + [ready_at]
    assert len(extensions) > 2
    for (moment, extension), following in zip(extensions, moments[1:]):
        assert moment + int(extension["EXTEND_TIMEOUT_USEC"]) > following


def test_restart_counter_is_reset_once_it_is_stable(told, coalmine):
    unit = told("Restart.StableSec=3s")
    ready_at, _ = unit.wait("READY")
    at, words = unit.wait("RESTART_RESET")
    assert words["RESTART_RESET"] == "1" and at - ready_at >= 2_900_000
    time.sleep(1)
    assert len(unit.with_word("RESTART_RESET")) == 1


def test_restart_counter_of_systemd(instance):
    server = instance(settings={"Restart.StableSec": "2s"})
    server.start()
    supervisor = server.machine.show(server.unit, "MainPID")["MainPID"]
    server.machine.run(["kill", "-KILL", supervisor])
    server.machine.wait_until(
        lambda: server.machine.show(server.unit, "MainPID")["MainPID"] not in (supervisor, "0"), what="another one"
    )
    server.wait_state("active")
    assert server.machine.show(server.unit, "NRestarts")["NRestarts"] == "1"
    time.sleep(3)
    # 254 and later forget the restarts that led to a stable state.
    expected = "1" if server.machine.release == "bookworm" else "0"
    assert server.machine.show(server.unit, "NRestarts")["NRestarts"] == expected


# --instance, --config


def test_instance_is_called_like_its_file(coalmine, units):
    name, port, directory = units.name(), coalmine.free_port(), units.directory()
    config = f"[Server]\nCommand={SERVER} --port {port}\nURL=http://127.0.0.1:{port}\n[Start]\nPreflight=no\n"
    coalmine.write(f"{directory}/{name}.conf", config)
    process = coalmine.spawn(["/usr/bin/coalmined", f"--config={directory}/{name}.conf"])
    try:
        coalmine.wait_until(lambda: coalmine.exists(f"/run/coalmine/{name}/status.json"), what="its status")
        assert coalmine.run(["coalminectl", "wait", name, "--timeout=20s"]).returncode == 0
    finally:
        coalmine.run(["kill", *coalmine.pids_of(rf"^/usr/bin/coalmined --config={directory}")], check=False)
        process.wait(timeout=30)
        coalmine.remove(f"/run/coalmine/{name}", f"/var/lib/coalmine/{name}")
