#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lint_layers.py ROOT: proves from the sources under ROOT/src that

- includes point downwards only, and base and core include no header of the outside world;
- the core is pure: no clock, no I/O, no environment, no variable that outlives a call;
- the clock is read in port/loop.c alone;
- no function is longer than 80 lines and no file longer than 600;
- every file names its licence, every header is guarded, every file includes its own header first.

Prints `file:line: what is wrong` for each finding and exits 1 if there was any.
"""
import pathlib
import re
import sys
from typing import NamedTuple

FUNCTION_LINES = 80
FILE_LINES = 600

# What a layer may include of the project. The mains, which lie in src itself, may include all.
LAYERS = {
    "base": {"base"},
    "core": {"core", "base"},
    "port": {"port", "core", "base"},
    "client": {"client", "port", "core", "base"},
    "daemon": {"daemon", "client", "port", "core", "base"},
    "ctl": {"ctl", "client", "port", "core", "base"},
}

PURE_HEADERS = set("""
    assert.h ctype.h errno.h float.h inttypes.h limits.h locale.h math.h signal.h stdalign.h
    stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h sys/types.h
""".split())
# System headers that a layer is confined to; other layers may include any.
SYSTEM_HEADERS = {
    "base": PURE_HEADERS | {"time.h", "unistd.h"},
    "core": PURE_HEADERS | {"arpa/inet.h", "jansson.h", "hs.h", "hs/hs.h", "pcre2.h"},
}

CLOCK_FILE = "port/loop.c"
CLOCK_CALLS = set("""
    clock clock_gettime ev_now ev_time ftime gettimeofday sd_event_now time timespec_get
""".split())
# What a pure function does not call. Names that begin with one of IMPURE_PREFIXES count too.
IMPURE_CALLS = CLOCK_CALLS | set("""
    abort access close connect creat dprintf dup dup2 err errx execl execv execve execvp exit fclose
    fdopen fflush fgets fopen fork fprintf fputc fputs fread freopen fscanf fwrite getchar getenv
    getline getpid getrandom ioctl kill lseek lstat mkdir mmap nanosleep open openat opendir perror
    pipe pipe2 poll popen printf putchar putenv puts raise rand random read readdir readlink recv
    rename rmdir scanf secure_getenv select send setenv setlocale signal sigaction sleep socket srand
    srandom stat syscall syslog system unlink unsetenv usleep vfprintf vprintf waitpid warn warnx
    write
""".split())
IMPURE_PREFIXES = ("sd_", "curl_", "ev_", "json_load_file", "json_loadf", "json_dump_file",
                   "json_dumpf")

CALL = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
COMMENT_OR_LITERAL = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


class Finding(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def blank(match):
    """Spaces of the same shape, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group())


class Source:
    """One file: `text` as it is, `code` without comments, literals and directives."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.inside = path.relative_to(root / "src").as_posix()
        self.layer = self.inside.split("/")[0] if "/" in self.inside else None
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.has_header = path.suffix == ".c" and path.with_suffix(".h").exists()
        without_comments = COMMENT_OR_LITERAL.sub(self.keep_includes, self.text)
        self.includes = list(INCLUDE.finditer(without_comments))
        self.code = DIRECTIVE.sub(blank, COMMENT_OR_LITERAL.sub(blank, self.text))

    @staticmethod
    def keep_includes(match):
        return match.group() if match.group().startswith('"') else blank(match)

    def finding(self, offset, text):
        return Finding(self.path, self.text.count("\n", 0, offset) + 1, text)


def check_includes(source, root):
    for match in source.includes:
        quote, name = match.groups()
        if quote == "<":
            allowed = SYSTEM_HEADERS.get(source.layer)
            if allowed is not None and name not in allowed:
                yield source.finding(match.start(), f"{source.layer} must not include <{name}>")
        elif not (root / "src" / name).exists():
            yield source.finding(match.start(), f'"{name}" is no path below src')
        elif source.layer and name.split("/")[0] not in LAYERS.get(source.layer, set()):
            yield source.finding(match.start(), f'{source.layer} must not include "{name}"')


def check_form(source):
    lines = source.text.splitlines()
    if not lines or lines[0] != "/* SPDX-License-Identifier: MIT */":
        yield source.finding(0, "the first line is not /* SPDX-License-Identifier: MIT */")
    if source.inside.endswith(".h") and "#pragma once" not in lines:
        yield source.finding(0, "no #pragma once")
    own = source.inside[:-2] + ".h"
    if source.has_header and (not source.includes or source.includes[0].group(2) != own):
        yield source.finding(0, f'the first include is not "{own}"')
    if len(lines) > FILE_LINES:
        yield source.finding(0, f"{len(lines)} lines, {FILE_LINES} are the limit")


def check_calls(source):
    for match in CALL.finditer(source.code):
        name = match.group(1)
        if source.layer == "core" and (name in IMPURE_CALLS or name.startswith(IMPURE_PREFIXES)):
            yield source.finding(match.start(), f"the core must not call {name}()")
        elif name in CLOCK_CALLS and source.inside != CLOCK_FILE:
            yield source.finding(match.start(), f"{name}() is for {CLOCK_FILE} alone")


def top_level(code):
    """Yields (start, brace, end) of what stands at file scope: brace is the offset of its first
    opening brace or None, end that of its closing brace or semicolon."""
    start, brace, depth = None, None, 0
    for offset, char in enumerate(code):
        if start is None and not char.isspace():
            start = offset
        if char == "{":
            brace = offset if brace is None else brace
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0 and code[start:brace].rstrip().endswith(")"):
                yield start, brace, offset
                start, brace = None, None
        elif char == ";" and depth == 0:
            yield start, brace, offset
            start, brace = None, None


def is_function(code, start, brace):
    return brace is not None and code[start:brace].rstrip().endswith(")")


def check_functions(source):
    for start, brace, end in top_level(source.code):
        if not is_function(source.code, start, brace):
            continue
        lines = source.code.count("\n", start, end) + 1
        if lines > FUNCTION_LINES:
            yield source.finding(start, f"a function of {lines} lines, {FUNCTION_LINES} are the limit")


def is_mutable(declaration):
    """Whether the declared object itself (behind the last asterisk) is not const."""
    return not re.search(r"\bconst\b", declaration.rsplit("*", 1)[-1])


def check_variables(source):
    """No variable with static storage in the core that could change."""
    for match in re.finditer(r"\bstatic\b([^;={}()]*)([;={(])", source.code):
        if match.group(2) != "(" and is_mutable(match.group(1)):
            yield source.finding(match.start(), "the core must not keep variables")
    for start, brace, end in top_level(source.code):
        text = source.code[start:end]
        if re.match(r"(static|extern|typedef|_Static_assert)\b", text) or "(" in text.split("=")[0]:
            continue
        declared = re.sub(r"\{.*\}", " ", text, flags=re.S).split("=")[0]
        if re.match(r"(struct|union|enum)\s+\w*\s*$", declared) or not is_mutable(declared):
            continue
        yield source.finding(start, "the core must not keep variables")


def check_source(source, root):
    yield from check_form(source)
    yield from check_includes(source, root)
    yield from check_calls(source)
    yield from check_functions(source)
    if source.layer == "core":
        yield from check_variables(source)


def check_tree(root):
    """Returns the number of files and the findings."""
    paths = sorted(p for p in (root / "src").rglob("*") if p.suffix in (".c", ".h"))
    findings = []
    for path in paths:
        findings += check_source(Source(root, path), root)
    return len(paths), sorted(findings)


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    count, findings = check_tree(pathlib.Path(arguments[0]))
    for finding in findings:
        print(finding)
    print(f"layers: {count} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
