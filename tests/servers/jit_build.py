# SPDX-License-Identifier: MIT
"""A real build of a small sampling kernel, run and reported the way engines run theirs.

The toolkit is a directory with include/curand.h and, where there is one, bin/nvcc; without nvcc the
same kernel is built by the C compiler. What the compiler says in between is its own.
"""

import ctypes
import os
import random
import shutil
import subprocess

SOURCE = """\
#include <curand.h>
%(prefix)s unsigned pick_token(unsigned seed, unsigned count)
{
    return (unsigned)(((unsigned long long)(seed * 2654435761u) * count) >> 32);
}
"""

NINJA = """\
ninja_required_version = 1.3
rule compile
  command = %(compile)s
rule link
  command = %(link)s
build sampling.o: compile %(source)s
build sampling.so: link sampling.o
default sampling.so
"""


class JitBuild:
    """Builds into CACHE with TOOLKIT; what was built before is used again."""

    def __init__(self, toolkit, cache):
        self._directory = os.path.join(cache, "sampling")
        self._nvcc = os.path.join(toolkit, "bin", "nvcc")
        self._include = os.path.join(toolkit, "include")
        if not os.path.exists(self._nvcc):
            self._nvcc = None

    def load(self):
        """Return pick(count) from the built library; RuntimeError when the build fails."""
        library = os.path.join(self._directory, "sampling.so")
        if not os.path.exists(library):
            self._build()
        kernel = ctypes.CDLL(library).pick_token
        return lambda count: kernel(random.getrandbits(32), count)

    def _build(self):
        os.makedirs(self._directory, exist_ok=True)
        source = self._write_source()
        commands = self._nvcc_commands() if self._nvcc else self._cc_commands()
        with open(os.path.join(self._directory, "build.ninja"), "w", encoding="utf-8") as handle:
            handle.write(NINJA % {"compile": commands[0], "link": commands[1], "source": source})
        self._run_ninja()

    def _write_source(self):
        name, prefix = ("sampling.cu", 'extern "C"') if self._nvcc else ("sampling.c", "")
        path = os.path.join(self._directory, name)
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(SOURCE % {"prefix": prefix})
        return path

    def _nvcc_commands(self):
        flags = "-O3 -std=c++17 --compiler-options=-fPIC -gencode=arch=compute_120,code=sm_120"
        return f"{self._nvcc} {flags} -c $in -o $out", f"{self._nvcc} -shared $in -o $out"

    def _cc_commands(self):
        return f"cc -O2 -fPIC -isystem {self._include} -c $in -o $out", "cc -shared $in -o $out"

    def _run_ninja(self):
        command = [
            "ninja",
            "-v",
            "-C",
            self._directory,
            "-f",
            os.path.join(self._directory, "build.ninja"),
        ]
        if not shutil.which("ninja"):
            raise RuntimeError(
                "Ninja is required to load C++ extensions (pip install ninja to get it)"
            )
        try:
            subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=True,
                text=True,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )
        except subprocess.CalledProcessError as failure:
            raise RuntimeError("Ninja build failed. Ninja output:\n" + failure.output) from failure
