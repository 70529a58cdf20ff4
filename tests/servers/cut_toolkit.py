#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cut_toolkit.py SOURCE DESTINATION PATTERN...

Make DESTINATION a copy of the toolkit SOURCE out of symbolic links, without the files whose names
match a PATTERN. Directories are real ones all the way, also where SOURCE has links to directories:
nvcc finds its headers through such a link. SOURCE is only read.
"""

import fnmatch
import os
import sys


def cut(source, destination, patterns):
    for directory, _, files in os.walk(source, followlinks=True):
        target = os.path.join(destination, os.path.relpath(directory, source))
        os.makedirs(target, exist_ok=True)
        for name in files:
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                os.symlink(os.path.join(directory, name), os.path.join(target, name))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cut(sys.argv[1], sys.argv[2], sys.argv[3:])
