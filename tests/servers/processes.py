# SPDX-License-Identifier: MIT
"""A server's processes: workers, signals, noise and sudden death."""

import os
import signal
import sys
import time


def die(code, number=None):
    """End at once, answering nobody; workers stay behind, as they do with real engines."""
    if number is not None:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(10)
    os._exit(code)


def handle_sigterm(ignore):
    """Ignore SIGTERM, or end in order at it."""

    def end(*_):
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, signal.SIG_IGN if ignore else end)


def fork_workers(count, detached, ignore_sigterm):
    """Start COUNT idle workers and return their PIDs; detached ones are nobody's children."""
    return [_fork_worker(detached, ignore_sigterm) for _ in range(count)]


def _fork_worker(detached, ignore_sigterm):
    pid = os.fork()
    if pid:
        if detached:
            os.waitpid(pid, 0)
        return pid
    if detached:
        os.setsid()
        if os.fork():
            os._exit(0)
    handle_sigterm(ignore_sigterm)
    try:
        while True:
            signal.pause()
    finally:
        os._exit(0)


def stop(workers):
    """End the WORKERS that are still children."""
    for pid in workers:
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            continue


def flood(lines_per_second):
    """Print numbered lines for ever, in ten bursts a second."""
    number = 0
    while True:
        burst = [
            f"INFO: decode batch {number + i}, gen throughput (token/s): 71.3\n"
            for i in range(max(1, int(lines_per_second / 10)))
        ]
        number += len(burst)
        sys.stdout.write("".join(burst))
        sys.stdout.flush()
        time.sleep(0.1)
