# SPDX-License-Identifier: MIT
"""WATCHDOG=1 comes from the loop: a coalmined that hangs is replaced, and its server with it."""

import time

import pytest

from lib.supervised import Supervised

WATCHDOG_SEC = 3
# EXTEND_TIMEOUT_USEC=, which goes out while a server is starting, extends the watchdog's time, too.
EXTENDED_SEC = 30


@pytest.fixture
def server(coalmine, units):
    """An instance whose coalmined may be silent for no more than WATCHDOG_SEC."""
    made = Supervised.fake(units, "--fork-workers", 2, "--detach-workers")
    drop_in = f"/run/systemd/system/{made.unit}.d/watchdog.conf"
    coalmine.write(drop_in, f"[Service]\nWatchdogSec={WATCHDOG_SEC}s\n")
    coalmine.systemctl("daemon-reload")
    yield made
    coalmine.remove(drop_in)


def main_pid(server):
    return server.machine.show(server.unit, "MainPID")["MainPID"]


def test_an_idle_supervisor_is_left_alone(server):
    server.start()
    supervisor = main_pid(server)
    time.sleep(3 * WATCHDOG_SEC)
    assert server.is_active() == "active"
    assert main_pid(server) == supervisor


@pytest.mark.parametrize("phase", ["loading", "ready"])
def test_a_stopped_supervisor_is_replaced(server, phase):
    if phase == "loading":
        server.reconfigure({"Server.Command": server.settings["Server.Command"] + " --load-sec 4"})
    server.start(wait=False)
    server.wait_phase(phase)
    before, supervisor = server.server_pids(), main_pid(server)
    stopped = time.monotonic()
    server.machine.run(["kill", "-STOP", supervisor])
    server.machine.wait_until(
        lambda: main_pid(server) not in (supervisor, "0"), timeout=60, what="another coalmined"
    )
    allowed = WATCHDOG_SEC + (EXTENDED_SEC if phase == "loading" else 0)
    assert time.monotonic() - stopped < allowed + 10
    assert not set(before) & set(server.server_pids())
    server.wait_state("active", timeout=60)
    server.wait_phase("ready")
    assert server.machine.show(server.unit, "NRestarts")["NRestarts"] == "1"
    assert "atchdog timeout" in server.machine.journal_text(server.unit)
    assert server.report()["class"] == "supervisor_died"
