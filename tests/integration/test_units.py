# SPDX-License-Identifier: MIT
"""The shipped units themselves."""

import re
from pathlib import Path

import pytest

from lib.supervised import Supervised

DOCUMENT = Path(__file__).parents[2] / "docs/units.md"
SYSTEM = ["coalmine@k26.service", "coalmine-gate@k26.socket", "coalmine-gate@k26.service"]
# What `systemd-analyze security` may say at most (0 is the best, 10 the worst); docs/units.md has the values.
EXPOSURE = {"coalmine@k26.service": 5.0, "coalmine-gate@k26.service": 1.5}


@pytest.mark.parametrize("unit", SYSTEM)
def test_systemd_finds_nothing_wrong(coalmine, unit):
    done = coalmine.run(["systemd-analyze", "verify", "--man=no", unit], check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "coalmine" in line]
    assert done.returncode == 0 and lines == []


def test_systemd_finds_nothing_wrong_with_the_users(coalmine):
    path = "/usr/lib/systemd/user/coalmine@.service"
    verify = ["env", "XDG_RUNTIME_DIR=/run", "systemd-analyze", "verify", "--user", "--man=no", path]
    done = coalmine.run(verify, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("unit", EXPOSURE)
def test_exposure_is_no_worse_than_written_down(coalmine, unit):
    shown = coalmine.run(["systemd-analyze", "security", "--no-pager", unit], check=False).stdout
    level = float(re.search(r"Overall exposure level for \S+: (\S+)", shown)[1])
    assert level <= EXPOSURE[unit], shown


def drop_in(name):
    """The drop-in NAME as docs/units.md has it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    block = re.search(rf"^    # \S*/{re.escape(name)}\n((?:    .*\n)+)", text, re.MULTILINE)[1]
    return "".join(line[4:] + "\n" for line in block.splitlines())


def test_the_sandbox_is_there_and_can_be_opened(coalmine, units):
    """A server in namespaces of its own, as container engines make them, takes the documented drop-in."""
    server = Supervised.fake(units, settings={"Restart.Budget": 0})
    command = server.settings["Server.Command"]
    server.reconfigure({"Server.Command": f"/usr/bin/unshare --mount --pid --fork --mount-proc {command}"})
    server.start(check=False)
    assert server.is_active() == "failed"
    path = f"/run/systemd/system/{server.unit}.d/container.conf"
    coalmine.write(path, drop_in("container.conf"))
    coalmine.systemctl("daemon-reload")
    try:
        server.start()
        assert server.is_active() == "active"
    finally:
        server.stop()
        coalmine.remove(path)
        coalmine.systemctl("daemon-reload")


def test_an_alert_is_called_once_for_what_is_final(coalmine, units):
    directory = units.directory()
    coalmine.write(f"{directory}/lives.json", '[["--crash-after", "1"]]')
    server = Supervised.fake(
        units, "--state", f"{directory}/starts", "--lives", f"{directory}/lives.json",
        ending="-größe", settings={"Restart.Budget": 1, "Restart.BackoffSec": "200ms"},
    )
    alert = "/run/systemd/system/model-alert@.service"
    coalmine.write(
        alert,
        "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'coalminectl report --json \"$$0\" "
        f">>{directory}/alerts && echo end >>{directory}/alerts' %i\n",
    )
    path = "/run/systemd/system/coalmine@.service.d/alert.conf"
    coalmine.write(path, drop_in("alert.conf"))
    coalmine.systemctl("daemon-reload")
    try:
        server.start(check=False)
        coalmine.wait_until(lambda: coalmine.exists(f"{directory}/alerts"), what="the alert")
        server.machine.run(["sleep", "2"])
        alerts = coalmine.read(f"{directory}/alerts")
        assert alerts.count("end\n") == 1
        assert f'"instance": "{server.name}"' in alerts
        assert len(server.reports()) == 2
    finally:
        coalmine.remove(path, alert)
        coalmine.systemctl("daemon-reload")
