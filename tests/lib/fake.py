# SPDX-License-Identifier: MIT
"""The fake model server as a plain service, with nobody to supervise it."""

from lib.equipment import SERVERS_INSIDE

SERVER = f"/usr/bin/python3 {SERVERS_INSIDE}/openai_server.py"
ANSWER_SEC = 1


class FakeServer:
    """An openai_server.py as a service of its own."""

    def __init__(self, units, options, service_options=""):
        self.machine = units.machine
        port = self.machine.free_port()
        self.url = f"http://127.0.0.1:{port}"
        words = " ".join(str(option) for option in options)
        self.unit = units.service(f"{SERVER} --port {port} {words}", service_options)
        self.start()

    def start(self):
        self.machine.systemctl("start", self.unit)

    def wait_open(self):
        self.machine.wait_until(lambda: self.models().status == 200, what="the server to listen")
        return self

    def models(self):
        return self.machine.http("GET", self.url + "/v1/models", timeout=ANSWER_SEC)

    def generate(self, temperature=0, **more):
        body = {"prompt": "what sings", "max_tokens": 4, "temperature": temperature, **more}
        return self.machine.http("POST", self.url + "/v1/completions", body, timeout=20)

    def wait_dead(self):
        self.machine.wait_state(self.unit, "failed", "inactive")
        return self.machine.show(self.unit, "ExecMainCode", "ExecMainStatus")
