#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fake model server with one engine's own API beside OpenAI's, its metrics, and its quirks.

--engine says whose: sglang (the whole text so far with each event), vllm (healthy though its engine is
dead), trtllm, tgi (424 when generating fails), ollama (lines of JSON, streamed unless told not to),
triton (no list of models but an index). All options of openai_server.py work, too; --swap-after N
lets another model answer after N generations, as behind a proxy.
"""

import argparse
import json
import sys
import threading
import time
import urllib.parse

import openai_server

SWAPPED = "canary/other-8B"
METRICS = {
    "sglang": ("sglang:generation_tokens_total", "sglang:num_requests_total", "sglang:num_running_reqs"),
    "vllm": ("vllm:generation_tokens_total", "vllm:request_success_total", "vllm:num_requests_running"),
    "trtllm": ("trtllm_kv_cache_utilization", "trtllm_request_success_total", "trtllm_running"),
    "tgi": ("tgi_request_generated_tokens_sum", "tgi_request_success", "tgi_batch_current_size"),
    "triton": ("nv_inference_exec_count", "nv_inference_request_success", "nv_inference_pending_request_count"),
}
METRICS_PATHS = {"trtllm": "/prometheus/metrics"}


class CountingEngine(openai_server.Engine):
    """Counts what it generates, for the metrics."""

    def __init__(self, options):
        super().__init__(options)
        self.counts = {"tokens": 0, "requests": 0, "running": 0}
        self.hang_after = 0
        self._count_lock = threading.Lock()

    def count(self, what, by):
        with self._count_lock:
            self.counts[what] += by

    def served(self):
        return self.counts["requests"]

    def tokens(self, count, temperature):
        self.count("running", 1)
        if self.hang_after and self.served() >= self.hang_after:
            threading.Event().wait()
        try:
            for word in super().tokens(count, temperature):
                self.count("tokens", 1)
                yield word
            self.count("requests", 1)
        finally:
            self.count("running", -1)


class Generation:
    """What a native request asks for, whatever it calls it."""

    def __init__(self, count, temperature, streamed):
        self.count = int(count)
        self.temperature = float(temperature or 0)
        self.streamed = bool(streamed)


def finish(generated, wanted):
    return "length" if generated >= wanted else "stop"


class Sglang:
    paths = ("/generate",)

    @staticmethod
    def parse(_, body):
        sampling = body["sampling_params"]
        body["text"]
        return Generation(sampling["max_new_tokens"], sampling.get("temperature", 1), body.get("stream"))

    @staticmethod
    def answer(words, _):
        meta = {
            "prompt_tokens": 5,
            "completion_tokens": len(words),
            "finish_reason": {"type": "length", "length": len(words)},
            "output_token_logprobs": [[-0.5, 7, None] for _ in words],
        }
        return {"text": "".join(words), "output_ids": [7 for _ in words], "meta_info": meta}

    @classmethod
    def events(cls, words, name, _):
        so_far = []
        for word in words:
            so_far.append(word)
            yield cls.answer(so_far, name)
        yield "[DONE]"


class Tgi:
    paths = ("/generate", "/generate_stream")

    @staticmethod
    def parse(path, body):
        body["inputs"]
        parameters = body["parameters"]
        temperature = parameters.get("temperature")
        if temperature is not None and temperature <= 0:
            raise ValueError("`temperature` must be strictly positive")
        return Generation(parameters["max_new_tokens"], temperature, path == "/generate_stream")

    @staticmethod
    def answer(words, _):
        tokens = [{"id": 7, "text": word, "logprob": -0.5, "special": False} for word in words]
        details = {"finish_reason": "length", "generated_tokens": len(words), "tokens": tokens}
        return {"generated_text": "".join(words), "details": details}

    @staticmethod
    def events(words, _, wanted):
        so_far = []
        for word in words:
            so_far.append(word)
            event = {"index": len(so_far), "token": {"id": 7, "text": word, "logprob": -0.5, "special": False}}
            event.update(generated_text=None, details=None)
            if len(so_far) == wanted:
                details = {"finish_reason": "length", "generated_tokens": wanted, "input_length": 5}
                event.update(generated_text="".join(so_far), details=details)
            yield event


class Triton:
    paths = ("/v2/models/{model}/generate", "/v2/models/{model}/generate_stream", "/v2/models/{model}/infer")

    @staticmethod
    def parse(path, body):
        if path.endswith("/infer"):
            inputs = {tensor["name"]: tensor["data"][0] for tensor in body["inputs"]}
            inputs["text_input"]
            return Generation(inputs["max_tokens"], 0, False)
        body["text_input"]
        parameters = body["parameters"]
        return Generation(parameters["max_tokens"], parameters.get("temperature"), parameters.get("stream"))

    @staticmethod
    def answer(words, name):
        text = "".join(words)
        outputs = [{"name": "text_output", "datatype": "BYTES", "shape": [1], "data": [text]}]
        return {"model_name": name, "model_version": "1", "text_output": text, "outputs": outputs}

    @staticmethod
    def events(words, name, _):
        for word in words:
            yield {"model_name": name, "model_version": "1", "text_output": word}


class Ollama:
    paths = ("/api/generate", "/api/chat")

    @staticmethod
    def parse(path, body):
        body["prompt" if path == "/api/generate" else "messages"]
        options = body.get("options") or {}
        return Generation(options.get("num_predict", 16), options.get("temperature", 0.8), body.get("stream", True))

    @staticmethod
    def piece(text, name, path, **more):
        held = {"response": text} if path == "/api/generate" else {"message": {"role": "assistant", "content": text}}
        return {"model": name, "created_at": "2031-02-03T04:05:06Z", **held, "done": False, **more}


class Handler(openai_server.Handler):
    kind = None
    swap_after = 0
    dead = False

    def name(self):
        swapped = self.swap_after and self.engine.served() >= self.swap_after
        return SWAPPED if swapped else self.engine.options.model

    def do_GET(self):
        if self.path == "/health" and self.kind == "vllm":
            self._send(200, "")
        elif self.path == METRICS_PATHS.get(self.kind, "/metrics") and self.kind in METRICS:
            self._metrics()
        elif self.path == "/info" and self.kind == "tgi":
            if not self._refused():
                self._send(200, {"model_id": self.engine.options.model, "version": "3"})
        elif self.kind == "triton":
            self._error(404, "Not Found")
        else:
            super().do_GET()

    def _metrics(self):
        counts = self.engine.counts
        values = zip(METRICS[self.kind], (counts["tokens"], counts["requests"], counts["running"]))
        page = "".join(f'# TYPE {name} gauge\n{name}{{model="x"}} {value}\n' for name, value in values)
        self._send_bytes(200, "text/plain; version=0.0.4", page.encode())

    def do_POST(self):
        if self.dead:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._error(500, "EngineCore encountered an issue. See stack trace (above) for the root cause.")
        elif self.path == "/v2/repository/index" and self.kind == "triton":
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._send(200, self._index())
        elif self.native():
            self._native()
        else:
            super().do_POST()

    def _index(self):
        state = "READY" if self.engine.loaded.is_set() else "LOADING"
        other = {"name": "broken", "version": "1", "state": "UNAVAILABLE", "reason": "load failed"}
        return [other, {"name": self.engine.options.model, "version": "1", "state": state}]

    def native(self):
        """The engine's own API, if the path belongs to it."""
        api = {"sglang": Sglang, "tgi": Tgi, "triton": Triton, "ollama": Ollama}.get(self.kind)
        model = urllib.parse.quote(self.engine.options.model, safe="")
        return api if api and self.path in [path.format(model=model) for path in api.paths] else None

    def _native(self):
        api = self.native()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._refused():
            return
        try:
            body = json.loads(body)
            wanted = api.parse(self.path, body)
        except (ValueError, KeyError, TypeError) as wrong:
            self._error(422, f"{wrong}")
            return
        if api is Ollama and body.get("model", self.engine.options.model) != self.engine.options.model:
            self._send(404, {"error": f"model '{body['model']}' not found"})
            return
        self._generate_native(api, wanted)

    def _generate_native(self, api, wanted):
        if self.engine.options.never_answer:
            threading.Event().wait()
        if self.engine.options.http_error:
            self._send(self.engine.options.http_error, {"error": "generation failed", "error_type": "generation"})
            return
        words = self.engine.tokens(wanted.count, wanted.temperature)
        if api is Ollama:
            self._ollama(words, wanted)
        elif wanted.streamed:
            events = api.events(words, self.name(), wanted.count)
            self._chunks("text/event-stream", (self._event(event) for event in events))
        else:
            self._send(200, api.answer(list(words), self.name()))

    @staticmethod
    def _event(event):
        return f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"

    def _ollama(self, words, wanted):
        end = {"done": True, "done_reason": "length", "eval_count": wanted.count, "eval_duration": 1}
        if not wanted.streamed:
            self._send(200, Ollama.piece("".join(words), self.name(), self.path, **end))
            return
        pieces = [(word, {}) for word in words] + [("", end)]
        lines = (json.dumps(Ollama.piece(text, self.name(), self.path, **more)) + "\n" for text, more in pieces)
        self._chunks("application/x-ndjson", lines)

    def _chunks(self, kind, pieces):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            data = piece.encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, status, value):
        """Whoever answers, it names itself."""
        if isinstance(value, dict) and "model" in value:
            value = {**value, "model": self.name()}
        super()._send(status, value)

    def _send_bytes(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Others(threading.Thread):
    """Another client, whose request keeps the engine at work and its counters moving."""

    def __init__(self, engine):
        super().__init__(daemon=True)
        self._engine = engine

    def run(self):
        self._engine.count("running", 1)
        while True:
            time.sleep(0.05)
            self._engine.count("tokens", 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--engine", choices=("sglang", "vllm", "trtllm", "tgi", "ollama", "triton"), required=True)
    parser.add_argument("--swap-after", type=int, default=0)
    parser.add_argument("--dead-engine", action="store_true", help="healthy by its own words, and dead")
    parser.add_argument("--hang-after", type=int, default=0, metavar="N", help="generate no more after N")
    parser.add_argument("--others", action="store_true", help="a request of somebody else never ends")
    own, rest = parser.parse_known_args()
    Handler.kind, Handler.swap_after, Handler.dead = own.engine, own.swap_after, own.dead_engine
    openai_server.Handler = Handler

    class Engine(CountingEngine):
        def __init__(self, options):
            super().__init__(options)
            self.hang_after = own.hang_after
            if own.others:
                Others(self).start()

    openai_server.Engine = Engine
    sys.argv[1:] = rest
    openai_server.main()


if __name__ == "__main__":
    main()
