"""Fixtures for all suites. Machines are booted once a session and release; tests clean up after themselves."""

import os
import re

import pytest

from lib import coalmine as build
from lib import nspawn, trees
from lib.machine import Machine
from lib.units import Units

WANTED = os.environ.get("COALMINE_TEST_RELEASES", " ".join(trees.RELEASES)).split()


def _booted(release):
    if release not in WANTED:
        pytest.skip(f"COALMINE_TEST_RELEASES does not name {release}")
    reason = nspawn.missing_rights()
    if reason:
        pytest.skip(reason)
    return Machine(release)


@pytest.fixture(scope="session", params=list(trees.RELEASES))
def machine(request):
    """The session's machine of each release in turn, shared by all tests."""
    with _booted(request.param) as booted:
        yield booted


@pytest.fixture(params=list(trees.RELEASES))
def fresh_machine(request):
    """A machine of each release in turn for one test alone, to be broken at will."""
    with _booted(request.param) as booted:
        yield booted


@pytest.fixture(scope="session")
def stages(tmp_path_factory):
    """stages(release): a tree with coalmine as built for RELEASE and installed with PREFIX=/usr."""
    made = {}

    def stage(release):
        if release not in made:
            made[release] = build.stage(release, tmp_path_factory.mktemp("stage-" + release))
        return made[release]
    return stage


@pytest.fixture
def coalmine(machine, stages):
    """The shared machine with coalmine installed."""
    if not machine.installed:
        machine.install(stages(machine.release))
    return machine


@pytest.fixture
def fresh_coalmine(fresh_machine, stages):
    """A machine for one test alone with coalmine installed."""
    fresh_machine.install(stages(fresh_machine.release))
    return fresh_machine


@pytest.fixture
def units(request):
    """Makes units with names of this test's own in the machine it uses, and removes them afterwards."""
    used = next(request.getfixturevalue(name) for name in ("fresh_machine", "machine")
                if name in request.fixturenames)
    stem = re.sub(r"\W+", "-", request.node.originalname.removeprefix("test_")).strip("-_")[:40]
    made = Units(used, stem.replace("_", "-"))
    yield made
    made.remove()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    """Note where the machine's journal stands, for the report of a failure."""
    yield
    booted = _machine_of(item)
    if booted:
        item.journal_cursor = booted.cursor()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Add to a failed test's report what its machine's journal said meanwhile."""
    outcome = yield
    report = outcome.get_result()
    booted = _machine_of(item)
    if report.when == "call" and report.failed and booted:
        text = booted.run(["journalctl", "--no-pager", "--output=short-precise", "--lines=200",
                           f"--after-cursor={item.journal_cursor}"], check=False).stdout
        report.sections.append((f"journal of {booted.release}", text))


def _machine_of(item):
    found = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, Machine)]
    return found[0] if found else None
