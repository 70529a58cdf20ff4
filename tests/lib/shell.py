# SPDX-License-Identifier: MIT
"""Running a command to its end and saying well what went wrong."""

import shlex
import subprocess
import time


class CommandError(AssertionError):
    """A command that ended otherwise than it should have."""


class Result:
    """What a command left behind: returncode, stdout and stderr as text."""

    def __init__(self, argv, returncode, stdout, stderr):
        self.argv = argv
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr

    def __repr__(self):
        return f"exit {self.returncode} of {shlex.join(self.argv)}\n{self.stdout}{self.stderr}"


def run(argv, check=True, timeout=60, stdin="", **popen):
    """Run ARGV with STDIN (text or bytes) as its input; stdout and stderr come back as text."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    try:
        done = subprocess.run(argv, input=data, capture_output=True, timeout=timeout, **popen)
    except subprocess.TimeoutExpired as late:
        raise CommandError(
            f"{shlex.join(argv)}: still running after {timeout} s\n"
            f"{_text(late.stdout)}{_text(late.stderr)}"
        ) from None
    result = Result(argv, done.returncode, _text(done.stdout), _text(done.stderr))
    if check and result.returncode != 0:
        raise CommandError(repr(result))
    return result


def _text(data):
    return (data or b"").decode(errors="backslashreplace")


def wait_until(predicate, timeout=30.0, interval=0.05, what=None):
    """Call PREDICATE until it returns something true, and return that.

    After TIMEOUT seconds: TimeoutError, which names WHAT was waited for and the last value seen.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() >= deadline:
            label = what or getattr(predicate, "__name__", "condition")
            raise TimeoutError(f"not within {timeout} s: {label} (last value: {value!r})")
        time.sleep(interval)
