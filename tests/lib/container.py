# SPDX-License-Identifier: MIT
"""coalmined as the first process of a PID namespace, as in a container, or as a plain process."""

import json
import subprocess

from lib.fake import SERVER

# A tree of cgroups of its own, as container engines give one; "none" leaves all as it is.
OWN = "umount /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup"
PREPARE = {
    "none": 'exec "$@"',
    "cgroup": f'{OWN} && exec "$@"',
    "read-only": f'{OWN} && mount -o remount,bind,ro /sys/fs/cgroup && exec "$@"',
}
ENTER = 'mkdir -p /sys/fs/cgroup/ct/$0 && echo $$ >/sys/fs/cgroup/ct/$0/cgroup.procs && exec "$@"'


class Container:
    """Runs coalmined around COMMAND, which may hold {port}, at once. End it with close()."""

    def __init__(self, units, command, settings=(), cgroups="none", init=True, profile="sglang"):
        self.machine = units.machine
        self.name = units.name()
        self.directory = units.directory()
        self.port = self.machine.free_port()
        self.listen = f"127.0.0.1:{self.machine.free_port()}"
        self.message = f"{self.directory}/termination-log"
        given = {
            "Server.Profile": profile,
            "Server.URL": f"http://127.0.0.1:{self.port}",
            "Start.Preflight": "no",
            "Restart.BackoffSec": "200ms",
            "Report.TerminationMessage": self.message,
            "HTTP.Listen": self.listen,
            **dict(settings),
        }
        words = ["/usr/bin/coalmined", f"--instance={self.name}"]
        words += [f"--set={key}={value}" for key, value in given.items()]
        words += ["--", *command.format(port=self.port).split(" ")]
        self.process = self.machine.spawn(
            [*self._wrapping(cgroups, init), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @classmethod
    def fake(cls, units, *options, **more):
        words = " ".join(str(option) for option in options)
        return cls(units, f"{SERVER} --port {{port}} {words}".rstrip(), **more)

    def _wrapping(self, cgroups, init):
        directories = [f"COALMINE_{kind}_DIR={self.directory}" for kind in ("RUNTIME", "STATE")]
        wrapping = ["env", *directories]
        if cgroups != "none":
            wrapping += ["sh", "-c", ENTER, self.name, "unshare", "--cgroup"]
        if init:
            wrapping += ["unshare", "--pid", "--fork", "--mount-proc", "--mount"]
            wrapping += ["sh", "-c", PREPARE[cgroups], "sh"]
        return wrapping

    # Looking

    def pid(self):
        """coalmined's PID as the machine sees it, or None."""
        found = self.machine.pids_of(rf"^/usr/bin/coalmined --instance={self.name}( |$)")
        return found[0] if found else None

    def status(self):
        path = f"{self.directory}/{self.name}/status.json"
        return json.loads(self.machine.read(path)) if self.machine.exists(path) else None

    def wait_phase(self, *phases, timeout=30):
        def reached():
            return (self.status() or {}).get("phase") in phases

        try:
            return self.machine.wait_until(reached, timeout, what=f"{self.name} to be {' or '.join(phases)}")
        except TimeoutError as late:
            raise TimeoutError(f"{late}\n{self.close()}") from None

    def get(self, path):
        return self.machine.http("GET", f"http://{self.listen}{path}")

    def server_pids(self):
        """As the machine sees them, the main process first."""
        return self.machine.pids_of(rf"^/usr/bin/python3 \S*openai_server\.py.* {self.port}\b")

    def zombies(self):
        """Processes that coalmined should have reaped."""
        rows = self.machine.run(["ps", "-e", "-o", "ppid=,stat="]).stdout.splitlines()
        mine = str(self.pid())
        return [row for row in map(str.split, rows) if row[0] == mine and row[1].startswith("Z")]

    def read_message(self):
        return self.machine.read(self.message)

    # Steering

    def signal(self, name):
        self.machine.run(["kill", f"-{name}", str(self.pid())])

    def wait(self, timeout=30):
        """(exit code, all that it has printed)."""
        try:
            output, _ = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.close()
            raise
        return self.process.returncode, output

    def close(self):
        """Kills it if need be; what it has printed is returned."""
        if self.process.stdout.closed:
            return ""
        pid = self.pid()
        if pid:
            self.machine.run(["kill", "-KILL", str(pid)], check=False)
        self.process.kill()
        return self.process.communicate()[0]
