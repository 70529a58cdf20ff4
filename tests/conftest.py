# SPDX-License-Identifier: MIT
"""Fixtures for all suites. Machines are booted once a session; tests clean up after themselves."""

import os
import re

import pytest

from lib import build, gguf, nspawn, shell, trees
from lib.fake import FakeServer
from lib.machine import Machine
from lib.story import Toolkit
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
            try:
                made[release] = build.stage(release, tmp_path_factory.mktemp("stage-" + release))
            except shell.CommandError as failure:
                made[release] = failure
                raise
        if isinstance(made[release], Exception):
            pytest.fail(f"coalmine could not be built for {release}, see the first such failure")
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


def _units(request, booted):
    stem = re.sub(r"[\W_]+", "-", request.node.originalname.removeprefix("test_")).strip("-")
    made = Units(booted, stem[:40])
    yield made
    made.remove()


@pytest.fixture
def units(request, machine):
    """Makes units with names of this test's own in the shared machine; removes them afterwards."""
    yield from _units(request, machine)


@pytest.fixture
def fresh_units(request, fresh_machine):
    """The same for a machine of the test's own."""
    yield from _units(request, fresh_machine)


@pytest.fixture
def fake(units):
    """fake(*options) starts the fake model server as a plain service."""
    return lambda *options, **more: FakeServer(units, options, **more)


@pytest.fixture
def toolkit(units):
    """The story's toolkit, without cuRAND's headers until toolkit.supply_header() is called."""
    return Toolkit(units.machine, units.directory())


@pytest.fixture(scope="session")
def model():
    """The bytes of the tiny model for the real llama-server; lib.gguf can spoil them."""
    return gguf.tiny_model()


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
    if report.when == "call" and report.failed and booted and booted.container:
        title = f"journal of {booted.release}"
        report.sections.append((title, booted.journal_tail(item.journal_cursor)))


def _machine_of(item):
    found = [
        value for value in getattr(item, "funcargs", {}).values() if isinstance(value, Machine)
    ]
    return found[0] if found else None
