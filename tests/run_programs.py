#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs test programs side by side, each bounded in time, and leaves JUnit files.

Unit programs (cmocka) write their own results; one that dies, hangs or says nothing gets a failed
case beside them. Fuzz targets get one case each. The exit status is 1 if anything failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

import summary

OUTPUT_SHOWN = 8000


def run_bounded(command, environment, log_path, timeout):
    """Runs command in a session of its own. Returns its status, None when time was up."""
    with open(log_path, "wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def describe_status(status, timeout):
    if status is None:
        return f"still running after {timeout} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def run_unit(program, options):
    """Returns what is wrong (None if nothing), and a note on what was done."""
    name = pathlib.Path(program).name
    # Absolute, since a test may change its directory before cmocka writes.
    results = pathlib.Path(options.results).resolve() / name
    results.mkdir(parents=True)
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="xml",
                       CMOCKA_XML_FILE=str(results / "%g.xml"))
    command = shlex.split(options.wrap) + [program]
    status = run_bounded(command, environment, results / "output.log", options.timeout)
    counts = summary.count_directory(results)
    if status == 0 and counts.failed == 0 and counts.passed + counts.skipped > 0:
        return None, str(counts)
    problem = describe_status(status, options.timeout) if status != 0 else "no test has run"
    if counts.failed == 0:
        summary.write_case(results / "program.xml", name, "program", problem)
    return f"{problem}; {counts}", str(counts)


def run_fuzz(program, options):
    name = pathlib.Path(program).name
    corpus = pathlib.Path(options.scratch) / "corpus" / name
    crashes = pathlib.Path(options.scratch) / "crashes"
    results = pathlib.Path(options.results) / name
    for directory in (corpus, crashes, results):
        directory.mkdir(parents=True, exist_ok=True)
    short = name.removeprefix("fuzz_")
    command = [program, f"-max_total_time={options.timeout}", "-timeout=10",
               "-rss_limit_mb=2048", "-print_final_stats=1",
               f"-artifact_prefix={crashes}/{name}-", str(corpus)]
    seeds = pathlib.Path("tests/fuzz/seeds") / short
    dictionary = pathlib.Path("tests/fuzz/dict") / f"{short}.dict"
    if seeds.is_dir():
        command.append(str(seeds))
    if dictionary.is_file():
        command.insert(1, f"-dict={dictionary}")
    # Besides fuzzing there are the seeds to read and the last input to end.
    limit = options.timeout * 2 + 60
    status = run_bounded(command, os.environ, results / "output.log", limit)
    problem = None if status == 0 else describe_status(status, limit)
    summary.write_case(results / "program.xml", "fuzz", name, problem)
    return problem, executed_units(results / "output.log")


def executed_units(log_path):
    for line in reversed(log_path.read_text(errors="replace").splitlines()):
        if "stat::number_of_executed_units:" in line:
            return line.split()[-1] + " inputs"
    return "no statistics"


def shorten(text):
    """The beginning, where a sanitizer says what it found, and the end."""
    half = OUTPUT_SHOWN // 2
    return text if len(text) <= OUTPUT_SHOWN else f"{text[:half]}\n[...]\n{text[-half:]}"


def show_failure(name, problem, directory):
    """The program's output, and what its XML says of the tests that failed."""
    print(f"FAIL {name}: {problem}")
    for path in sorted(directory.iterdir()):
        text = path.read_text(errors="replace")
        if path.suffix == ".log" or "<failure>" in text:
            print(shorten(text).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", required=True)
    parser.add_argument("--timeout", type=int, required=True)
    parser.add_argument("--wrap", default="", help="put before each program")
    parser.add_argument("--fuzz", action="store_true")
    parser.add_argument("--scratch", help="where fuzzing keeps corpus and crashes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()

    shutil.rmtree(options.results, ignore_errors=True)
    run = run_fuzz if options.fuzz else run_unit
    failed = 0

    def timed(program):
        start = time.monotonic()
        problem, note = run(program, options)
        return program, problem, note, time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for program, problem, note, seconds in pool.map(timed, options.programs):
            name = pathlib.Path(program).name
            if problem:
                failed += 1
                show_failure(name, problem, pathlib.Path(options.results) / name)
            else:
                print(f"ok   {name}: {note} ({seconds:.1f} s)")
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
