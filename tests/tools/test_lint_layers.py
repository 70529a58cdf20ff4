# SPDX-License-Identifier: MIT
"""The layer check finds what it claims to find, and nothing in code that keeps the rules."""
import pathlib
import subprocess
import sys

import pytest

LINT = pathlib.Path(__file__).parents[2] / "tools" / "lint_layers.py"
SPDX = "/* SPDX-License-Identifier: MIT */\n"
HEADER = SPDX + "#pragma once\nint thing_do(int n);\n"

GOOD_CORE = SPDX + """\
#include "core/room/thing.h"

#include <string.h>

#include "base/str.h"

/* time(NULL) in a comment, and "getenv(" in a literal, are no calls. */
static const char *const names[] = {"getenv(x)", "open('y')"};

struct pair {
    int (*open)(int);
};

static const struct pair pairs[] = {{NULL}};

static int timeout(int n)
{
    static const int steps[] = {1, 2};
    struct pair p = pairs[0];

    return p.open(steps[n]) + (int) strlen(names[0]);
}

int thing_do(int n)
{
    return timeout(n);
}
"""


def write_tree(root, files):
    for name, text in files.items():
        path = root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def tree(tmp_path):
    write_tree(tmp_path, {
        "base/str.h": HEADER,
        "core/room/thing.h": HEADER,
        "core/room/thing.c": GOOD_CORE,
        "port/loop.c": SPDX + "#include <ev.h>\nint now(void)\n{\n    return clock_gettime(1, 0);\n}\n",
        "port/bus.h": HEADER,
        "daemon/supervisor.h": HEADER,
        "ctl/status.h": HEADER,
        "coalmined.c": SPDX + '#include "daemon/supervisor.h"\n#include "ctl/status.h"\n',
    })
    return tmp_path


def lint(root):
    return subprocess.run([sys.executable, LINT, root], capture_output=True, text=True, check=False)


def test_good_tree_is_clean(tree):
    result = lint(tree)
    assert (result.stdout, result.returncode) == ("layers: 8 files, 0 findings\n", 0)


def function_of(lines):
    return "int f(void)\n{\n" + "    f();\n" * (lines - 3) + "}\n"


@pytest.mark.parametrize("name, body, line, message", [
    ("base/x.c", '#include "core/room/thing.h"\n', 2, 'base must not include "core/room/thing.h"'),
    ("base/x.c", "#include <systemd/sd-bus.h>\n", 2, "base must not include <systemd/sd-bus.h>"),
    ("core/x.c", '#include "port/bus.h"\n', 2, 'core must not include "port/bus.h"'),
    ("core/x.c", "#include <ev.h>\n", 2, "core must not include <ev.h>"),
    ("core/x.c", "#include <curl/curl.h>\n", 2, "core must not include <curl/curl.h>"),
    ("core/x.c", "#include <time.h>\n", 2, "core must not include <time.h>"),
    ("port/x.c", '#include "daemon/supervisor.h"\n', 2, 'port must not include "daemon/supervisor.h"'),
    ("daemon/x.c", '#include "ctl/status.h"\n', 2, 'daemon must not include "ctl/status.h"'),
    ("ctl/x.c", '#include "daemon/supervisor.h"\n', 2, 'ctl must not include "daemon/supervisor.h"'),
    ("port/x.c", '#include "bus.h"\n', 2, '"bus.h" is no path below src'),
    ("other/x.c", '#include "base/str.h"\n', 2, 'other must not include "base/str.h"'),
    ("core/x.c", "int f(void)\n{\n    return getenv(\"X\") != 0;\n}\n", 4, "the core must not call getenv()"),
    ("core/x.c", "void f(void)\n{\n    fprintf(0, \"\");\n}\n", 4, "the core must not call fprintf()"),
    ("core/x.c", "void f(void)\n{\n    sd_journal_print(0, \"\");\n}\n", 4,
     "the core must not call sd_journal_print()"),
    ("core/x.c", "long f(void)\n{\n    return time(0);\n}\n", 4, "the core must not call time()"),
    ("daemon/x.c", "long f(void)\n{\n    return time (0);\n}\n", 4, "time() is for port/loop.c alone"),
    ("coalminectl.c", "double f(void)\n{\n    return ev_now(0);\n}\n", 4,
     "ev_now() is for port/loop.c alone"),
    ("core/x.c", "static int counter;\n", 2, "the core must not keep variables"),
    ("core/x.c", "static const char *names[] = {\"a\"};\n", 2, "the core must not keep variables"),
    ("core/x.c", "int counter = 1;\n", 2, "the core must not keep variables"),
    ("core/x.c", "int f(void)\n{\n    static int n;\n    return n++;\n}\n", 4,
     "the core must not keep variables"),
    ("daemon/x.c", function_of(81), 2, "a function of 81 lines, 80 are the limit"),
    ("daemon/x.c", "\n" * 600, 1, "601 lines, 600 are the limit"),
    ("base/str.c", '#include <string.h>\n#include "base/str.h"\n', 1,
     'the first include is not "base/str.h"'),
])
def test_violation_is_found(tree, name, body, line, message):
    write_tree(tree, {name: SPDX + body})
    result = lint(tree)
    assert result.stdout.splitlines()[0] == f"src/{name}:{line}: {message}"
    assert result.stdout.endswith(" 1 findings\n")
    assert result.returncode == 1


@pytest.mark.parametrize("name, text, message", [
    ("port/y.c", "int x;\n", "the first line is not /* SPDX-License-Identifier: MIT */"),
    ("port/y.h", SPDX + "int f(void);\n", "no #pragma once"),
])
def test_form(tree, name, text, message):
    write_tree(tree, {name: text})
    assert lint(tree).stdout.splitlines()[0] == f"src/{name}:1: {message}"


def test_longest_allowed_function(tree):
    write_tree(tree, {"daemon/x.c": SPDX + function_of(80)})
    assert lint(tree).returncode == 0
