# SPDX-License-Identifier: MIT
"""The next server is started when the memory of the last one is free, with tools that print what the real ones do."""

import json

import pytest

from lib.supervised import Supervised

NVIDIA = """#!/bin/sh
used=$(cat {directory}/used)
case $1 in
--query-gpu=*) printf '0, %s, 81920, GPU-5c1e\\n1, 4, 81920, GPU-77aa\\n' "$used" ;;
--query-compute-apps=*) [ "$used" -lt 1000 ] || echo "4242, $used, /usr/bin/python3 -m vllm --api-key x, GPU-5c1e" ;;
esac
"""
AMD = """#!/usr/bin/python3
import json, sys
used = int(open("{directory}/used").read())
if sys.argv[1] == "metric":
    size = lambda n: {{"value": n, "unit": "MB"}}
    memory = {{"total_vram": size(196592), "used_vram": size(used), "free_vram": size(196592 - used)}}
    print(json.dumps({{"gpu_data": [{{"gpu": 0, "mem_usage": memory}}, {{"gpu": 1, "mem_usage": "N/A"}}]}}))
else:
    info = {{"name": "python3", "pid": 4242, "mem_usage": {{"value": used << 20, "unit": "B"}}}}
    print(json.dumps([{{"gpu": 0, "process_list": [{{"process_info": info}}]}}]))
"""
ROCM = """#!/usr/bin/python3
import json, sys
used = int(open("{directory}/used").read()) << 20
print("WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status", file=sys.stderr)
if "--showmeminfo" in sys.argv:
    print(json.dumps({{"card0": {{"VRAM Total Memory (B)": "206158430208", "VRAM Total Used Memory (B)": str(used)}}}}))
else:
    print(json.dumps({{"system": {{"PID4242": f"python3, 1, {{used}}, 0, 0"}}}}))
"""
pytestmark = pytest.mark.usefixtures("coalmine")
TOOLS = {"nvidia-smi": NVIDIA, "amd-smi": AMD, "rocm-smi": ROCM}


class Gpu:
    """A GPU that has `use()` MiB in use, as TOOL tells it."""

    def __init__(self, units, tool):
        self.machine = units.machine
        self.directory = units.directory()
        self.use(10)
        self.machine.write(f"{self.directory}/{tool}", TOOLS[tool].format(directory=self.directory), mode=0o755)

    def use(self, mebibytes):
        self.machine.write(f"{self.directory}/used", str(mebibytes))

    @property
    def environment(self):
        return f"PATH={self.directory}:/usr/bin:/bin"


@pytest.fixture(params=list(TOOLS))
def gpu(units, request):
    return Gpu(units, request.param)


def instance(units, gpu, *options, **settings):
    settings = {"Server.Environment": gpu.environment, "Restart.BackoffSec": "200ms", **settings}
    return Supervised.fake(units, *options, settings=settings)


def kill_server(server):
    server.machine.run(["kill", "-KILL", str(server.status()["server_pid"])])


def test_restart_waits_for_the_memory(units, gpu):
    server = instance(units, gpu)
    server.start()
    gpu.use(40000)
    kill_server(server)
    text = server.machine.wait_until(
        lambda: "waiting for GPU memory" in server.status_text() and server.status_text(), what="the wait to show"
    )
    assert "PID 4242" in text and "GPU 0: 39.0 GiB in use" in text and "api-key" not in text
    assert server.is_active() == "reloading" and server.status()["server_pid"] == 0
    gpu.use(12)
    server.wait_state("active")
    assert len(server.reports()) == 1


def test_memory_that_stays_held_is_named(units):
    gpu = Gpu(units, "nvidia-smi")
    directory = units.directory()
    units.machine.write(f"{directory}/lives.json", json.dumps([[], ["--crash-after", "0"]]))
    options = ["--state", f"{directory}/starts", "--lives", f"{directory}/lives.json"]
    server = instance(units, gpu, *options, **{"Restart.GPUWaitSec": "2s", "Restart.Budget": 1})
    server.start()
    gpu.use(40000)
    kill_server(server)
    server.wait_state("failed")
    assert server.starts(f"{directory}/starts") == 2
    held = server.report()["gpu_held"]
    assert "PID 4242 (/usr/bin/python3) holds 39.0 GiB" in held and "api-key" not in held
    assert "GPU memory is still held" in server.machine.journal_text(server.unit)
    first = server.ctl("report", server.name, "--json", server.reports()[-1]).stdout
    assert "gpu_held" not in json.loads(first)


def test_no_waiting_where_none_is_wanted(units):
    gpu = Gpu(units, "nvidia-smi")
    server = instance(units, gpu, **{"Restart.GPUWaitSec": "0"})
    server.start()
    gpu.use(40000)
    kill_server(server)
    server.wait_state("reloading")
    server.wait_state("active", timeout=10)
    assert not [r for r in server.machine.journal(server.unit) if "preflight" in r["MESSAGE"]]


def test_stop_ends_the_wait(units):
    gpu = Gpu(units, "nvidia-smi")
    server = instance(units, gpu, **{"Restart.GPUWaitSec": "10min"})
    server.start()
    gpu.use(40000)
    kill_server(server)
    server.wait_phase("preflight")
    server.stop()
    assert server.is_active() == "inactive"
