# SPDX-License-Identifier: MIT
"""Root trees for the machines: the host's own root, or a Debian release made by mmdebstrap.

Trees lie in $COALMINE_TEST_CACHE (/var/cache/coalmine-test), named after the release and a hash of
what went into them, so that a changed package list makes a new tree and no change costs nothing.
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
from pathlib import Path

from lib import shell

CACHE = Path(os.environ.get("COALMINE_TEST_CACHE", "/var/cache/coalmine-test"))

SYSTEM = (
    "systemd systemd-sysv dbus dbus-user-session libpam-systemd procps iproute2 python3".split()
)
BUILD = (
    "gcc libc6-dev make pkg-config ninja-build libvectorscan-dev libcurl4-openssl-dev "
    "libjansson-dev libev-dev libpcre2-dev libmicrohttpd-dev libsystemd-dev scdoc"
).split()

RELEASES = {"bookworm": SYSTEM + BUILD, "forky": SYSTEM + BUILD + ["llama.cpp-tools"]}

# Documentation is a third of the files; nothing in a machine reads it.
OPTIONS = [
    "--variant=minbase",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    '--aptopt=Acquire::Check-Valid-Until "false"',
    '--aptopt=Acquire::Retries "3"',
]


@contextlib.contextmanager
def lock(name):
    """Hold the cache's lock NAME, so that two test runs do not build the same thing."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def host_release():
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "")


def root_of(release):
    """The root directory of RELEASE, made first where it is missing. It is never written to."""
    if release == host_release():
        return Path("/")
    return _tree(release)


def _tree(release):
    packages = RELEASES[release]
    key = hashlib.sha256(" ".join([release, *sorted(packages), *OPTIONS]).encode()).hexdigest()[:12]
    tree = CACHE / f"{release}-{key}"
    with lock(release):
        if not tree.exists():
            _bootstrap(release, packages, tree)
            _remove_others(tree)
    return tree


def _bootstrap(release, packages, tree):
    """Make TREE under another name first, so that an interrupted run leaves no half tree behind."""
    unfinished = CACHE / f"{release}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    argv = [
        "mmdebstrap",
        *OPTIONS,
        *_proxy_options(),
        "--include=" + ",".join(packages),
        release,
        str(unfinished),
        f"deb {_mirror()} {release} main",
    ]
    shell.run(argv, timeout=1200, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    unfinished.rename(tree)


def _remove_others(tree):
    for old in CACHE.glob(tree.name.split("-")[0] + "-*"):
        if old != tree:
            shutil.rmtree(old, ignore_errors=True)


def _mirror():
    """Where the host itself gets its release from: the other releases lie beside it."""
    form = "$(CREATED_BY) $(RELEASE) $(COMPONENT) $(REPO_URI)"
    targets = shell.run(["apt-get", "indextargets", "--format", form]).stdout
    found = re.search(rf"^Packages {re.escape(host_release())} main (\S+)$", targets, re.MULTILINE)
    if not found:
        raise shell.CommandError(
            f"no apt source of this machine serves its own release:\n{targets}"
        )
    return found[1]


def _proxy_options():
    """The host's proxy settings for apt, which mmdebstrap does not take over by itself."""
    dump = shell.run(
        ["apt-config", "dump", "--no-empty", "--format", '%F "%v"%n', "Acquire"]
    ).stdout
    return [f"--aptopt={line}" for line in dump.splitlines() if "::Proxy" in line]
