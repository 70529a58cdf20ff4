# SPDX-License-Identifier: MIT
"""A lingering user of a machine with a service manager of their own, and their instances of coalmine."""

import json
import shlex

from lib.supervised import Supervised


class Session:
    """The user NAME, made if need be."""

    def __init__(self, machine, name="miner"):
        self.machine = machine
        self.name = name
        self.home = f"/home/{name}"
        machine.run(f"id {name} || useradd --create-home {name}")
        machine.run(f"loginctl enable-linger {name}")
        self.uid = int(machine.run(f"id -u {name}").stdout)
        self.runtime = f"/run/user/{self.uid}"
        machine.wait_until(lambda: machine.exists(f"{self.runtime}/bus"), what="the user's bus")

    def run(self, command, **options):
        """COMMAND, a list of arguments, as the user."""
        environment = [f"HOME={self.home}", f"XDG_RUNTIME_DIR={self.runtime}"]
        return self.machine.run(["env", *environment, *command], user=self.name, **options)

    def systemctl(self, *arguments, **options):
        return self.run(["systemctl", "--user", *arguments], **options)

    def write(self, path, content):
        self.run(["sh", "-c", f'mkdir -p "$(dirname {shlex.quote(path)})" && cat >{shlex.quote(path)}'], stdin=content)

    def instance(self, units, *options, **more):
        return UsersInstance.fake(SessionUnits(self, units), *options, **more)


class SessionUnits:
    """What Supervised needs of Units, for a user's instances."""

    def __init__(self, session, units):
        self.session = session
        self.machine = session.machine
        self._units = units

    def instance(self, config, ending=""):
        name = self._units.name() + ending
        self.session.write(f"{self.session.home}/.config/coalmine/{name}.conf", config)
        return name


class UsersInstance(Supervised):
    """An instance of coalmine of the session's user; stop() it in the end."""

    def __init__(self, units, *arguments, **more):
        self.session = units.session
        super().__init__(units, *arguments, **more)

    def start(self, wait=True, check=True):
        block = [] if wait else ["--no-block"]
        return self.session.systemctl("start", *block, self.unit, check=check)

    def stop(self):
        return self.session.systemctl("stop", self.unit)

    def write_config(self, text):
        self.session.write(f"{self.session.home}/.config/coalmine/{self.name}.conf", text)

    def ctl(self, *arguments, check=True, timeout=60):
        return self.session.run(["coalminectl", *arguments], check=check, timeout=timeout)

    def is_active(self):
        return self.session.systemctl("is-active", self.unit, check=False).stdout.strip()

    def show(self, name):
        return self.session.systemctl("show", "--value", f"--property={name}", self.unit).stdout.strip()

    def status(self):
        path = f"{self.session.runtime}/coalmine/{self.name}/status.json"
        return json.loads(self.machine.read(path)) if self.machine.exists(path) else None

    def bus(self, name):
        words = ["busctl", "--user", "--json=short", "get-property", self.bus_name(), "/org/coalmine1"]
        answer = self.session.run([*words, "org.coalmine1.Supervisor", name], check=False)
        return json.loads(answer.stdout)["data"] if answer.returncode == 0 else None
