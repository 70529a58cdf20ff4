# SPDX-License-Identifier: MIT
"""A start may be silent for as long as it works, however long that is; one that does not work is ended.

Forty minutes of silence within a stall limit of ten are four limits; here the limit is two seconds.
"""

import pytest

from lib.equipment import SERVERS_INSIDE
from lib.supervised import Supervised

STALL = 2
SILENCE = 5 * STALL

# A GPU whose memory fills as time goes by: /run/gpu-since says since when.
FILLING_GPU = """#!/bin/sh
case $1 in
--query-gpu=*) echo "0, $(($(date +%s) * 64 % 65536)), 81920, GPU-5c1e" ;;
esac
"""
FULL_GPU = """#!/bin/sh
case $1 in
--query-gpu=*) echo "0, 40000, 81920, GPU-5c1e" ;;
esac
"""


@pytest.fixture
def quiet(coalmine, units):
    """quiet(work, seconds): an instance whose start is silent."""

    def make(work, seconds, **settings):
        command = f"/usr/bin/python3 {SERVERS_INSIDE}/quiet_start.py {work} {seconds} --port {{port}}"
        home = units.directory()
        settings = {
            "Start.StallSec": f"{STALL}s",
            "Restart.Budget": 0,
            "Server.Environment": f"HOME={home}",
            **settings,
        }
        return Supervised(units, command, settings=settings)

    return make


def becomes_ready(server):
    server.start()
    assert server.is_active() == "active"
    assert server.reports() == []


def stalls(server):
    server.start(check=False)
    assert server.is_active() == "failed"
    report = server.report()
    assert report["class"] == "engine_hang" and report["ending"]["kind"] == "stalled"
    assert report["duration_usec"] < SILENCE * 1e6
    return report


def test_silent_compiler_is_waited_for(quiet):
    server = quiet("compile", SILENCE)
    server.start(wait=False)
    server.machine.wait_until(
        lambda: ((server.status() or {}).get("progress") or {}).get("sign") == "a compiler at work",
        what="the compiler to be seen",
    )
    server.wait_state("active")
    assert server.reports() == []


def test_slow_download_is_waited_for(quiet):
    server = quiet("download", SILENCE)
    server.start(wait=False)
    server.machine.wait_until(
        lambda: ((server.status() or {}).get("progress") or {}).get("sign") == "a directory that grows",
        what="the download to be seen",
    )
    server.wait_state("active")
    assert server.reports() == []


def test_download_elsewhere_stalls(quiet):
    stalls(quiet("download", 10 * SILENCE, **{"Start.DownloadDirectory": "/nonexistent"}))


def test_spinner_is_ended(quiet):
    report = stalls(quiet("spin", 10 * SILENCE))
    assert report["progress"]["sign"] in ("none", "bytes read or written")
    assert report["progress"]["cpu_percent"] > 20


def test_sleeper_is_ended(quiet):
    assert stalls(quiet("wait", 10 * SILENCE))["progress"]["cpu_percent"] < 20


def gpu(units, script):
    directory = units.directory()
    units.machine.write(f"{directory}/nvidia-smi", script, mode=0o755)
    return {"Server.Environment": f"PATH={directory}:/usr/bin:/bin HOME={directory}"}


def test_gpu_that_fills_is_progress(quiet, units):
    becomes_ready(quiet("wait", SILENCE, **gpu(units, FILLING_GPU)))


def test_full_gpu_is_none(quiet, units):
    stalls(quiet("wait", 10 * SILENCE, **gpu(units, FULL_GPU)))
