"""A throw-away machine: systemd as PID 1, journald and D-Bus of its own, loopback as its only network.

    with Machine("forky") as machine:
        machine.write("/run/systemd/system/x.service", "[Service]\\nExecStart=/bin/true\\nType=oneshot\\n")
        machine.systemctl("start", "x")
        print(machine.journal("x"))

What it writes is gone with it. It ends with its creator, even when that is killed.
"""

import itertools
import json
import re
import shlex
import subprocess
import tempfile
import uuid
from pathlib import Path

from lib import nspawn, shell, trees

SERVERS = Path(__file__).parents[1] / "servers"
SERVERS_INSIDE = "/opt/coalmine-test/servers"
FORKY_INSIDE = "/opt/forky"
GGML = "/usr/lib/x86_64-linux-gnu/ggml"
CUDA = Path("/usr/local/cuda")

ENVIRONMENT = ["env", "-i", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb",
               "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]

# The host's own units, mounts and logs are none of the machine's business.
OWN = ["--tmpfs=/etc/systemd/system", "--tmpfs=/var/log/journal", "--bind-ro=/dev/null:/etc/fstab",
       f"--bind-ro={SERVERS}:{SERVERS_INSIDE}"]
BOOT = ["--boot", "systemd.unit=multi-user.target", "systemd.mask=getty.target",
        "systemd.mask=console-getty.service"]

# bookworm has no llama.cpp: forky's server runs there with forky's own loader and libraries.
LLAMA_WRAPPER = f"""#!/bin/sh
lib={FORKY_INSIDE}/usr/lib/x86_64-linux-gnu
exec {FORKY_INSIDE}/usr/lib64/ld-linux-x86-64.so.2 --argv0 llama-server --library-path "$lib:$lib/llama" \\
    {FORKY_INSIDE}/usr/bin/llama-server "$@"
"""


class Machine:
    """One booted machine of a RELEASE named in trees.RELEASES."""

    def __init__(self, release, arguments=()):
        self.release = release
        self.installed = None
        self._arguments = list(arguments)
        self._container = None
        self._init = None
        self._join = []
        self._console = None
        self._ports = itertools.count(20000)
        self._journal = _Journal(self)

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
        arguments = ["--console=pipe", f"--uuid={uuid.uuid4().hex}", f"--machine=canary-{self.release}",
                     *OWN, *_llama_binds(self.release), *_cuda_binds(self.release), *self._arguments, *BOOT]
        self._console = tempfile.TemporaryFile()
        self._container = nspawn.Container(trees.root_of(self.release), arguments, stdin=subprocess.DEVNULL,
                                           stdout=self._console, stderr=subprocess.STDOUT)
        try:
            self._init = self.wait_until(self._find_init, timeout, what="systemd-nspawn to start")
            self._join = self._container.joining_command("tests")
            self.wait_until(self._is_booted, timeout, what=f"{self.release} to boot")
        except TimeoutError as late:
            console = self.console()
            self.shutdown()
            raise TimeoutError(f"{late}\n{console}") from None
        if self.release != "forky":
            self.write("/usr/local/bin/llama-server", LLAMA_WRAPPER, mode=0o755)

    def _find_init(self):
        if self._container.process.poll() is not None:
            raise TimeoutError("systemd-nspawn ended at once")
        return self._container.init_pid()

    def _is_booted(self):
        if self._container.process.poll() is not None:
            raise TimeoutError("systemd-nspawn ended while booting")
        return self.run("systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def shutdown(self):
        """Power it off and remove all that is left of it. Harmless when it is off."""
        if self._container:
            self._container.close()
            self._container = None
        if self._console:
            self._console.close()
            self._console = None

    def console(self):
        """What systemd-nspawn and the machine's init have printed so far."""
        self._console.seek(0)
        return self._console.read().decode(errors="replace")

    # Commands

    def argv(self, command, user=None):
        """COMMAND (a shell line, or a list of arguments) as the host must run it to run it inside."""
        inner = ["/bin/sh", "-c", command] if isinstance(command, str) else [str(word) for word in command]
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        return [*self._join, "nsenter", "--target", str(self._init), "--all", *ENVIRONMENT, *become, *inner]

    def run(self, command, check=True, timeout=60, stdin="", user=None):
        """Run COMMAND inside, to its end; see shell.run() for the result."""
        limited = ["timeout", "--kill-after=2", str(timeout)]
        inner = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        return shell.run(self.argv(limited + inner, user), check=check, timeout=timeout + 5, stdin=stdin)

    def spawn(self, command, user=None, **popen):
        """Start COMMAND inside and return its Popen; who starts it ends it."""
        return subprocess.Popen(self.argv(command, user), **popen)

    def python(self, script, *arguments, **options):
        """Run a Python script (text) inside."""
        return self.run(["python3", "-", *arguments], stdin=script, **options)

    # Files

    def write(self, path, content, mode=0o644):
        """Write CONTENT (text or bytes) to PATH; directories in between are made."""
        self.run(f'mkdir -p "$(dirname {shlex.quote(path)})" && cat >{shlex.quote(path)} && '
                 f"chmod {mode:o} {shlex.quote(path)}", stdin=content)

    def read(self, path):
        return self.run(["cat", path]).stdout

    def exists(self, path):
        return self.run(["test", "-e", path], check=False).returncode == 0

    def remove(self, *paths):
        self.run(["rm", "-rf", "--", *paths])

    def install(self, stage):
        """Unpack the tree STAGE (made by `make install DESTDIR=STAGE`) over the machine's root."""
        pack = subprocess.Popen(["tar", "-C", str(stage), "-c", "--owner=0", "--group=0", "."],
                                stdout=subprocess.PIPE)
        unpack = self.argv(["tar", "-C", "/", "-x", "--keep-directory-symlink", "--no-overwrite-dir"])
        subprocess.run(unpack, stdin=pack.stdout, check=True, timeout=60)
        pack.stdout.close()
        if pack.wait() != 0:
            raise shell.CommandError(f"cannot pack {stage}")
        self.installed = stage
        self.systemctl("daemon-reload")
        self.run("systemctl reload dbus")

    # systemd

    def systemctl(self, *arguments, check=True, timeout=60):
        return self.run(["systemctl", *arguments], check=check, timeout=timeout)

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
        found = self.run(f"find /sys/fs/cgroup{cgroup} -name cgroup.procs -exec cat '{{}}' +", check=False)
        return [int(pid) for pid in found.stdout.split()]

    def pids_of(self, pattern):
        """The PIDs of processes whose command line matches the regular expression PATTERN."""
        found = self.run(["ps", "-e", "-ww", "-o", "pid=,args="]).stdout.splitlines()
        rows = [line.split(None, 1) for line in found if re.search(pattern, line)]
        return [int(row[0]) for row in rows]

    # Journal

    def journal(self, unit=None, since=None, **fields):
        """The journal's records as dicts, oldest first: of UNIT, after the cursor SINCE, with FIELDS=values."""
        return self._journal.records(unit, since, fields)

    def journal_text(self, unit=None, since=None, **fields):
        """The same records' messages, one a line."""
        return "\n".join(record["MESSAGE"] for record in self.journal(unit, since, **fields))

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
        """One HTTP request from inside; BODY is sent as JSON. See Reply."""
        request = {"method": method, "url": url, "body": body, "timeout": timeout, "headers": dict(headers)}
        return Reply(**json.loads(self.python(_HTTP, json.dumps(request), timeout=timeout + 10).stdout))


class Reply:
    """status is None when no whole answer came; error then says why."""

    def __init__(self, status, body, seconds, error):
        self.status = status
        self.body = body
        self.seconds = seconds
        self.error = error

    def __repr__(self):
        return f"<{self.status} {self.error or self.body[:200]!r} in {self.seconds:.3f} s>"

    def json(self):
        return json.loads(self.body)

    def events(self):
        """The JSON values of a streamed answer's data lines; [DONE] stands as it is."""
        data = [line[6:] for line in self.body.splitlines() if line.startswith("data: ")]
        return [item if item == "[DONE]" else json.loads(item) for item in data]


_HTTP = """
import json, sys, time, urllib.error, urllib.request
ask = json.loads(sys.argv[1])
data = None if ask["body"] is None else json.dumps(ask["body"]).encode()
headers = {"Content-Type": "application/json", **ask["headers"]}
request = urllib.request.Request(ask["url"], data, headers, method=ask["method"])
start = time.monotonic()
status = error = None
body = b""
try:
    with urllib.request.urlopen(request, timeout=ask["timeout"]) as answer:
        body, status = answer.read(), answer.status
except urllib.error.HTTPError as refusal:
    body, status = refusal.read(), refusal.code
except Exception as failure:
    error = f"{type(failure).__name__}: {failure}"
print(json.dumps({"status": status, "body": body.decode(errors="replace"), "error": error,
                  "seconds": time.monotonic() - start}))
"""


class _Journal:
    """Reads a machine's journal through journalctl's JSON."""

    def __init__(self, machine):
        self._machine = machine

    def records(self, unit, since, fields):
        command = ["journalctl", "--no-pager", "--all", "--output=json"]
        command += [f"--unit={unit}"] if unit else []
        command += [f"--after-cursor={since}"] if since else []
        command += [f"{name}={value}" for name, value in fields.items()]
        lines = self._machine.run(command).stdout.splitlines()
        return [self._record(line) for line in lines if line.startswith("{")]

    @staticmethod
    def _record(line):
        """One record; journalctl writes a field that is no UTF-8 as a list of its bytes."""
        record = json.loads(line)
        for name, value in record.items():
            if isinstance(value, list) and all(isinstance(byte, int) for byte in value):
                record[name] = bytes(value).decode(errors="replace")
        record.setdefault("MESSAGE", "")
        return record

    def cursor(self):
        self._machine.run(["journalctl", "--sync"])
        out = self._machine.run("journalctl --no-pager --lines=0 --show-cursor").stdout
        return out.split("-- cursor:", 1)[1].strip()


def _llama_binds(release):
    if release == "forky":
        return []
    forky = trees.root_of("forky")
    return [f"--bind-ro={forky}:{FORKY_INSIDE}", f"--bind-ro={forky}{GGML}:{GGML}"]


def has_nvcc(release):
    """Whether a machine of RELEASE has an nvcc that can build: its compiler must not be newer than nvcc knows."""
    return release == "bookworm" and (CUDA / "bin/nvcc").exists()


def _cuda_binds(release):
    if not has_nvcc(release) or trees.root_of(release) == Path("/"):
        return []
    return [f"--bind-ro={CUDA.resolve()}:{CUDA}"]
