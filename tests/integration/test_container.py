# SPDX-License-Identifier: MIT
"""Without systemd: as the first process of a container, and as a plain process."""

import pytest

from lib.container import Container
from lib.supervised import EXIT_BUDGET, EXIT_STOPPED, EXIT_UNMENDABLE

STEPS = ["none", "cgroup", "read-only"]
# Ignores nothing, says what it gets, and never serves.
TRAPPING = "/bin/bash {script} {{port}}"
TRAPS = """
for name in QUIT USR1 USR2; do trap "echo got $name >>$0.signals" $name; done
trap "exit 0" TERM
while :; do sleep 0.05; done
"""


@pytest.fixture
def container(coalmine, units):
    """container(*options, **more) runs coalmined around the fake server."""
    made = []

    def make(*options, **more):
        made.append(Container.fake(units, *options, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def trapping(coalmine, units):
    """coalmined around a script that writes down the signals that it gets, and that file's name."""
    made = []

    def make(**more):
        script = f"{units.directory()}/traps"
        coalmine.write(script, TRAPS)
        made.append(Container(units, TRAPPING.format(script=script), **more))
        return made[-1], script + ".signals"

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("cgroups", STEPS)
def test_it_serves_and_stops(container, cgroups):
    made = container("--fork-workers", 3, "--detach-workers", cgroups=cgroups)
    made.wait_phase("ready")
    assert made.get("/readyz").status == 200
    assert len(made.server_pids()) == 4
    made.signal("TERM")
    code, output = made.wait()
    assert code == EXIT_STOPPED
    assert "Uvicorn running" in output and "proving -> ready" in output
    assert made.server_pids() == []
    assert made.read_message() == ""
    assert ("No cgroup of our own" in output) == (cgroups != "cgroup")


@pytest.mark.parametrize("cgroups", STEPS)
def test_orphans_are_ended_and_reaped(container, cgroups):
    made = container("--fork-workers", 3, "--detach-workers", "--ignore-sigterm", cgroups=cgroups,
                     settings={"Server.StopSec": "500ms"})
    made.wait_phase("ready")
    before = made.server_pids()
    made.machine.run(["kill", "-KILL", str(before[0])])
    made.machine.wait_until(lambda: (made.status() or {}).get("epoch") == 2, what="a second epoch")
    made.wait_phase("ready")
    assert not set(before) & set(made.server_pids())
    assert made.zombies() == []
    made.signal("TERM")
    assert made.wait()[0] == EXIT_STOPPED


def test_stray_orphans_are_reaped(container, units):
    made = container(cgroups="cgroup")
    made.wait_phase("ready")
    inside = ["nsenter", f"--target={made.pid()}", "--pid", "--mount"]
    made.machine.run([*inside, "sh", "-c", "for i in 1 2 3; do (sleep 0.1 & exec sleep 0.05) & done"])
    made.machine.run(["sleep", "0.5"])
    assert made.zombies() == []


def test_failure_is_told_as_an_orchestrator_wants_it(container):
    made = container("--crash-after", 1, "--crash-log", "ValueError: no such rope", "--exit-code", 3,
                     settings={"Restart.Budget": 0})
    code, output = made.wait()
    assert code in (EXIT_BUDGET, EXIT_UNMENDABLE)
    assert "no such rope" in output
    message = made.read_message()
    assert message.splitlines()[0].startswith(made.name)
    assert "Decision: " in message and len(message) <= 4096
    assert made.status()["exit_code"] == code


def test_message_is_emptied_when_a_restart_has_helped(container, units):
    directory = units.directory()
    units.machine.write(f"{directory}/lives.json", '[["--crash-after", "1"], []]')
    made = container("--state", f"{directory}/starts", "--lives", f"{directory}/lives.json",
                     settings={"Restart.BackoffSec": "4s"})
    made.wait_phase("cooling")
    assert made.read_message() != ""
    assert made.get("/readyz").status == 503 and made.get("/livez").status == 200
    made.wait_phase("ready")
    assert made.read_message() == ""


def test_bad_configuration_is_said_and_coded(container):
    made = container(settings={"Start.Nonsense": "1"})
    code, output = made.wait()
    assert code == 78
    assert "Nonsense" in output


@pytest.mark.parametrize("init", [True, False], ids=["init", "plain"])
def test_servers_signals_are_passed_on(trapping, init):
    made, path = trapping(init=init)
    made.wait_phase("loading")
    for name in ("QUIT", "USR1", "USR2"):
        made.machine.wait_until(lambda: made.machine.pids_of(r"^/bin/bash .*traps"), what="the script")
        made.signal(name)
        made.machine.wait_until(
            lambda: made.machine.exists(path) and f"got {name}\n" in made.machine.read(path), what=f"SIG{name}"
        )
    assert made.status()["phase"] == "loading"
    made.signal("TERM")
    assert made.wait()[0] == EXIT_STOPPED


def test_a_signal_before_all_is_set_up_is_not_lost(container):
    for _ in range(5):
        made = container("--load-sec", 60)
        made.machine.python(EARLY_TERM, made.name)
        assert made.wait(timeout=20)[0] == EXIT_STOPPED


# Waits for coalmined's very first step, blocking SIGTERM, and sends it one.
EARLY_TERM = r"""
import glob, os, re, signal, sys, time
deadline = time.monotonic() + 10
while time.monotonic() < deadline:
    for path in glob.glob("/proc/[0-9]*"):
        try:
            words = open(path + "/cmdline").read().split("\0")
            status = open(path + "/status").read()
        except OSError:
            continue
        if words[0] != "/usr/bin/coalmined" or words[1] != "--instance=" + sys.argv[1]:
            continue
        blocked = int(re.search(r"^SigBlk:\s*(\S+)", status, re.M)[1], 16)
        if blocked >> (signal.SIGTERM - 1) & 1:
            os.kill(int(path[6:]), signal.SIGTERM)
            sys.exit()
sys.exit("no coalmined blocked SIGTERM")
"""


def test_a_plain_process_takes_its_server_along(container):
    made = container("--fork-workers", 2, "--detach-workers", init=False)
    made.wait_phase("ready")
    made.signal("INT")
    assert made.wait()[0] == EXIT_STOPPED
    assert made.server_pids() == []
