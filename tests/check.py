#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py --make MAKE --results DIR STEP...: makes every step, whatever becomes of the others,
and ends with a line `N passed, N failed, N skipped`.

A step that leaves no results of its own counts as one test; a step that fails without saying which
test did counts as one failure.
"""
import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

import summary


def make_command(make):
    """make, told to use all processors unless the caller has said how many."""
    command = shlex.split(make) + ["--no-print-directory"]
    if "-j" not in os.environ.get("MAKEFLAGS", ""):
        command.append(f"-j{os.cpu_count()}")
    return command


def run_step(make, step, results):
    print(f"== {step}", flush=True)
    start = time.monotonic()
    before = summary.count_directory(results)
    # The job server's descriptors go along.
    status = subprocess.call(make + [step], close_fds=False)
    after = summary.count_directory(results)
    if status != 0 and after.failed == before.failed:
        problem = f"make {step}: exit status {status}"
        summary.write_case(results / f"step-{step}.xml", "steps", step, problem)
    elif after == before:
        summary.write_case(results / f"step-{step}.xml", "steps", step)
    print(f"== {step}: {'ok' if status == 0 else 'FAILED'}, {time.monotonic() - start:.0f} s",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--make", required=True)
    parser.add_argument("--results", required=True, type=pathlib.Path)
    parser.add_argument("steps", nargs="+")
    options = parser.parse_args()

    shutil.rmtree(options.results, ignore_errors=True)
    options.results.mkdir(parents=True)
    make = make_command(options.make)
    for step in options.steps:
        run_step(make, step, options.results)
    counts = summary.count_directory(options.results)
    print(counts, flush=True)
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
