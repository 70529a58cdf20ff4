#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small OpenAI-compatible model server that fails in the ways real ones do.

It answers /health, /v1/models, /v1/chat/completions and /v1/completions, streamed or not. Without
options it is a healthy server. Its log looks like a Python engine's and goes to stderr.

With --lives FILE (a JSON list of lists of options) the n-th start takes the n-th list on top of its
own options, and later starts the last list: [["--crash-after", "1"], []] crashes once, then works.
"""

import argparse
import http.server
import json
import os
import sys
import threading
import time
import traceback

import generation
import processes
from jit_build import JitBuild


def log(text):
    sys.stderr.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {text}\n")
    sys.stderr.flush()


def parse_options(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", default="canary/tiny-1B", help="the model's id")
    load = parser.add_argument_group("loading")
    load.add_argument("--load-sec", type=float, default=0.0, help="seconds of loading")
    load.add_argument(
        "--load-503", action="store_true", help="listen at once and answer 503 while loading"
    )
    answer = parser.add_argument_group("answers")
    answer.add_argument("--text", help="generate the words of TEXT instead of random ones")
    answer.add_argument("--reasoning", action="store_true", help="all text is reasoning_content")
    answer.add_argument(
        "--no-tokens", action="store_true", help="answer without a single generated token"
    )
    answer.add_argument(
        "--http-error", type=int, metavar="CODE", help="answer generation with this status"
    )
    answer.add_argument("--api-key", help="answer 401 to whoever does not send it as bearer token")
    answer.add_argument("--token-sec", type=float, default=0.0, help="seconds for one token")
    answer.add_argument(
        "--never-answer", choices=("generation", "all"), help="accept requests and wait for ever"
    )
    death = parser.add_argument_group("death")
    death.add_argument(
        "--crash-after",
        type=int,
        metavar="N",
        help="die while serving the N-th generation; 0: at the end of loading",
    )
    death.add_argument(
        "--crash-log", default="", metavar="TEXT", help="last words; @FILE takes them from FILE"
    )
    death.add_argument("--exit-code", type=int, default=1)
    death.add_argument(
        "--exit-signal", type=int, metavar="NUMBER", help="die of this signal instead"
    )
    death.add_argument(
        "--jit-on-sampled",
        metavar="TOOLKIT",
        help="build the sampling kernel with TOOLKIT at the first sampled request",
    )
    death.add_argument("--jit-cache", default="/tmp/jit-cache", help="where the kernel is built")
    process = parser.add_argument_group("processes")
    process.add_argument("--fork-workers", type=int, default=0, metavar="N")
    process.add_argument(
        "--detach-workers", action="store_true", help="workers leave session and parent"
    )
    process.add_argument("--ignore-sigterm", action="store_true", help="the workers ignore it, too")
    process.add_argument(
        "--stdout-flood", type=float, default=0, metavar="N", help="print N lines a second"
    )
    history = parser.add_argument_group("several lives")
    history.add_argument(
        "--state", metavar="FILE", help="append a line of JSON to FILE at every start"
    )
    history.add_argument("--lives", metavar="FILE", help="options for each start; takes --state")
    options = parser.parse_args(arguments)
    if options.lives and not options.state:
        parser.error("--lives takes --state")
    return options


def record_start(path):
    """Append this start to the state file; return how many came before it."""
    with open(path, "a+", encoding="utf-8") as state:
        state.seek(0)
        before = len(state.readlines())
        state.write(
            json.dumps({"start": before + 1, "pid": os.getpid(), "time": time.time()}) + "\n"
        )
    return before


def options_of_this_life(arguments):
    options = parse_options(arguments)
    if not options.state:
        return options
    before = record_start(options.state)
    if not options.lives:
        return options
    with open(options.lives, encoding="utf-8") as handle:
        lives = json.load(handle)
    return parse_options(arguments + lives[min(before, len(lives) - 1)])


class Engine:
    """What stands behind the HTTP server: tokens, and the ways to die while making them."""

    def __init__(self, options):
        self.options = options
        self.loaded = threading.Event()
        self._served = 0
        self._lock = threading.Lock()
        self._kernel = None

    def load(self):
        log(f"Loading weights of {self.options.model}")
        steps = max(1, int(self.options.load_sec / 0.25))
        for step in range(1, steps + 1):
            time.sleep(self.options.load_sec / steps)
            done = f"{100 * step // steps}% Completed | {step}/{steps}"
            log(f"Loading safetensors checkpoint shards: {done}")
        if self.options.crash_after == 0:
            self._die()
        self.loaded.set()
        log("Load weight end. avail mem=75.12 GB")

    def tokens(self, count, temperature):
        """Generate COUNT tokens; what is to happen at this generation happens first."""
        with self._lock:
            self._served += 1
            if self._served == self.options.crash_after:
                self._die()
        pick = self._picker(temperature)
        for word in generation.words(count, self.options, pick):
            time.sleep(self.options.token_sec)
            yield word

    def _picker(self, temperature):
        """The function that chooses a word's number out of N; sampling may need a kernel first."""
        if temperature <= 0:
            return generation.greedy()
        if not self.options.jit_on_sampled:
            return generation.sampled()
        with self._lock:
            if not self._kernel:
                self._kernel = self._build_kernel()
        return self._kernel

    def _build_kernel(self):
        log("Building sampling kernels (first sampled request)")
        try:
            return JitBuild(self.options.jit_on_sampled, self.options.jit_cache).load()
        except RuntimeError:
            log("Scheduler hit an exception: " + traceback.format_exc())
            self._die()

    def _die(self):
        words = self.options.crash_log
        if words.startswith("@"):
            with open(words[1:], encoding="utf-8", errors="surrogateescape") as handle:
                words = handle.read()
        if words:
            sys.stderr.write(words.rstrip("\n") + "\n")
            sys.stderr.flush()
        processes.die(self.options.exit_code, self.options.exit_signal)


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection. The engine is a class attribute, set before the server starts."""

    protocol_version = "HTTP/1.1"
    engine = None

    def log_message(self, template, *values):
        log(f"INFO:     {self.client_address[0]}:{self.client_address[1]} - {template % values}")

    def do_GET(self):
        if self._refused():
            return
        if self.path == "/health":
            self._send(200, {"status": "ok"})
        elif self.path == "/v1/models":
            self._send(200, generation.models(self.engine.options.model))
        else:
            self._error(404, "Not Found")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._refused():
            return
        shape = generation.SHAPES.get(self.path)
        if not shape:
            self._error(404, "Not Found")
            return
        try:
            request = generation.Request(shape, json.loads(body), self.engine.options)
        except (ValueError, TypeError, AttributeError) as wrong:
            self._error(400, str(wrong))
            return
        self._generate(request)

    def _refused(self):
        """Whether the request was answered, or left unanswered, before it came to its path."""
        options = self.engine.options
        if options.never_answer == "all":
            threading.Event().wait()
        if not self.engine.loaded.is_set():
            self._error(503, "Loading model")
            return True
        if options.api_key and self.headers.get("Authorization") != f"Bearer {options.api_key}":
            self._error(401, "Invalid API key")
            return True
        return False

    def _generate(self, request):
        options = self.engine.options
        if options.never_answer:
            threading.Event().wait()
        if options.http_error:
            self._error(options.http_error, "the engine could not serve this request")
        elif request.streamed:
            self._stream(request)
        else:
            words = list(self.engine.tokens(request.max_tokens, request.temperature))
            self._send(200, request.whole(words))

    def _stream(self, request):
        words = self.engine.tokens(request.max_tokens, request.temperature)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in request.events(words):
            data = f"data: {event}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _error(self, status, text):
        self._send(status, {"error": {"message": text, "type": "error", "code": status}})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """A client that goes away is no event; anything else is printed."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def listen(options):
    """Bind as uvicorn does, which says that start-up is complete before it tries."""
    log("INFO:     Application startup complete.")
    try:
        server = Server((options.host, options.port), Handler)
    except OSError as failure:
        log(
            f"ERROR:    [Errno {failure.errno}] error while attempting to bind on address "
            f"('{options.host}', {options.port}): {os.strerror(failure.errno).lower()}"
        )
        sys.exit(1)
    log(f"INFO:     Uvicorn running on http://{options.host}:{options.port} (Press CTRL+C to quit)")
    return server


def main():
    options = options_of_this_life(sys.argv[1:])
    workers = processes.fork_workers(
        options.fork_workers, options.detach_workers, options.ignore_sigterm
    )
    processes.handle_sigterm(options.ignore_sigterm)
    Handler.engine = Engine(options)
    try:
        if options.stdout_flood:
            threading.Thread(
                target=processes.flood, args=(options.stdout_flood,), daemon=True
            ).start()
        if options.load_503:
            threading.Thread(target=Handler.engine.load, daemon=True).start()
        else:
            Handler.engine.load()
        listen(options).serve_forever()
    finally:
        log("INFO:     Shutting down")
        processes.stop(workers)


if __name__ == "__main__":
    main()
