# SPDX-License-Identifier: MIT
"""Starting systemd-nspawn so that nothing is left of it, and what it takes to do so."""

import functools
import itertools
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from lib import shell, trees

BOOT_SH = Path(__file__).with_name("boot.sh")
TOOLS = ("systemd-nspawn", "nsenter", "unshare", "setpriv")
PREFIX = "coalmine-test"

_serial = itertools.count(1)


@functools.lru_cache(maxsize=None)
def missing_rights():
    """Why no machine can be booted here, in one line, or None."""
    if os.geteuid() != 0:
        return "booting a machine takes root"
    for tool in TOOLS:
        if not shutil.which(tool):
            return f"booting a machine takes {tool}"
    if not _cgroup_base():
        return "booting a machine takes a cgroup2 hierarchy"
    probe = shell.run(
        ["unshare", "--mount", "--pid", "--net", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
        check=False,
    )
    if probe.returncode != 0:
        return "booting a machine takes the right to unshare and mount: " + probe.stderr.strip()
    return None


class Container:
    """A running systemd-nspawn. It ends with its creator, even when that is killed."""

    def __init__(self, root, arguments, **popen):
        _sweep()
        mountpoint = trees.CACHE / "mountpoint"
        mountpoint.mkdir(parents=True, exist_ok=True)
        name = f"{PREFIX}-{os.getpid()}-{next(_serial)}"
        self.cgroup = _own_cgroup() / name
        argv = ["setpriv", "--pdeathsig", "TERM", "unshare", "--mount", "sh", str(BOOT_SH)]
        argv += [str(root), str(mountpoint), str(self.cgroup), f"--machine={name}", *arguments]
        environment = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        self.process = subprocess.Popen(argv, env=environment, start_new_session=True, **popen)

    def check_alive(self):
        code = self.process.poll()
        if code is not None:
            raise shell.CommandError(f"systemd-nspawn has ended with {code}")

    def init_pid(self):
        """The host's PID of the booted container's systemd, or None while there is none."""
        pid = self.process.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            return next((int(child) for child in children if _is_init(child)), None)
        except OSError:
            return None

    def joining_command(self, name):
        """What to put before a command to run it in the container's cgroup NAME, which is made.

        Services inside look at their callers' cgroups and turn away those from outside.
        """
        cgroup = self.cgroup / "payload" / name
        cgroup.mkdir(exist_ok=True)
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(cgroup / "cgroup.procs")]

    def close(self, patience=20):
        """Power it off; where that takes longer than PATIENCE seconds, kill it."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self._kill()
        _remove_cgroup(self.cgroup)

    def _kill(self):
        kill_file = self.cgroup / "cgroup.kill"
        if kill_file.exists():
            kill_file.write_text("1")
        self.process.kill()
        self.process.wait()


def run(root, argv, binds=(), timeout=600):
    """Run ARGV to its end in a container over ROOT, without booting it."""
    arguments = [*binds, "--console=pipe", "--", *argv]
    output = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    container = Container(root, arguments, text=True, errors="replace", **output)
    try:
        said, _ = container.process.communicate(timeout=timeout)
    finally:
        container.close()
    if container.process.returncode != 0:
        raise shell.CommandError(f"exit {container.process.returncode} of {argv}\n{said}")
    return said


def _is_init(pid):
    """Whether PID is the systemd of a PID namespace, and no helper on the way to it."""
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(
        re.search(r"^Name:\tsystemd$", status, re.MULTILINE)
        and re.search(r"^NSpid:.*\t1$", status, re.MULTILINE)
    )


def _cgroup_base():
    for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(base + "/cgroup.procs") and os.path.exists(base + "/cgroup.controllers"):
            return Path(base)
    return None


def _own_cgroup():
    """The cgroup2 directory that this process is in."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return _cgroup_base() / line[4:]
    return _cgroup_base()


def _remove_cgroup(cgroup):
    """Remove CGROUP and all below it; the kernel may need a moment to see the last process gone."""
    deadline = time.monotonic() + 5
    while cgroup.exists():
        for directory, _, _ in os.walk(cgroup, topdown=False):
            try:
                os.rmdir(directory)
            except OSError:
                if time.monotonic() >= deadline:
                    return
        time.sleep(0.01)


def _sweep():
    """Remove the cgroups of test runs that were killed."""
    for cgroup in _own_cgroup().glob(PREFIX + "-*"):
        owner = cgroup.name.split("-")[2]
        if not Path("/proc", owner).exists():
            _remove_cgroup(cgroup)
