#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py DIR...: measures `coalminectl diagnose` on corpora of failures.

A corpus is DIR/cases.jsonl and DIR/cases/*.jsonl (one record a line: id, fatal, lines, expect.class,
expect.captures), DIR/logs/ (whole logs) and DIR/logs.jsonl (what a log must come to: log, class, root: a
part of the root line, null where the log has none). Logs without an expectation must be silent, unless
their name begins with `crash-`: then something fatal must be found.

Fails below the bars: 97 % of the fatal cases in the right class with all captures, nothing fatal in a
benign case, healthy logs silent, every crash log's root line found.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
BAR = 0.97
TIMEOUT_SECONDS = 60


class Diagnosis(NamedTuple):
    fatal: bool
    name: str
    signature: str
    captures: dict
    line: int
    text: str

    def __str__(self):
        if not self.signature:
            return "nothing"
        return f"{self.name} by {self.signature} from line {self.line}: {shorten(self.text)}"


class Miss(NamedTuple):
    kind: str
    subject: str
    wanted: str
    got: str


def shorten(text, limit=140):
    return text if len(text) <= limit else text[:limit] + "..."


def program():
    build = os.environ.get("COALMINE_BUILD", REPOSITORY / "build")
    return pathlib.Path(build) / "coalminectl"


def environment():
    """The catalog of this repository, and nothing of this machine."""
    return dict(os.environ, COALMINE_DATA_DIR=str(REPOSITORY / "conf"),
                COALMINE_CONFIG_DIR=str(HERE / "no-such-directory"), LC_ALL="C.UTF-8")


def diagnose(log):
    """log: bytes. Raises RuntimeError where the program does not do what it promises."""
    done = subprocess.run([program(), "diagnose", "--json", "-"], input=log, capture_output=True,
                          env=environment(), timeout=TIMEOUT_SECONDS, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.decode(errors='replace')}")
    answer = json.loads(done.stdout)
    if answer["fatal"] != (done.returncode == 0):
        raise RuntimeError(f"exit status {done.returncode}, but fatal is {answer['fatal']}")
    return Diagnosis(answer["fatal"], answer.get("class") or "", answer.get("signature") or "",
                     answer.get("captures") or {}, answer.get("line") or 0, answer.get("text") or "")


def read_records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read_cases(directory):
    paths = [directory / "cases.jsonl", *sorted((directory / "cases").glob("*.jsonl"))]
    return [case for path in paths if path.is_file() for case in read_records(path)]


def read_expectations(directory):
    """By the log's name. Our own table knows logs of other corpora, too."""
    paths = [HERE / "logs.jsonl", directory / "logs.jsonl"]
    return {e["log"]: e for path in paths if path.is_file() for e in read_records(path)}


def wrong_captures(wanted, got):
    return {name: value for name, value in wanted.items()
            if got.get(name, "").lower() != value.lower()}


def judge_case(case):
    """A list of misses; none is right."""
    got = diagnose("".join(line + "\n" for line in case["lines"]).encode())
    wanted = case["expect"]["class"]
    if not case["fatal"]:
        return [Miss("false alarm", case["id"], wanted, str(got))] if got.fatal else []
    if not got.fatal or got.name != wanted:
        return [Miss("class", case["id"], wanted, str(got))]
    wrong = wrong_captures(case["expect"].get("captures", {}), got.captures)
    if wrong:
        return [Miss("captures", case["id"], str(wrong), f"{got.captures} by {got.signature}")]
    return []


def judge_log(path, expected):
    got = diagnose(path.read_bytes())
    if expected is None and not path.name.startswith("crash-"):
        return [Miss("not silent", path.name, "nothing", str(got))] if got.fatal else []
    if expected is None:
        return [] if got.fatal else [Miss("log", path.name, "a cause", str(got))]
    if expected["root"] is None:
        return [Miss("not silent", path.name, "nothing", str(got))] if got.fatal else []
    if got.name != expected["class"]:
        return [Miss("log", path.name, expected["class"], str(got))]
    if expected["root"] not in got.text:
        return [Miss("root line", path.name, expected["root"], str(got))]
    return []


def judge_all(function, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda item: function(*item), items))


def print_classes(cases, results):
    by_class = collections.defaultdict(lambda: [0, 0])
    for case, misses in zip(cases, results):
        tally = by_class[case["expect"]["class"]]
        tally[0] += not misses
        tally[1] += 1
    for name, (right, all_of_them) in sorted(by_class.items()):
        print(f"  {name:26} {right:4} of {all_of_them:4}")


def print_sum(cases, results, logs, log_results):
    """Whether all bars are met."""
    fatal = [misses for case, misses in zip(cases, results) if case["fatal"]]
    benign = [misses for case, misses in zip(cases, results) if not case["fatal"]]
    in_class = sum(not any(m.kind == "class" for m in misses) for misses in fatal)
    right = sum(not misses for misses in fatal)
    alarms = sum(bool(misses) for misses in benign)
    print(f"fatal cases: {in_class} of {len(fatal)} in the right class, {right} with all captures")
    print(f"benign cases: {alarms} false alarms in {len(benign)}")
    print(f"whole logs: {sum(not m for m in log_results)} of {len(logs)} right")
    return right >= BAR * len(fatal) and alarms == 0 and not any(log_results)


def measure(directory):
    cases = read_cases(directory)
    expectations = read_expectations(directory)
    logs = sorted(p for p in (directory / "logs").glob("*") if p.is_file())
    if not cases and not logs:
        sys.exit(f"{directory}: neither cases nor logs")
    results = judge_all(judge_case, [(case,) for case in cases])
    log_results = judge_all(judge_log, [(path, expectations.get(path.name)) for path in logs])

    print(f"{directory}: {len(cases)} cases, {len(logs)} logs")
    print_classes(cases, results)
    for miss in (m for misses in results + log_results for m in misses):
        print(f"MISS {miss.kind}: {miss.subject}\n  wanted {miss.wanted}\n  got    {miss.got}")
    return print_sum(cases, results, logs, log_results)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=pathlib.Path, metavar="DIR")
    directories = parser.parse_args().directories
    try:
        passed = [measure(directory) for directory in directories]
    except (RuntimeError, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as error:
        sys.exit(f"run.py: {error}")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
