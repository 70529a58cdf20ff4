#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A start that says nothing for SECONDS, and then becomes the fake model server with the other options.

Meanwhile it does the kind of WORK that it is told to: `compile` starts a compiler that is busy half of the time,
`wait` waits, `spin` uses a whole CPU, `download` lets a few bytes at a time come in.
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

SERVER = Path(__file__).with_name("openai_server.py")
PR_SET_NAME, PR_SET_PDEATHSIG = 15, 1


def prctl(option, value):
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def compile_something(seconds):
    """A compiler as the kernel sees one: another process, named cicc, that prints nothing."""
    pid = os.fork()
    if pid == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_NAME, b"cicc")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            busy(0.03)
            time.sleep(0.03)
        os._exit(0)
    os.waitpid(pid, 0)


def download(seconds):
    """Less than what idle servers read and write, into a file that grows."""
    until = time.monotonic() + seconds
    path = Path.home() / ".cache/huggingface/hub/models--quiet/blobs/0.incomplete"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb", buffering=0) as blob:
        while time.monotonic() < until:
            blob.write(b"x" * 40000)
            time.sleep(0.2)


WORK = {
    "compile": compile_something,
    "download": download,
    "spin": busy,
    "wait": time.sleep,
}


def main():
    work, seconds, *options = sys.argv[1:]
    WORK[work](float(seconds))
    os.execv(sys.executable, [sys.executable, str(SERVER), *options])


if __name__ == "__main__":
    main()
