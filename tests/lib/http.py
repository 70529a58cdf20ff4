# SPDX-License-Identifier: MIT
"""HTTP requests made inside a machine."""

import json

SCRIPT = """
import json, sys, time, urllib.error, urllib.request
ask = json.loads(sys.argv[1])
data = None if ask["body"] is None else json.dumps(ask["body"]).encode()
headers = {"Content-Type": "application/json", **ask["headers"]}
request = urllib.request.Request(ask["url"], data, headers, method=ask["method"])
start = time.monotonic()
status = error = None
body = b""
try:
    with urllib.request.urlopen(request, timeout=ask["timeout"]) as answer:
        body, status = answer.read(), answer.status
except urllib.error.HTTPError as refusal:
    body, status = refusal.read(), refusal.code
except Exception as failure:
    error = f"{type(failure).__name__}: {failure}"
print(json.dumps({"status": status, "body": body.decode(errors="replace"), "error": error,
                  "seconds": time.monotonic() - start}))
"""


class Reply:
    """status is None when no whole answer came; error then says why."""

    def __init__(self, status, body, seconds, error):
        self.status = status
        self.body = body
        self.seconds = seconds
        self.error = error

    def __repr__(self):
        return f"<{self.status} {self.error or self.body[:200]!r} in {self.seconds:.3f} s>"

    def json(self):
        return json.loads(self.body)

    def events(self):
        """The JSON values of a streamed answer's data lines; [DONE] stands as it is."""
        data = [line[6:] for line in self.body.splitlines() if line.startswith("data: ")]
        return [item if item == "[DONE]" else json.loads(item) for item in data]


def request(machine, method, url, body=None, timeout=10, headers=()):
    """One request from inside MACHINE; BODY is sent as JSON."""
    ask = {"method": method, "url": url, "body": body, "timeout": timeout}
    ask["headers"] = dict(headers)
    done = machine.python(SCRIPT, json.dumps(ask), timeout=timeout + 10)
    return Reply(**json.loads(done.stdout))
