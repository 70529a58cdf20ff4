# SPDX-License-Identifier: MIT
"""A throw-away machine: systemd as PID 1, its own journald and D-Bus, no network but loopback.

    with Machine("forky") as machine:
        machine.write("/run/systemd/system/x.service", "[Service]\\nExecStart=/bin/true\\n")
        machine.systemctl("start", "x")
        print(machine.journal("x"))

What it writes is gone with it. It ends with its creator, even when that is killed.
"""

import itertools
import re
import shlex
import subprocess
import tempfile
import uuid

from lib import equipment, http, nspawn, shell, trees
from lib.journal import Journal

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = ["env", "-i", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb", f"PATH={PATH}"]

# The host's own units, mounts and logs are none of the machine's business.
OWN = ["--tmpfs=/etc/systemd/system", "--tmpfs=/var/log/journal", "--bind-ro=/dev/null:/etc/fstab"]
BOOT = ["--boot", "systemd.unit=multi-user.target"]
BOOT += ["systemd.mask=getty.target", "systemd.mask=console-getty.service"]


class Machine:
    """One booted machine of a RELEASE named in trees.RELEASES."""

    def __init__(self, release, arguments=()):
        self.release = release
        self.installed = None
        self._arguments = list(arguments)
        self._container = None
        self._enter = []
        self._console = None
        self._ports = itertools.count(20000)
        self._journal = Journal(self)

    def __enter__(self):
        self.boot()
        return self

    def __exit__(self, *_):
        self.shutdown()

    def __repr__(self):
        return f"<machine {self.release}>"

    # Life

    def boot(self, timeout=60):
        """Boot it, and return when its start-up jobs are done."""
        name = [f"--uuid={uuid.uuid4().hex}", f"--hostname=canary-{self.release}"]
        binds = equipment.binds(self.release)
        arguments = ["--console=pipe", *name, *OWN, *binds, *self._arguments, *BOOT]
        root = trees.root_of(self.release)
        self._console = tempfile.TemporaryFile()
        output = {"stdout": self._console, "stderr": subprocess.STDOUT}
        self._container = nspawn.Container(root, arguments, stdin=subprocess.DEVNULL, **output)
        try:
            self._await_boot(timeout)
        except BaseException:
            print(self.console())
            self.shutdown()
            raise
        equipment.furnish(self)

    def _await_boot(self, timeout):
        init = self.wait_until(self._find_init, timeout, what="systemd-nspawn to start")
        join = self._container.joining_command("tests")
        self._enter = [*join, "nsenter", f"--target={init}", "--all", *ENVIRONMENT]
        self.wait_until(self._is_booted, timeout, what=f"{self.release} to boot")

    def _find_init(self):
        self._container.check_alive()
        return self._container.init_pid()

    def _is_booted(self):
        self._container.check_alive()
        state = self.run("systemctl is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def shutdown(self):
        """Power it off and remove all that is left of it. Harmless when it is off."""
        if self._container:
            self._container.close()
            self._container = None
        if self._console:
            self._console.close()
            self._console = None

    @property
    def container(self):
        """The systemd-nspawn behind it, or None while it is off."""
        return self._container

    def console(self):
        """What systemd-nspawn and the machine's init have printed so far."""
        self._console.seek(0)
        return self._console.read().decode(errors="replace")

    # Commands

    def argv(self, command, user=None):
        """COMMAND (a shell line, or a list of arguments) as the host runs it to run it inside."""
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        return [*self._enter, *become, *_words(command)]

    def run(self, command, check=True, timeout=60, stdin="", user=None):
        """Run COMMAND inside, to its end; see shell.run() for the result."""
        limited = ["timeout", "--kill-after=2", str(timeout), *_words(command)]
        return shell.run(self.argv(limited, user), check, timeout + 5, stdin)

    def spawn(self, command, user=None, **popen):
        """Start COMMAND inside and return its Popen; who starts it ends it."""
        return subprocess.Popen(self.argv(command, user), **popen)

    def python(self, script, *arguments, **options):
        """Run a Python script (text) inside."""
        return self.run(["python3", "-", *arguments], stdin=script, **options)

    # Files

    def write(self, path, content, mode=0o644):
        """Write CONTENT (text or bytes) to PATH; directories in between are made."""
        where = shlex.quote(str(path))
        make = f'mkdir -p "$(dirname {where})" && cat >{where} && chmod {mode:o} {where}'
        self.run(make, stdin=content)

    def read(self, path):
        return self.run(["cat", path]).stdout

    def exists(self, path):
        return self.run(["test", "-e", path], check=False).returncode == 0

    def remove(self, *paths):
        self.run(["rm", "-rf", "--", *paths])

    def install(self, stage):
        """Unpack the tree STAGE (made by `make install DESTDIR=STAGE`) over the machine's root."""
        pack = ["tar", "-C", str(stage), "-c", "--owner=0", "--group=0", "."]
        unpack = ["tar", "-C", "/", "-x", "--keep-directory-symlink", "--no-overwrite-dir"]
        with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
            subprocess.run(self.argv(unpack), stdin=packing.stdout, check=True, timeout=60)
        if packing.returncode != 0:
            raise shell.CommandError(f"cannot pack {stage}")
        self.installed = stage
        self.systemctl("daemon-reload")
        self.systemctl("reload", "dbus")

    # systemd

    def systemctl(self, *arguments, check=True, timeout=60):
        return self.run(["systemctl", *arguments], check, timeout)

    def is_active(self, unit):
        """The word that `systemctl is-active` says."""
        return self.systemctl("is-active", unit, check=False).stdout.strip()

    def show(self, unit, *properties):
        """The unit's PROPERTIES (all of them when none is named) as a dict."""
        picked = [f"--property={','.join(properties)}"] if properties else []
        lines = self.systemctl("show", *picked, unit).stdout.splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def cgroup_pids(self, unit):
        """The PIDs of every process in the unit's cgroup and those below it."""
        cgroup = self.show(unit, "ControlGroup")["ControlGroup"]
        if not cgroup:
            return []
        find = f"find /sys/fs/cgroup{cgroup} -name cgroup.procs -exec cat '{{}}' +"
        return [int(pid) for pid in self.run(find, check=False).stdout.split()]

    def pids_of(self, pattern):
        """The PIDs of processes whose command line matches the regular expression PATTERN."""
        found = self.run(["ps", "-e", "-ww", "-o", "pid=,args="]).stdout.splitlines()
        rows = [line.split(None, 1) for line in found]
        return [int(row[0]) for row in rows if re.search(pattern, row[1])]

    # Journal

    def journal(self, unit=None, since=None, **fields):
        """The journal's records as dicts; see Journal.records()."""
        return self._journal.records(unit, since, **fields)

    def journal_text(self, unit=None, since=None, **fields):
        """The same records' messages, one a line."""
        return "\n".join(record["MESSAGE"] for record in self.journal(unit, since, **fields))

    def journal_tail(self, cursor):
        """What has come since CURSOR, to be shown to a person."""
        return self._journal.text(f"--after-cursor={cursor}")

    def cursor(self):
        """Where the journal ends now, for journal(since=...)."""
        return self._journal.cursor()

    # Waiting and network

    def wait_until(self, predicate, timeout=30.0, interval=0.05, what=None):
        return shell.wait_until(predicate, timeout, interval, what)

    def wait_state(self, unit, *states, timeout=30.0):
        """Wait until `systemctl is-active UNIT` is one of STATES; the state is returned."""

        def reached():
            state = self.is_active(unit)
            return state if state in states else None

        try:
            return self.wait_until(reached, timeout, what=f"{unit} to be {' or '.join(states)}")
        except TimeoutError as late:
            status = self.systemctl("status", "--no-pager", "--full", unit, check=False)
            raise TimeoutError(f"{late}\n{status.stdout}") from None

    def free_port(self):
        """A TCP port that nothing in this machine uses."""
        return next(self._ports)

    def http(self, method, url, body=None, timeout=10, headers=()):
        """One HTTP request from inside; BODY is sent as JSON. An http.Reply comes back."""
        return http.request(self, method, url, body, timeout, headers)


def _words(command):
    if isinstance(command, str):
        return ["/bin/sh", "-c", command]
    return [str(word) for word in command]
