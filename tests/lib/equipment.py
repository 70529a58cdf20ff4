# SPDX-License-Identifier: MIT
"""What a machine is given beyond its release: the fake servers, the real llama-server, nvcc."""

import shutil
from pathlib import Path

from lib import trees

SERVERS = Path(__file__).parents[1] / "servers"
SERVERS_INSIDE = "/opt/coalmine-test/servers"
CUDA = Path("/usr/local/cuda")

FORKY = "/opt/forky"
GGML = "/usr/lib/x86_64-linux-gnu/ggml"

# bookworm has no llama.cpp: forky's server runs there with forky's own loader and libraries.
LLAMA_SERVER = f"""#!/bin/sh
lib={FORKY}/usr/lib/x86_64-linux-gnu
exec {FORKY}/usr/lib64/ld-linux-x86-64.so.2 --argv0 llama-server \\
    --library-path "$lib:$lib/llama" {FORKY}/usr/bin/llama-server "$@"
"""


def has_nvcc(release):
    """Whether RELEASE has an nvcc that can build: that of a bookworm host, whose g++ it knows."""
    if release != "bookworm" or trees.root_of(release) != Path("/"):
        return False
    return (CUDA / "bin/nvcc").exists() and bool(shutil.which("g++"))


def binds(release):
    """systemd-nspawn's arguments for all of it."""
    given = [f"--bind-ro={SERVERS}:{SERVERS_INSIDE}"]
    if release != "forky":
        forky = trees.root_of("forky")
        given += [f"--bind-ro={forky}:{FORKY}", f"--bind-ro={forky}{GGML}:{GGML}"]
    return given


def furnish(machine):
    """What is left to do inside when MACHINE has booted."""
    if machine.release != "forky":
        machine.write("/usr/local/bin/llama-server", LLAMA_SERVER, mode=0o755)
