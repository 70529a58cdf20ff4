# SPDX-License-Identifier: MIT
"""Building coalmine for a release and installing it into a tree."""

import hashlib
import os
from pathlib import Path

from lib import nspawn, shell, trees

REPOSITORY = Path(__file__).parents[2]
INSIDE = {"repository": "/src/coalmine", "build": "/src/build", "stage": "/src/stage"}


def stage(release, destination):
    """`make install` for RELEASE into the empty directory DESTINATION, which is returned."""
    with trees.lock("make-" + release):
        if release == trees.host_release():
            _make_here(destination)
        else:
            _make_in_tree(release, destination)
    return destination


def _make_here(destination):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    build = os.environ.get("COALMINE_BUILD", str(REPOSITORY / "build"))
    make = ["make", "-C", str(REPOSITORY), f"BUILD={build}"]
    shell.run([*make, "-j2", "all"], timeout=900, env=environment)
    shell.run(
        [*make, "install", "PREFIX=/usr", f"DESTDIR={destination}"], timeout=60, env=environment
    )


def _make_in_tree(release, destination):
    """Build in RELEASE's own tree, since the libraries' names differ; objects are kept."""
    root = trees.root_of(release)
    key = hashlib.sha256(f"{REPOSITORY} {root}".encode()).hexdigest()[:12]
    build = trees.CACHE / f"build-{release}-{key}"
    build.mkdir(exist_ok=True)
    binds = [
        f"--bind-ro={REPOSITORY}:{INSIDE['repository']}",
        f"--bind={build}:{INSIDE['build']}",
        f"--bind={destination}:{INSIDE['stage']}",
    ]
    make = f"make -C {INSIDE['repository']} BUILD={INSIDE['build']}"
    script = f"{make} -j2 all && {make} install PREFIX=/usr DESTDIR={INSIDE['stage']}"
    nspawn.run(root, ["sh", "-c", script], binds, timeout=900)
