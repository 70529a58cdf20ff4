# SPDX-License-Identifier: MIT
"""A machine's journal, read through journalctl."""

import json


class Journal:
    def __init__(self, machine):
        self._machine = machine

    def records(self, unit=None, since=None, **fields):
        """Its records as dicts, oldest first: of UNIT, after the cursor SINCE, with FIELDS."""
        command = ["journalctl", "--no-pager", "--all", "--output=json"]
        command += [f"--unit={unit}"] if unit else []
        command += [f"--after-cursor={since}"] if since else []
        command += [f"{name}={value}" for name, value in fields.items()]
        lines = self._machine.run(command).stdout.splitlines()
        return [_record(line) for line in lines if line.startswith("{")]

    def text(self, *arguments, lines=200):
        """The last LINES as a person would read them."""
        command = ["journalctl", "--no-pager", "--output=short-precise", f"--lines={lines}"]
        return self._machine.run([*command, *arguments], check=False).stdout

    def cursor(self):
        """Where the journal ends now."""
        self._machine.run(["journalctl", "--sync"])
        out = self._machine.run("journalctl --no-pager --lines=0 --show-cursor").stdout
        return out.split("-- cursor:", 1)[1].strip()


def _record(line):
    """One record; journalctl writes a field that is no UTF-8 as a list of its bytes."""
    record = json.loads(line)
    for name, value in record.items():
        if isinstance(value, list) and all(isinstance(byte, int) for byte in value):
            record[name] = bytes(value).decode(errors="replace")
    record.setdefault("MESSAGE", "")
    return record
