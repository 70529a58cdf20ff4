#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a supervisor costs, and how fast it is: coalmined as a plain process around a small server.

Prints figures; asserts nothing, since machines differ. The server is a thread of this program, so that the
moment at which it answers is known on the same clock; coalmined's child only sleeps.
"""

import http.server
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("COALMINE_BUILD", TREE / "build"))
REST_SEC = 20
ROUNDS = 5


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers at once, and remembers when the last answer was out."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self.server.answered = time.monotonic()

    def do_GET(self):
        self._answer({"data": [{"id": "bench"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if request.get("stream"):
            self._stream()
            return
        message = {"role": "assistant", "content": "one two three"}
        choice = {"index": 0, "message": message, "finish_reason": "length"}
        self._answer({"model": "bench", "choices": [choice], "usage": {"completion_tokens": 3}})

    def _stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for word in ("one ", "two ", "three"):
            choice = {"index": 0, "delta": {"content": word}}
            self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")
        self.wfile.flush()
        self.close_connection = True
        self.server.answered = time.monotonic()


class Notify:
    """The service manager's end of NOTIFY_SOCKET."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)

    def wait_ready(self, timeout=60):
        self.socket.settimeout(timeout)
        while True:
            message = self.socket.recv(65536)
            if b"READY=1" in message.split(b"\n"):
                return time.monotonic()


class Run:
    """One coalmined around a child that sleeps, in front of the thread that answers."""

    def __init__(self, *settings):
        self._directory = tempfile.TemporaryDirectory(prefix="coalmine-bench.")
        base = pathlib.Path(self._directory.name)
        self.notify = Notify(base / "notify")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environment = dict(
            os.environ,
            NOTIFY_SOCKET=self.notify.path,
            COALMINE_CONFIG_DIR=str(base),
            COALMINE_RUNTIME_DIR=str(base / "run"),
            COALMINE_STATE_DIR=str(base / "state"),
        )
        settings = ("Start.Preflight=no", "Start.VerifyListener=no", "Live.IntervalSec=5min", *settings)
        options = ["--instance=bench", "--profile=openai", f"--url=http://127.0.0.1:{self.port}"]
        options += [f"--set={setting}" for setting in settings]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [BUILD / "coalmined", *options, "--", "/bin/sh", "-c", "echo loaded; exec sleep 3600"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.server = None

    def serve(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.answered = 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return time.monotonic()

    def child(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return int(pathlib.Path(path).read_text(encoding="ascii").split()[0])

    def wait_line(self, text):
        for line in self.process.stderr:
            if text in line:
                return time.monotonic()
        sys.exit(f"coalmined ended before it said '{text}'")

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self._directory.cleanup()


def private_mib(pid, kinds):
    """Memory that only this process has: "Dirty" is its own, "Clean" are pages of libraries' files, which the
    kernel can drop at will and which every other process with the library would share."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    names = tuple(f"Private_{kind}:" for kind in kinds)
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(names)) / 1024


def switches(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return sum(int(line.split()[1]) for line in text.splitlines() if "ctxt_switches" in line)


def figure(name, values, unit, bound):
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"{name:<48} {middle:9.2f} {unit:<4} (min {low:.2f}, max {high:.2f}; wanted: {bound})")


def measure_start():
    """Start-up of coalmined, the answerable server to READY, and the last answer to READY."""
    setups, to_ready, last_answer = [], [], []
    for _ in range(ROUNDS):
        run = Run()
        setups.append(1000 * (run.wait_line("loaded") - run.started))
        time.sleep(1.5)
        able = run.serve()
        ready = run.notify.wait_ready()
        to_ready.append(1000 * (ready - able))
        last_answer.append(1000 * (ready - run.server.answered))
        run.close()
    figure("start of coalmined to the server's first line", setups, "ms", "-")
    figure("server able to answer to READY", to_ready, "ms", "300 and the canaries' own time")
    figure("last canary's answer to READY", last_answer, "ms", "20")


def measure_rest():
    """Memory and wake-ups of a coalmined that has nothing to do."""
    run = Run()
    run.serve()
    run.notify.wait_ready()
    time.sleep(2)
    before = switches(run.process.pid)
    time.sleep(REST_SEC)
    woken = switches(run.process.pid) - before
    figure("private memory at rest after READY", [private_mib(run.process.pid, ["Dirty"])], "MiB", "6")
    figure("the same with clean pages of library files", [private_mib(run.process.pid, ["Dirty", "Clean"])], "MiB", "-")
    figure(f"context switches in {REST_SEC} s at rest", [woken], "", "0 but for its timers")
    run.close()


def measure_exit():
    """From the server's death to the decision, through the pipe."""
    times = []
    for _ in range(ROUNDS):
        run = Run("Restart.Budget=0")
        run.serve()
        run.notify.wait_ready()
        child = run.child()
        killed = time.monotonic()
        os.kill(child, signal.SIGKILL)
        times.append(1000 * (run.wait_line("Decision:") - killed))
        run.close()
    figure("exit of the server to the decision, by pipe", times, "ms", "20")


if __name__ == "__main__":
    measure_start()
    measure_rest()
    measure_exit()
