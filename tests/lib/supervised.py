# SPDX-License-Identifier: MIT
"""An instance of coalmine in a machine, with all the places that its state shows in."""

import json

from lib.fake import SERVER

FAILURE_ID = "9d6e4a7cb1f843c5a0e2d8b35f7a9c13"
READY_ID = "e2b7c1d05fa64b0e8d3f9a6b7c4e1f02"
EXIT_STOPPED, EXIT_UNMENDABLE, EXIT_BUDGET = 0, 81, 82


class Supervised:
    """Makes an instance around COMMAND, which may hold {port}; not started."""

    def __init__(self, units, command, settings=(), profile="sglang", ending=""):
        self.machine = units.machine
        self.port = self.machine.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.settings = {
            "Server.Command": command.format(port=self.port),
            "Server.Profile": profile,
            "Server.URL": self.url,
            "Start.Preflight": "no",
            "Restart.BackoffSec": "1s",
            **dict(settings),
        }
        self.name = units.instance(self._config(), ending)
        self.unit = f"coalmine@{self.name}.service"

    @classmethod
    def fake(cls, units, *options, **more):
        """The instance of a fake server with OPTIONS."""
        words = " ".join(str(option) for option in options)
        return cls(units, f"{SERVER} --port {{port}} {words}", **more)

    def _config(self):
        sections = {}
        for key, value in self.settings.items():
            section, _, name = key.rpartition(".")
            sections.setdefault(section, []).append(f"{name}={value}")
        return "\n".join(
            f"[{section}]\n" + "\n".join(lines) + "\n" for section, lines in sections.items()
        )

    def reconfigure(self, settings):
        """Write its file anew with other SETTINGS; None takes one out. Nobody is told."""
        self.settings.update(settings)
        self.settings = {key: value for key, value in self.settings.items() if value is not None}
        self.write_config(self._config())

    def write_config(self, text):
        self.machine.write(f"/etc/coalmine/{self.name}.conf", text)

    # Steering

    def start(self, wait=True, check=True):
        """systemctl start; without `wait` it returns before the unit is active."""
        block = [] if wait else ["--no-block"]
        return self.machine.systemctl("start", *block, self.unit, check=check)

    def stop(self):
        return self.machine.systemctl("stop", self.unit)

    def wait_state(self, *states, timeout=30):
        return self.machine.wait_state(self.unit, *states, timeout=timeout)

    def wait_phase(self, *phases, timeout=30):
        """Until status.json names one of PHASES."""
        return self.machine.wait_until(
            lambda: (self.status() or {}).get("phase") in phases,
            timeout,
            what=f"{self.name} to be {' or '.join(phases)}, not {(self.status() or {}).get('phase')}",
        )

    def ctl(self, *arguments, check=True, timeout=60):
        return self.machine.run(["coalminectl", *arguments], check=check, timeout=timeout)

    # Looking

    def is_active(self):
        return self.machine.is_active(self.unit)

    def status(self):
        """status.json, or None while there is none."""
        path = f"/run/coalmine/{self.name}/status.json"
        return json.loads(self.machine.read(path)) if self.machine.exists(path) else None

    def bus_name(self):
        """The name that it has on the bus."""
        letters = (chr(byte) for byte in self.name.encode())
        kept = (c if c.isascii() and (c.isalnum() or c == "-") else f"_{ord(c):02x}" for c in letters)
        return "org.coalmine1." + "".join(kept)

    def bus(self, name):
        """A property from the bus."""
        words = ["busctl", "--json=short", "get-property", self.bus_name(), "/org/coalmine1"]
        answer = self.machine.run([*words, "org.coalmine1.Supervisor", name], check=False)
        return json.loads(answer.stdout)["data"] if answer.returncode == 0 else None

    def status_text(self):
        """What STATUS= was last."""
        return self.machine.show(self.unit, "StatusText").get("StatusText", "")

    def exit_code(self):
        return int(self.machine.show(self.unit, "ExecMainStatus")["ExecMainStatus"])

    def report(self):
        """The newest report, through coalminectl."""
        return json.loads(self.ctl("report", self.name, "--json").stdout)

    def reports(self):
        """Names of all reports, newest first."""
        listed = self.ctl("report", "--list", self.name, check=False)
        return listed.stdout.split()

    def records(self, message_id):
        """The journal's records of this instance with the MESSAGE_ID."""
        return self.machine.journal(self.unit, MESSAGE_ID=message_id)

    def starts(self, state_file):
        """How many servers were started, by the fake server's own count."""
        if not self.machine.exists(state_file):
            return 0
        return len(self.machine.read(state_file).splitlines())

    def server_pids(self):
        """PIDs of the server's processes that live, wherever they are."""
        return self.machine.pids_of(rf"openai_server\.py.* {self.port}\b")
