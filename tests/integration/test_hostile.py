# SPDX-License-Identifier: MIT
"""What must not shake the supervisor: full disks, odd output, floods, garbage, and death at any moment."""

import random
import time

import pytest

from lib.supervised import EXIT_UNMENDABLE, FAILURE_ID, Supervised

DEATHS = 8


@pytest.fixture
def instance(coalmine, units):
    """instance(*options, **more): an instance of the fake server."""
    return lambda *options, **more: Supervised.fake(units, *options, **more)


@pytest.fixture
def shell(coalmine, units):
    """shell(script): an instance whose server is a shell script."""

    def make(script, **more):
        path = f"{units.directory()}/server.sh"
        coalmine.write(path, f"#!/bin/sh\n{script}\n", mode=0o755)
        return Supervised(units, path, profile="openai", **more)

    return make


def test_full_disk_loses_no_failure(instance):
    server = instance("--crash-after", 1, settings={"Restart.Budget": 1, "Restart.BackoffSec": "200ms"})
    state = f"/var/lib/coalmine/{server.name}"
    server.machine.run(["mkdir", "-p", state])
    server.machine.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", state])
    try:
        server.machine.run(f"head -c 1M /dev/zero >{state}/ballast", check=False)
        server.start(check=False)
        records = server.records(FAILURE_ID)
        assert len(records) == 2
        assert all('"root_cause"' in record["COALMINE_REPORT_JSON"] for record in records)
        assert server.exit_code() == EXIT_UNMENDABLE
    finally:
        server.machine.run(["umount", state])


def test_last_words_without_a_newline_are_heard(shell):
    server = shell("printf 'fatal error: curand.h: No such file or directory' >&2; exit 1")
    server.start(check=False)
    report = server.report()
    assert report["class"] == "jit_missing_header" and report["captures"]["header"] == "curand.h"


@pytest.mark.parametrize(
    "output",
    [
        r"printf 'a\000b\033[31m\377\376 %s\n' x",
        "head -c 3000000 /dev/zero | tr '\\0' x",
        "head -c 200000 /dev/urandom",
        "yes '' | head -n 100000",
    ],
    ids=["controls", "endless-line", "noise", "empty-lines"],
)
def test_odd_output_hides_no_cause(shell, output):
    server = shell(f"{output}\necho\necho 'fatal error: curand.h: No such file or directory'\nexit 1")
    server.start(check=False)
    assert server.report()["class"] == "jit_missing_header"


def test_flood_of_output_does_not_delay_ready(instance):
    server = instance("--stdout-flood", 20000)
    started = time.monotonic()
    server.start()
    assert server.is_active() == "active"
    assert time.monotonic() - started < 30
    server.stop()
    assert server.server_pids() == []


@pytest.mark.parametrize(
    "content",
    [b"\x00\xff\xfe" * 1000, b"[Server]\n" + b"Command=x" * 300000, b"[Server\nCommand", b""],
    ids=["binary", "endless-line", "torn", "empty"],
)
def test_garbage_is_refused_with_its_place(coalmine, units, content):
    name = units.instance("")
    path = f"/etc/coalmine/{name}.conf"
    coalmine.write(path, content)
    coalmine.systemctl("start", f"coalmine@{name}.service", check=False)
    assert coalmine.show(f"coalmine@{name}.service", "ExecMainStatus")["ExecMainStatus"] == "78"
    checked = coalmine.run(["coalminectl", "check", name], check=False)
    assert checked.returncode == 78 and path in checked.stderr
    assert len(checked.stderr) < 10000


def test_directory_in_place_of_a_file_is_refused(coalmine, units):
    name = units.instance("")
    coalmine.run(f"rm /etc/coalmine/{name}.conf && mkdir /etc/coalmine/{name}.conf")
    refused = coalmine.run(["coalminectl", "check", name], check=False)
    assert refused.returncode == 78 and "directory" in refused.stderr


def test_death_at_any_moment_leaves_no_orphan(instance):
    """SIGKILL of coalmined at moments from its first instruction to long after READY."""
    server = instance("--load-sec", 0.5, "--fork-workers", 2, "--detach-workers")
    server.machine.write(
        f"/run/systemd/system/{server.unit}.d/quick.conf",
        "[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=100ms\n",
    )
    server.machine.systemctl("daemon-reload")
    server.start(wait=False)
    moments = random.Random(7)
    for _ in range(DEATHS):
        time.sleep(moments.uniform(0, 2.5))
        before = server.server_pids()
        main = server.machine.show(server.unit, "MainPID")["MainPID"]
        if main == "0":
            continue
        server.machine.run(["kill", "-KILL", main], check=False)
        server.machine.wait_until(
            lambda: not set(before) & set(server.server_pids()), what=f"{before} to be gone"
        )
    server.wait_state("active", timeout=60)
    server.machine.wait_until(lambda: server.status()["phase"] == "ready", what="READY after all")
    served = server.status()["server_pid"]
    assert served in server.machine.cgroup_pids(server.unit)
    assert set(server.server_pids()) <= set(server.machine.cgroup_pids(server.unit))
    server.machine.remove(f"/run/systemd/system/{server.unit}.d")
