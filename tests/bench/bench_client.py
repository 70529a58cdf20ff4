#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How much `coalminectl bench` can take in: streamed chunks a second of its own processor time.

The server sends ready-made streams as fast as the socket takes them. Prints figures, asserts nothing.
"""

import json
import os
import pathlib
import resource
import socket
import subprocess
import threading

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("COALMINE_BUILD", TREE / "build"))
CHUNKS = 2000
REQUESTS = 200
CONCURRENCY = 8


def stream():
    """One whole answer of CHUNKS pieces, as servers of this kind send it."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    chunk = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "bench",
        "choices": [{"index": 0, "delta": {"content": " canary"}, "logprobs": None, "finish_reason": None}],
    }
    event = f"data: {json.dumps(chunk)}\n\n"
    return (head + event * CHUNKS + "data: [DONE]\n\n").encode()


def models():
    body = json.dumps({"object": "list", "data": [{"id": "bench", "object": "model"}]})
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def serve(listener, answer):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=reply, args=(connection, answer), daemon=True).start()


def reply(connection, answer):
    with connection:
        request = connection.recv(65536)
        try:
            connection.sendall(models() if request.startswith(b"GET") else answer)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        except OSError:
            pass  # the client has closed; it wants no more


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=serve, args=(listener, stream()), daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    command = [BUILD / "coalminectl", "bench", f"--url={url}", "--json", f"--requests={REQUESTS}"]
    command += [f"--concurrency={CONCURRENCY}", f"--max-tokens={CHUNKS}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    chunks = told["single"]["tokens"] + sum(level["tokens"] for level in told["sweep"])
    rate = chunks / seconds
    print(f"{'streamed chunks for a second of processor time':<48} {rate:9.0f}      (wanted: 20000)")


if __name__ == "__main__":
    main()
