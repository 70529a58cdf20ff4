# SPDX-License-Identifier: MIT
"""The machines themselves: without these nothing that the other tests say can be trusted."""

import subprocess
import sys
from pathlib import Path

SYSTEMD = {"bookworm": "252", "forky": "262"}


def test_boots_with_the_release_s_systemd(machine):
    assert machine.run("systemctl is-system-running", check=False).stdout.strip() in (
        "running",
        "degraded",
    )
    assert machine.run("systemctl --version").stdout.split()[1] == SYSTEMD[machine.release]
    assert machine.read("/proc/1/comm").strip() == "systemd"


def test_has_no_network_but_loopback(machine):
    links = machine.run("ls /sys/class/net").stdout.split()
    assert links == ["lo"]
    assert "127.0.0.1" in machine.run("ip -4 addr show up dev lo").stdout


def test_service_s_lines_reach_the_journal(machine, units):
    unit = units.service("/bin/sh -c 'echo the bird sings; echo it stops >&2'", "Type=oneshot")
    machine.systemctl("start", unit)
    machine.wait_until(lambda: "it stops" in machine.journal_text(unit), what="the service's lines")
    texts = [record["MESSAGE"] for record in machine.journal(unit, _TRANSPORT="stdout")]
    assert texts == ["the bird sings", "it stops"]


def test_cursor_hides_what_came_before(machine, units):
    unit = units.service("/bin/sh -c 'echo once'", "Type=oneshot")
    machine.systemctl("start", unit)
    machine.wait_until(lambda: "once" in machine.journal_text(unit), what="the service's line")
    assert machine.journal(unit, since=machine.cursor(), _TRANSPORT="stdout") == []


def test_bus_answers(machine):
    names = machine.run("busctl list --no-legend").stdout
    assert "org.freedesktop.systemd1" in names


def test_cgroup_can_be_killed_whole(machine, units):
    unit = units.service("/bin/sh -c 'sleep 1000 & setsid sleep 1000 & wait'", "Delegate=yes")
    machine.systemctl("start", unit)
    machine.wait_until(lambda: len(machine.cgroup_pids(unit)) == 3, what="three processes")
    cgroup = machine.show(unit, "ControlGroup")["ControlGroup"]
    machine.run(f"echo 1 >/sys/fs/cgroup{cgroup}/cgroup.kill")
    machine.wait_state(unit, "failed")
    assert machine.cgroup_pids(unit) == []


def test_user_manager_runs_for_a_lingering_user(machine):
    machine.run("id canary || useradd --create-home canary")
    machine.run("loginctl enable-linger canary")
    uid = machine.run("id -u canary").stdout.strip()
    script = f"XDG_RUNTIME_DIR=/run/user/{uid} systemctl --user is-system-running --wait"
    machine.wait_until(lambda: machine.exists(f"/run/user/{uid}/bus"), what="the user's bus")
    assert machine.run(script, user="canary", check=False).stdout.strip() in ("running", "degraded")


def test_nothing_of_the_host_s_runs_inside(machine):
    running = machine.run(
        "systemctl list-units --type=service --state=running --plain --no-legend"
    ).stdout
    names = {line.split()[0] for line in running.splitlines()}
    expected = {"dbus.service", "systemd-journald.service", "systemd-logind.service"}
    assert {name for name in names if not name.startswith("user@")} == expected


def test_a_machine_leaves_nothing_behind(fresh_machine):
    container = fresh_machine.container
    assert container.cgroup.exists()
    fresh_machine.shutdown()
    assert container.process.returncode is not None
    assert not container.cgroup.exists()
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        assert "mountpoint" not in mounts.read()


def test_a_machine_ends_with_its_creator(machine):
    script = (
        "import sys, time; from lib.machine import Machine; m = Machine(sys.argv[1]); m.boot(); "
        "print(m.container.process.pid, flush=True); time.sleep(60)"
    )
    creator = subprocess.Popen(
        [sys.executable, "-c", script, machine.release],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        text=True,
    )
    pid = int(creator.stdout.readline())
    creator.kill()
    creator.communicate()
    machine.wait_until(
        lambda: not Path(f"/proc/{pid}").exists(), timeout=20, what="systemd-nspawn to end"
    )


def test_installing_keeps_the_root_s_links(machine, tmp_path):
    for name, text in {
        "usr/bin/sings": "#!/bin/sh\necho la\n",
        "lib/systemd/system/sings.service": "[Service]\nType=oneshot\nExecStart=/usr/bin/sings\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "usr/bin/sings").chmod(0o755)
    machine.install(tmp_path)
    machine.installed = None
    machine.systemctl("start", "sings")
    assert machine.run("readlink /lib").stdout.strip() == "usr/lib"
    machine.remove("/usr/bin/sings", "/usr/lib/systemd/system/sings.service")
    machine.systemctl("daemon-reload")
