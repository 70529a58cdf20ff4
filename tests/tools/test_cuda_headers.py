# SPDX-License-Identifier: MIT
"""conf/probes/cuda-headers: speaks up only where a build is to come that cannot succeed."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

PROBE = pathlib.Path(__file__).parents[2] / "conf/probes/cuda-headers"
SAMPLING = "#include <curand.h>\n#include <curand_kernel.h>\n#include <cub/cub.cuh>\n#include \"math.cuh\"\n"
VECTORS = "#  include <cuda_bf16.h>\n#include <tuple>\n"

# Complains, like a compiler, about the first header that is not in the toolkit; keeps its arguments.
NVCC = """#!/bin/sh
home=${0%/bin/nvcc}
echo "$@" >"$home/arguments"
while read -r line; do
    header=${line#*<}
    header=${header%>*}
    if [ ! -e "$home/include/$header" ]; then
        echo "stdin:1:10: fatal error: $header: No such file or directory"
        exit 1
    fi
done
"""


class Machine:
    """A Python with FlashInfer in it and a toolkit, both in one directory."""

    def __init__(self, top):
        self.top = top
        self.program = sys.executable
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(top / "home"),
                            "PYTHONPATH": str(top / "site"), "CUDA_HOME": str(top / "cuda")}
        self.put("site/flashinfer/__init__.py", "raise Exception('not to be imported')\n")
        self.put("site/flashinfer/data/include/flashinfer/sampling.cuh", SAMPLING)
        self.put("site/flashinfer/data/include/flashinfer/vec_dtypes.cuh", VECTORS)
        for header in "curand.h", "curand_kernel.h", "cuda_bf16.h":
            self.put(f"cuda/include/{header}", "")
        self.put("cuda/bin/nvcc", NVCC, 0o755)

    def put(self, name, text, mode=0o644):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def remove(self, name):
        (self.top / name).unlink()

    def probe(self):
        r = subprocess.run([PROBE, self.program], env=self.environment, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=60)
        return r.returncode, r.stdout

    def fails(self):
        status, output = self.probe()
        return status != 0 and "fatal error: curand.h: No such file or directory" in output


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_whole_toolkit_passes_silently(machine):
    assert machine.probe() == (0, "")
    assert (machine.top / "cuda/arguments").exists()


def test_missing_header_is_told(machine):
    machine.remove("cuda/include/curand.h")
    assert machine.fails()


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH", "PATH", "FLASHINFER_NVCC"])
def test_toolkit_is_looked_for_where_flashinfer_does(machine, variable):
    machine.remove("cuda/include/curand.h")
    home = machine.environment.pop("CUDA_HOME")
    value = {"PATH": f"{home}/bin:/usr/bin:/bin", "FLASHINFER_NVCC": f"{home}/bin/nvcc"}.get(variable, home)
    machine.environment[variable] = value
    assert machine.fails()


def test_home_of_the_toolkit_goes_before_the_path(machine):
    machine.put("other/bin/nvcc", NVCC, 0o755)
    machine.environment["PATH"] = f"{machine.top}/other/bin:/usr/bin:/bin"
    assert machine.probe() == (0, "")


def test_flags_of_the_build_are_used(machine):
    machine.environment.update(CC="/usr/bin/gcc-9", FLASHINFER_EXTRA_CUDAFLAGS="-I/x -DY")
    assert machine.probe()[0] == 0
    arguments = (machine.top / "cuda/arguments").read_text().split()
    assert arguments[:2] == ["-ccbin", "/usr/bin/gcc-9"]
    assert arguments[-5:] == ["-isystem", f"{machine.top}/cuda/include", "-I/x", "-DY", "-"]


def test_console_script_has_its_python_beside_it(machine):
    machine.remove("cuda/include/curand.h")
    machine.program = str(machine.put("venv/bin/vllm", "#!/nonexistent\n", 0o755))
    assert machine.probe() == (0, "")
    (machine.top / "venv/bin/python3").symlink_to(sys.executable)
    assert machine.fails()


@pytest.mark.parametrize("what", ["no nvcc", "no flashinfer", "no sources", "no program", "no python",
                                  "jit cache", "built ahead", "built before", "built before elsewhere"])
def test_nothing_to_say(machine, what):
    machine.remove("cuda/include/curand.h")
    if what == "no nvcc":
        machine.remove("cuda/bin/nvcc")
    elif what == "no flashinfer":
        del machine.environment["PYTHONPATH"]
    elif what == "no sources":
        shutil.rmtree(machine.top / "site/flashinfer/data")
    elif what == "no program":
        machine.program = "/nonexistent/python3"
    elif what == "no python":
        machine.program = str(machine.put("bin/server", "", 0o755))
    elif what == "jit cache":
        machine.put("site/flashinfer_jit_cache/__init__.py", "")
    elif what == "built ahead":
        machine.put("site/flashinfer/data/aot/sampling/sampling.so", "")
    elif what == "built before":
        machine.put("home/.cache/flashinfer/0.5/120a/cached_ops/sampling/sampling.so", "")
    else:
        machine.put("else/.cache/flashinfer/90/cached_ops/sampling/sampling.so", "")
        machine.environment["FLASHINFER_WORKSPACE_BASE"] = f"{machine.top}/else"
    assert machine.probe() == (0, "")


def test_without_an_argument_it_says_how_it_is_used():
    r = subprocess.run([PROBE], capture_output=True, text=True)
    assert r.returncode != 0 and "usage: cuda-headers PROGRAM" in r.stderr


@pytest.fixture
def real_toolkit(machine):
    """A toolkit of links to the machine's own, so that headers can be taken out of it."""
    nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not nvcc:
        pytest.skip("there is no nvcc here")
    home = machine.top / "real"
    subprocess.run(["cp", "-rs", f"{pathlib.Path(nvcc).parents[1].resolve()}/.", home], check=True)
    machine.environment["CUDA_HOME"] = str(home)
    return machine


def test_real_compiler_passes_what_is_there(real_toolkit):
    real_toolkit.put("site/flashinfer/data/include/flashinfer/sampling.cuh", "#include <cuda_fp16.h>\n")
    assert real_toolkit.probe() == (0, "")


def test_real_compiler_tells_what_is_not(real_toolkit):
    for header in (real_toolkit.top / "real").rglob("curand*.h"):
        header.unlink()
    assert real_toolkit.fails()
