# SPDX-License-Identifier: MIT
"""Random events against an oracle: whatever happens, no process of an old epoch lives, all surfaces say the
same, and every failed epoch has exactly one report.

COALMINE_CHAOS_EVENTS says how many events (`make soak` takes 500), COALMINE_CHAOS_SEED which.
"""

import os
import random
import time

import pytest

from lib.supervised import FAILURE_ID, Supervised

EVENTS = int(os.environ.get("COALMINE_CHAOS_EVENTS", "25"))
SEED = int(os.environ.get("COALMINE_CHAOS_SEED", "42"))
SETTLE_SEC = 60

QUICK = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=100ms\n"
SETTINGS = {
    "Restart.Budget": 1000,
    "Restart.BackoffSec": "100ms",
    "Restart.BackoffMaxSec": "200ms",
    "Report.Keep": 10000,
    "Server.StopSec": "3s",
}


class World:
    """One instance, the events that befall it, and what must be true after each."""

    def __init__(self, server):
        self.server = server
        self.machine = server.machine
        self.state = f"/var/lib/coalmine/{server.name}"
        self.reports = 0
        self.records = 0
        self.reloads = 0

    # Events: each returns how many reports and how many failure records it must lead to

    def kill_server(self):
        self._kill(self.server.status()["server_pid"])
        return 1, 1

    def kill_worker(self):
        """The main process of this engine goes on without it; nothing is to be reported."""
        main = self.server.status()["server_pid"]
        self._kill(next(pid for pid in self.server.server_pids() if pid != main))
        return 0, 0

    def kill_supervisor(self):
        main = self.machine.show(self.server.unit, "MainPID")["MainPID"]
        self._kill(main)
        self.machine.wait_until(
            lambda: self.machine.show(self.server.unit, "MainPID")["MainPID"] not in (main, "0"),
            what="another coalmined",
        )
        return 1, 1

    def restart_journald(self):
        self.machine.systemctl("restart", "systemd-journald.service")
        return 0, 0

    def restart_bus(self):
        self.machine.systemctl("restart", "dbus.service", check=False)
        return 0, 0

    def stop_and_start(self):
        self.server.stop()
        assert self.server.server_pids() == []
        self.server.start()
        return 0, 0

    def restart_unit(self):
        self.machine.systemctl("restart", self.server.unit)
        return 0, 0

    def restart_server(self):
        before = self.server.status()["server_pid"]
        self._await_bus()
        self.server.ctl("restart", self.server.name)
        self.machine.wait_until(
            lambda: self.server.status()["server_pid"] not in (before, 0), what="another server"
        )
        return 0, 0

    def reload(self):
        """In every other of them nothing usable is read, which changes nothing."""
        self.reloads += 1
        self.server.reconfigure({"Canary greedy.MaxTokens": self.reloads % 2 * 8 or "none"})
        self._await_bus()
        done = self.machine.systemctl("reload", self.server.unit, check=False)
        assert (done.returncode == 0) == (self.reloads % 2 == 1), done
        self.server.reconfigure({"Canary greedy.MaxTokens": 8})
        return 0, 0

    def die_during_a_reload(self):
        self.server.reconfigure({"Canary greedy.MaxTokens": 8})
        self.machine.systemctl("reload", "--no-block", self.server.unit)
        done = self.kill_server()
        self.machine.wait_until(
            lambda: self.server.unit not in self.machine.systemctl("list-jobs").stdout, SETTLE_SEC, what="the reload"
        )
        return done

    def die_during_a_pause(self):
        self._await_bus()
        self.server.ctl("pause", self.server.name)
        self._kill(self.server.status()["server_pid"])
        self.server.wait_phase("cooling")
        self._await_bus()
        self.server.ctl("resume", self.server.name)
        return 1, 1

    def _await_bus(self):
        self.machine.wait_until(lambda: self.server.bus("State"), what="the bus")

    def fail_on_a_full_disk(self):
        """The failure is in the journal alone."""
        self.machine.run(f"head -c 100M /dev/zero >{self.state}/ballast", check=False)
        try:
            self._kill(self.server.status()["server_pid"])
            self.machine.wait_until(
                lambda: len(self.server.records(FAILURE_ID)) > self.records, what="the record"
            )
        finally:
            self.machine.remove(f"{self.state}/ballast")
        return 0, 1

    def _kill(self, pid):
        self.machine.run(["kill", "-KILL", str(pid)])

    # The oracle

    def settle(self):
        """Until the unit is ready again and every surface has caught up with it."""
        self.server.wait_state("active", timeout=SETTLE_SEC)
        self.machine.wait_until(
            lambda: (self.server.status() or {}).get("phase") == "ready"
            and self.server.bus("State") == "active",
            SETTLE_SEC,
            what="status.json and the bus to say ready",
        )

    def check(self, event, reports, records):
        status = self.server.status()
        assert self.server.is_active() == "active", event
        assert status["state"] == "active" and self.server.bus("Phase") == "ready", event
        assert self.server.status_text().startswith("ready"), event
        assert self.server.bus("ServerPID") == status["server_pid"], event
        self._check_processes(event, status)
        self._check_reports(event, reports, records)

    def _check_processes(self, event, status):
        """All that runs is in the group of the epoch at hand, and nothing anywhere else."""
        cgroup = self.machine.show(self.server.unit, "ControlGroup")["ControlGroup"]
        group = f"/sys/fs/cgroup{cgroup}/server-{status['epoch']}/cgroup.procs"
        mine = {int(pid) for pid in self.machine.read(group).split()}
        assert status["server_pid"] in mine, event
        assert set(self.server.server_pids()) <= mine, event
        groups = self.machine.run(f"ls -d /sys/fs/cgroup{cgroup}/server-*").stdout.split()
        assert len(groups) == 1, (event, groups)

    def _check_reports(self, event, reports, records):
        self.reports += reports
        self.records += records
        self.machine.wait_until(
            lambda: len(self.server.records(FAILURE_ID)) >= self.records, 10, what="the failure's record"
        )
        assert len(self.server.records(FAILURE_ID)) == self.records, event
        assert len(self.server.reports()) == self.reports, event


@pytest.fixture
def world(fresh_coalmine, fresh_units):
    server = Supervised.fake(fresh_units, "--fork-workers", 2, "--detach-workers", settings=SETTINGS)
    made = World(server)
    fresh_coalmine.write(f"/run/systemd/system/{server.unit}.d/quick.conf", QUICK)
    fresh_coalmine.systemctl("daemon-reload")
    fresh_coalmine.run(["mkdir", "-p", made.state])
    fresh_coalmine.run(["mount", "-t", "tmpfs", "-o", "size=8M", "tmpfs", made.state])
    server.start()
    yield made
    server.machine.run(["umount", "--lazy", made.state], check=False)


def test_chaos_changes_no_truth(world):
    events = [
        world.kill_server,
        world.kill_worker,
        world.kill_supervisor,
        world.restart_journald,
        world.restart_bus,
        world.stop_and_start,
        world.restart_unit,
        world.restart_server,
        world.reload,
        world.die_during_a_reload,
        world.die_during_a_pause,
        world.fail_on_a_full_disk,
    ]
    choice = random.Random(SEED)
    world.settle()
    for number in range(EVENTS):
        event = choice.choice(events)
        reports, records = event()
        time.sleep(0.2)
        world.settle()
        world.check(f"event {number}: {event.__name__}", reports, records)
