# SPDX-License-Identifier: MIT
"""The story's toolkit: a working compiler, and a header that is missing until it is supplied."""

from lib.equipment import CUDA, SERVERS_INSIDE, has_nvcc

HEADER = "curand.h"


class Toolkit:
    """A toolkit without cuRAND's headers in DIRECTORY of MACHINE.

    With nvcc where the machine has one that works; else the C compiler builds, and it is only a
    directory for headers. `path` is what the server's --jit-on-sampled takes.
    """

    def __init__(self, machine, directory):
        self.machine = machine
        self.path = f"{directory}/toolkit"
        self.has_nvcc = has_nvcc(machine.release)
        if self.has_nvcc:
            self.machine.run(
                ["python3", f"{SERVERS_INSIDE}/cut_toolkit.py", str(CUDA), self.path, "curand*.h"]
            )
        else:
            self.machine.run(["mkdir", "-p", f"{self.path}/include"])

    def supply_header(self):
        """Put a header of that name where the compiler looks; the kernel needs nothing in it."""
        for directory in self.machine.run(
            f"ls -d {self.path}/include {self.path}/targets/*/include", check=False
        ).stdout.split():
            self.machine.write(f"{directory}/{HEADER}", "typedef int curandStatus_t;\n")
