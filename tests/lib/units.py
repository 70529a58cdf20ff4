# SPDX-License-Identifier: MIT
"""Units and coalmine instances that belong to one test."""

import itertools


class Units:
    """Gives out names that start with STEM and removes all that was made under them."""

    def __init__(self, machine, stem):
        self.machine = machine
        self._stem = stem
        self._serial = itertools.count(1)
        self._units = []
        self._paths = []

    def name(self):
        """A new name, for an instance, a unit or a directory."""
        return f"{self._stem}-{next(self._serial)}"

    def directory(self):
        """A new empty directory inside the machine."""
        path = f"/var/tmp/{self.name()}"
        self.machine.run(["mkdir", "-p", path])
        self._paths.append(path)
        return path

    def service(self, command, options="", unit_options=""):
        """A service that runs COMMAND (ExecStart=), with more lines for its sections; not started.

        Its name is returned. systemd would never start it by itself again: Restart= is not set.
        """
        unit = self.name() + ".service"
        path = f"/run/systemd/system/{unit}"
        self.machine.write(
            path, f"[Unit]\n{unit_options}\n[Service]\nExecStart={command}\n{options}\n"
        )
        self._remember(unit, path)
        self.machine.systemctl("daemon-reload")
        return unit

    def instance(self, config, ending=""):
        """An instance of coalmine with CONFIG as its file in /etc/coalmine; not started.

        Its name, which ends in ENDING, is returned; its unit is coalmine@NAME.service.
        """
        name = self.name() + ending
        path = f"/etc/coalmine/{name}.conf"
        self.machine.write(path, config)
        self._remember(f"coalmine@{name}.service", path)
        return name

    def _remember(self, unit, path):
        stem = unit.removesuffix(".service").removeprefix("coalmine@")
        self._units.append(unit)
        self._paths += [path, f"/run/coalmine/{stem}", f"/var/lib/coalmine/{stem}"]

    def remove(self):
        """Stop and remove everything; a unit that cannot be stopped is killed."""
        for unit in self._units:
            self.machine.systemctl("stop", "--no-block", unit, check=False)
        for unit in self._units:
            self._await_end(unit)
        if self._paths:
            self.machine.remove(*self._paths)
        self.machine.systemctl("daemon-reload")

    def _await_end(self, unit):
        ended = ("inactive", "failed", "unknown")
        try:
            self.machine.wait_state(unit, *ended, timeout=15)
        except TimeoutError:
            self.machine.systemctl("kill", "--signal=SIGKILL", unit, check=False)
            self.machine.wait_state(unit, *ended, timeout=15)
        self.machine.systemctl("reset-failed", unit, check=False)
