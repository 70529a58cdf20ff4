# SPDX-License-Identifier: MIT
"""One instance of coalmine in a machine, seen through everything that it shows to the outside."""

import json

# What is-active says when no more is to come by itself.
FINAL = ("active", "failed", "inactive")


class Instance:
    """NAME's coalmined, its server and what they leave behind."""

    def __init__(self, machine, name, unit=None):
        self.machine = machine
        self.name = name
        self.unit = unit or f"coalmine@{name}.service"

    # Control

    def start(self):
        """Begin to start it; see wait()."""
        self.machine.systemctl("start", "--no-block", self.unit)

    def stop(self, timeout=60):
        self.machine.systemctl("stop", self.unit, timeout=timeout)

    def ctl(self, verb, *options, check=True, timeout=60):
        return self.machine.run(["coalminectl", verb, self.name, *options], check, timeout)

    # systemd's view

    def state(self):
        return self.machine.is_active(self.unit)

    def wait(self, *states, timeout=30.0):
        """Wait for one of STATES (the final ones when none is named), and return it."""
        return self.machine.wait_state(self.unit, *(states or FINAL), timeout=timeout)

    def show(self, name):
        return self.machine.show(self.unit, name)[name]

    def exit_status(self):
        """coalmined's exit status as systemd has it."""
        return int(self.show("ExecMainStatus"))

    def status_text(self):
        """What coalmined has sent as STATUS=."""
        return self.show("StatusText")

    def pids(self):
        """The PIDs of all processes in the unit's cgroup."""
        return self.machine.cgroup_pids(self.unit)

    # coalmine's view

    def status(self):
        return json.loads(self.ctl("status", "--json", check=False).stdout)

    def report(self):
        """The newest report, whole."""
        return json.loads(self.ctl("report", "--json").stdout)

    def reports(self):
        """The names of all reports, oldest first."""
        listed = self.machine.run(f"ls /var/lib/coalmine/{self.name}/reports", check=False).stdout
        return [name for name in listed.split() if name != "latest.json"]

    def property(self, name):
        """A property on the system bus, as a string or a number."""
        where = [self._bus_name(), "/org/coalmine1", "org.coalmine1.Supervisor", name]
        got = self.machine.run(["busctl", "--json=short", "get-property", *where]).stdout
        return json.loads(got)["data"]

    def _bus_name(self):
        """Only for names of letters, digits and dashes, as Units gives them out."""
        return f"org.coalmine1.{self.name}"

    # The journal

    def log(self, since=None, **fields):
        """The unit's lines, coalmined's and the server's."""
        return self.machine.journal_text(self.unit, since, **fields)
