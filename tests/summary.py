#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""summary.py DIR: counts the JUnit results under DIR and prints `N passed, N failed, N skipped`.

A file that cannot be read counts as one failure: something died while it wrote it.
"""
import pathlib
import sys
import xml.etree.ElementTree as ET
from typing import NamedTuple


class Counts(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(self, other)))

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count_case(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return Counts(failed=1)
    if case.find("skipped") is not None:
        return Counts(skipped=1)
    return Counts(passed=1)


def count_file(path):
    try:
        cases = ET.parse(path).getroot().iter("testcase")
        return sum((count_case(case) for case in cases), Counts())
    except (ET.ParseError, OSError):
        return Counts(failed=1)


def count_directory(directory):
    paths = sorted(pathlib.Path(directory).rglob("*.xml"))
    return sum((count_file(path) for path in paths), Counts())


def write_case(path, suite, name, failure=None):
    """Writes one test case as a JUnit file; `failure` is the text of its failure."""
    root = ET.Element("testsuites")
    group = ET.SubElement(root, "testsuite", name=suite)
    case = ET.SubElement(group, "testcase", classname=suite, name=name)
    if failure is not None:
        ET.SubElement(case, "failure").text = failure
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    counts = count_directory(arguments[0])
    print(counts)
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
