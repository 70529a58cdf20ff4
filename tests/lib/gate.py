# SPDX-License-Identifier: MIT
"""The public port of an instance: coalmine-gate@NAME.socket and .service."""

import json
import subprocess

from lib.http import SCRIPT, Reply


class Gate:
    """That of SERVER (a Supervised), enabled with a port of its own; remove() it in the end."""

    def __init__(self, server):
        self.machine = server.machine
        self.port = self.machine.free_port()
        self.socket = f"coalmine-gate@{server.name}.socket"
        self.service = f"coalmine-gate@{server.name}.service"
        self.drop_in = f"/etc/systemd/system/{self.socket}.d/port.conf"
        self.machine.write(self.drop_in, f"[Socket]\nListenStream={self.port}\n")
        self.machine.systemctl("enable", self.socket)

    def remove(self):
        self.machine.systemctl("disable", "--now", self.socket, check=False)
        self.machine.remove(self.drop_in)

    def client(self, timeout=40):
        """A client that asks for a token right now; wait_reply() gets its Reply."""
        body = {"prompt": "what sings", "max_tokens": 1}
        ask = {
            "method": "POST",
            "url": f"http://127.0.0.1:{self.port}/v1/completions",
            "body": body,
            "timeout": timeout,
            "headers": {},
        }
        return self.machine.spawn(
            ["python3", "-c", SCRIPT, json.dumps(ask)], stdout=subprocess.PIPE, text=True
        )

    def ask(self):
        return wait_reply(self.client())

    def is_listening(self):
        return self.machine.is_active(self.socket) == "active"


def wait_reply(client, timeout=60):
    out, _ = client.communicate(timeout=timeout)
    return Reply(**json.loads(out))
